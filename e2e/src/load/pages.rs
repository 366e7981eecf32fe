//! Pages that do nothing but answer, at once and always the same.

mod answer;
mod handshake;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use clap::ValueEnum;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;

pub(super) use self::answer::PageAnswer;
use super::route::Callee;
use super::{Route, TargetSelection};
pub(super) use handshake::{PageHandshake, PageSocket};

/// What is spoken with the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Dialect {
    /// The page protocol, as the SDK speaks it.
    V2,
    /// The page protocol of mcp-web 0.1.
    V1,
    /// What the floor that passes bytes on speaks: `ID BYTES`, and nothing before it.
    Bytes,
    /// What the floor that writes MCP speaks: calls and answers of the page protocol, without anything
    /// before them and without receipts.
    Minimum,
}

/// How a page says that it has received a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Receipt {
    /// In a frame of its own, which the answer follows in the same write.
    Together,
    /// In a frame and a write of its own.
    Apart,
    /// Not at all.
    None,
}

/// How pages present themselves, and what they do.
#[derive(Clone)]
pub(super) struct PageSetup {
    pub(super) address: SocketAddr,
    pub(super) token: String,
    pub(super) dialect: Dialect,
    pub(super) receipt: Receipt,
    pub(super) tools: usize,
    /// With schemas for arguments and result.
    pub(super) schemas: bool,
    pub(super) pick: TargetSelection,
    pub(super) answer: Arc<PageAnswer>,
}

impl PageSetup {
    /// The tools of one page. The last is called: a search from the front would be seen.
    fn tools(&self, page: usize) -> Vec<String> {
        let name = |tool| match self.pick {
            TargetSelection::Tool => format!("page_{page}_tool_{tool}"),
            TargetSelection::Session => format!("tool_{tool}"),
        };
        (0..self.tools).map(name).collect()
    }

    fn definition(&self, name: &str) -> Value {
        let mut tool = json!({ "name": name, "description": "Answers always the same" });
        if self.schemas {
            tool["inputSchema"] = json!({ "type": "object", "properties": {
                "query": { "type": "string", "maxLength": 200 },
                "limit": { "type": "integer", "minimum": 1, "maximum": 100 },
            }, "required": ["query"], "additionalProperties": false });
            tool["outputSchema"] = json!({ "type": "object", "properties": {
                "rows": { "type": "array", "items": { "type": "object", "properties": {
                    "id": { "type": "integer" },
                    "name": { "type": "string" },
                    "done": { "type": "boolean" },
                }, "required": ["id", "name", "done"] } },
                "pad": { "type": "string" },
            }, "required": ["rows"] });
        }
        tool
    }

    /// What to name to reach one page.
    pub(super) fn callee(&self, page: usize) -> Callee {
        Callee {
            tool: self.tools(page).pop().unwrap_or_default(),
            session: (self.pick == TargetSelection::Session).then(|| session(page)),
        }
    }
}

fn session(page: usize) -> String {
    format!("page-{page}")
}

/// A page, which answers until it is dropped.
pub(super) struct Page {
    task: JoinHandle<()>,
}

impl Page {
    /// Connects it and registers its tools.
    pub(super) async fn open(setup: &PageSetup, number: usize) -> Result<Self> {
        let tools = setup.tools(number);
        let introduction = PageHandshake {
            address: setup.address,
            dialect: setup.dialect,
            token: &setup.token,
            session: &session(number),
            document: "the only one",
            tools: tools.iter().map(|name| setup.definition(name)).collect(),
        };
        let wire = introduction.connect().await?;
        let (answer, receipt) = (Arc::clone(&setup.answer), setup.receipt);
        Ok(Self {
            task: tokio::spawn(serve(wire, answer, receipt)),
        })
    }

    /// Whether the other side has ended the connection.
    pub(super) fn has_ended(&self) -> bool {
        self.task.is_finished()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut wire: PageSocket, answer: Arc<PageAnswer>, receipt: Receipt) {
    while let Some(Ok(frame)) = wire.next().await {
        let Message::Text(text) = frame else {
            continue;
        };
        let Some(frames) = answer.frames_for(&text, receipt) else {
            continue;
        };
        for frame in frames {
            if wire.feed(frame).await.is_err() {
                return;
            }
        }
        if wire.flush().await.is_err() {
            return;
        }
    }
}

/// Which dialect the pages of a bridge speak whose clients go this way.
pub(super) fn default_dialect(route: Route) -> Dialect {
    match route {
        Route::V1 => Dialect::V1,
        _ => Dialect::V2,
    }
}
