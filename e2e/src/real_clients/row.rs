//! A row of the table in `docs/clients.md`: the features of a client.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::program_paths;

/// A feature that a client may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientStep {
    /// Lists the tools.
    List,
    /// Calls a tool.
    Call,
    /// Calls a tool with wrong arguments, and passes on the text of the error.
    Wrong,
    /// Passes on an image.
    Picture,
    /// Passes on a text of three million bytes, or the note that it was truncated.
    Large,
    /// Notices that the list of tools has changed.
    ListChanged,
    /// Receives progress.
    Progress,
    /// Cancels a call, and the page is notified.
    Cancel,
    /// Asks its user for input.
    Elicitation,
    /// Ends its MCP session before it exits.
    Leaving,
}

impl ClientStep {
    /// All steps, in the order in which they are performed.
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

    /// The steps of the clients that only `cargo xtask clients` runs.
    pub const BASIC: [Self; 4] = [Self::List, Self::Call, Self::Wrong, Self::Picture];

    /// Returns the name that the drivers use.
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

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepResult {
    /// The step works.
    Works,
    /// The step works, with this remark.
    WorksBut(String),
    /// The client does not have this feature.
    Lacks(String),
    /// The step failed.
    Failed(String),
}

/// When a client runs, with which steps, and at which bridge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientTier {
    /// In each run of the tests, with all steps.
    #[default]
    EachRun,
    /// In each run of the tests, with all steps, at a bridge of several that does not serve the page.
    AnotherBridge,
    /// In each run of the tests, with calls of one tool while several bridges are replaced.
    RollingDeploy,
    /// Only by `cargo xtask clients`, with the basic steps.
    Further,
}

impl ClientTier {
    /// Returns the steps of its clients.
    pub fn steps(self) -> &'static [ClientStep] {
        match self {
            Self::EachRun | Self::AnotherBridge => &ClientStep::ALL,
            Self::RollingDeploy => &[ClientStep::Call],
            Self::Further => &ClientStep::BASIC,
        }
    }

    /// Returns the folder with the rows of its table.
    fn rows_folder(self) -> PathBuf {
        let default = program_paths::workspace().join("target/clients/rows");
        let folder = std::env::var_os("MCP_WEB_CLIENTS_ROWS").map_or(default, PathBuf::from);
        match self {
            Self::EachRun => folder,
            Self::AnotherBridge => folder.join("another-bridge"),
            Self::RollingDeploy => folder.join("rolling-deploy"),
            Self::Further => folder.join("further"),
        }
    }
}

/// A client on one transport.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClientRow {
    /// The name and version of the client.
    pub client: String,
    /// How the client reaches the bridge.
    #[serde(rename = "over")]
    pub transport: String,
    /// The revision of MCP that it uses, if it reports one.
    pub protocol: Option<String>,
    /// The results of the steps.
    #[serde(rename = "cells")]
    pub results: BTreeMap<ClientStep, StepResult>,
    #[serde(skip)]
    tier: ClientTier,
}

impl ClientRow {
    /// Creates a row without results.
    pub fn new(client: &str, transport: &str, protocol: Option<&str>) -> Self {
        Self {
            client: client.to_owned(),
            transport: transport.to_owned(),
            protocol: protocol.map(str::to_owned),
            results: BTreeMap::new(),
            tier: ClientTier::EachRun,
        }
    }

    /// Sets the tier of the client.
    #[must_use]
    pub fn in_tier(mut self, tier: ClientTier) -> Self {
        self.tier = tier;
        self
    }

    /// Sets the result of a step.
    pub fn set(&mut self, step: ClientStep, result: StepResult) {
        self.results.insert(step, result);
    }

    /// Saves the row under this name, for the table.
    ///
    /// # Panics
    /// Panics when a step failed or has no result.
    pub fn finish(self, name: &str) {
        let folder = self.tier.rows_folder();
        std::fs::create_dir_all(&folder).unwrap();
        let text = serde_json::to_string_pretty(&self).unwrap();
        std::fs::write(folder.join(format!("{name}.json")), text).unwrap();
        for step in self.tier.steps() {
            match self.results.get(step) {
                None => panic!("{name}: {} has no result", step.name()),
                Some(StepResult::Failed(why)) => panic!("{name}: {} failed: {why}", step.name()),
                Some(_) => {}
            }
        }
    }
}
