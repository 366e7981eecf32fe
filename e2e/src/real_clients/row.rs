//! What a client did, as a row of the table in `docs/clients.md`.

use crate::program_paths;
use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Something that a client may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientStep {
    /// Lists the tools.
    List,
    /// Calls one.
    Call,
    /// Calls one with wrong arguments, and hands out the error's words.
    Wrong,
    /// Hands out a picture.
    Picture,
    /// Hands out a text of three million bytes, or the note with which it was cut.
    Large,
    /// Hears that the list of tools has changed.
    ListChanged,
    /// Hears of progress.
    Progress,
    /// Cancels a call, and the page hears of it.
    Cancel,
    /// Asks the person.
    Elicitation,
    /// Ends its MCP session when it leaves.
    Leaving,
}

impl ClientStep {
    /// All, in the order in which they are made.
    pub const ALL: [Self; 10] = [
        Self::List,
        Self::Call,
        Self::Wrong,
        Self::Picture,
        Self::Large,
        Self::ListChanged,
        Self::Progress,
        Self::Cancel,
        Self::Elicitation,
        Self::Leaving,
    ];

    /// As the drivers call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Call => "call",
            Self::Wrong => "wrong",
            Self::Picture => "picture",
            Self::Large => "large",
            Self::ListChanged => "list_changed",
            Self::Progress => "progress",
            Self::Cancel => "cancel",
            Self::Elicitation => "elicitation",
            Self::Leaving => "leaving",
        }
    }
}

/// How a step went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepResult {
    /// As it should.
    Works,
    /// So, and this is to be known about it.
    WorksBut(String),
    /// The client itself does not do it.
    Lacks(String),
    /// It failed.
    Failed(String),
}

/// A client on one leg.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClientRow {
    /// Its name and version.
    pub client: String,
    /// How it reaches the bridge.
    pub over: String,
    /// The revision of MCP that it speaks, as far as it says.
    pub protocol: Option<String>,
    /// What it did.
    pub cells: BTreeMap<ClientStep, StepResult>,
}

impl ClientRow {
    /// One without cells.
    pub fn new(client: &str, over: &str, protocol: Option<&str>) -> Self {
        Self {
            client: client.to_owned(),
            over: over.to_owned(),
            protocol: protocol.map(str::to_owned),
            cells: BTreeMap::new(),
        }
    }

    /// Says how a step went.
    pub fn set(&mut self, step: ClientStep, cell: StepResult) {
        self.cells.insert(step, cell);
    }

    /// Writes it down under this name for the table, and fails the test if a step failed or is
    /// missing.
    pub fn finish(self, name: &str) {
        let folder = rows_folder();
        std::fs::create_dir_all(&folder).unwrap();
        let text = serde_json::to_string_pretty(&self).unwrap();
        std::fs::write(folder.join(format!("{name}.json")), text).unwrap();
        for step in ClientStep::ALL {
            match self.cells.get(&step) {
                None => panic!("{name}: nothing is known of {}", step.name()),
                Some(StepResult::Failed(why)) => panic!("{name}: {} failed: {why}", step.name()),
                Some(_) => {}
            }
        }
    }
}

/// Where the rows lie that the table is made of.
fn rows_folder() -> PathBuf {
    let default = program_paths::workspace().join("target/clients/rows");
    std::env::var_os("MCP_WEB_CLIENTS_ROWS").map_or(default, PathBuf::from)
}
