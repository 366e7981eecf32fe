//! Pages that answer every call at once with the same result.

mod answer;
mod handshake;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;

pub(super) use self::answer::PageAnswer;
pub(super) use handshake::{PageHandshake, PageSocket};

use super::dialect::{Dialect, Receipt};
use super::route::{Callee, TargetSelection};

/// What the pages of a run have in common.
#[derive(Clone)]
pub(super) struct PageSetup {
    pub(super) address: SocketAddr,
    pub(super) token: String,
    pub(super) dialect: Dialect,
    pub(super) receipt: Receipt,
    pub(super) tools: usize,
    /// Whether the tools have schemas for arguments and result.
    pub(super) schemas: bool,
    pub(super) pick: TargetSelection,
    pub(super) answer: Arc<PageAnswer>,
}

impl PageSetup {
    /// Returns the tools of a page. The last one is called, so that the cost of a linear search
    /// would be visible.
    fn tools(&self, page: usize) -> Vec<String> {
        let name = |tool| match self.pick {
            TargetSelection::Tool => format!("page_{page}_tool_{tool}"),
            TargetSelection::Session => format!("tool_{tool}"),
        };
        (0..self.tools).map(name).collect()
    }

    fn definition(&self, name: &str) -> Value {
        let mut tool = json!({ "name": name, "description": "Always returns the same" });
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

    /// Returns how to address a page.
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

/// A page, which answers calls until it is dropped.
pub(super) struct Page {
    task: JoinHandle<()>,
}

impl Page {
    /// Connects a page and registers its tools.
    pub(super) async fn open(setup: &PageSetup, number: usize) -> Result<Self> {
        let tools = setup.tools(number);
        let handshake = PageHandshake {
            address: setup.address,
            dialect: setup.dialect,
            token: &setup.token,
            session: &session(number),
            document: "the only one",
            tools: tools.iter().map(|name| setup.definition(name)).collect(),
        };
        let socket = handshake.connect().await?;
        let (answer, receipt) = (Arc::clone(&setup.answer), setup.receipt);
        Ok(Self {
            task: tokio::spawn(serve(socket, answer, receipt)),
        })
    }

    /// Returns whether the target has closed the connection.
    pub(super) fn has_ended(&self) -> bool {
        self.task.is_finished()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut socket: PageSocket, answer: Arc<PageAnswer>, receipt: Receipt) {
    while let Some(Ok(frame)) = socket.next().await {
        let Message::Text(text) = frame else {
            continue;
        };
        let Some(frames) = answer.frames_for(&text, receipt) else {
            continue;
        };
        for frame in frames {
            if socket.feed(frame).await.is_err() {
                return;
            }
        }
        if socket.flush().await.is_err() {
            return;
        }
    }
}
