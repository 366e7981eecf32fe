//! Pages that do nothing but answer, at once and always the same.

mod answer;
mod wire;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;

pub(super) use self::answer::Answer;
use self::wire::{Wire, connect};
use super::route::Callee;
use super::{Pick, Route};

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
pub(super) struct Setup {
    pub(super) address: SocketAddr,
    pub(super) token: String,
    pub(super) dialect: Dialect,
    pub(super) receipt: Receipt,
    pub(super) tools: usize,
    /// With schemas for arguments and result.
    pub(super) schemas: bool,
    pub(super) pick: Pick,
    pub(super) answer: Arc<Answer>,
}

impl Setup {
    /// The tools of one page. The last is called: a search from the front would be seen.
    fn tools(&self, page: usize) -> Vec<String> {
        let name = |tool| match self.pick {
            Pick::Tool => format!("page_{page}_tool_{tool}"),
            Pick::Session => format!("tool_{tool}"),
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
            session: (self.pick == Pick::Session).then(|| session(page)),
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
    pub(super) async fn open(setup: &Setup, number: usize) -> Result<Self> {
        let path = match setup.dialect {
            Dialect::V1 => "/",
            _ => "/ws",
        };
        let url = format!("ws://{}{path}?session={}", setup.address, session(number));
        let mut wire = connect(setup.address, &url).await?;
        match setup.dialect {
            Dialect::V2 => introduce(&mut wire, setup, number).await?,
            Dialect::V1 => introduce_v1(&mut wire, setup, number).await?,
            Dialect::Bytes | Dialect::Minimum => {}
        }
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

async fn introduce(wire: &mut Wire, setup: &Setup, number: usize) -> Result<()> {
    let hello = json!({
        "type": "authenticate",
        "protocol": bridge_protocol::PROTOCOL_VERSION,
        "authToken": setup.token,
        "sessionId": session(number),
        "documentId": format!("document-{number}"),
        "pageTitle": format!("Page {number}"),
    });
    wire.send(Message::text(hello.to_string())).await?;
    answered(wire, "authenticated").await?;
    let item = |name: &String| json!({ "kind": "tool", "definition": setup.definition(name) });
    let items: Vec<_> = setup.tools(number).iter().map(item).collect();
    let register = json!({ "type": "register", "registrationId": "r", "items": items });
    wire.send(Message::text(register.to_string())).await?;
    let registered = answered(wire, "registered").await?;
    ensure!(registered["errors"] == json!([]), "refused: {registered}");
    Ok(())
}

async fn introduce_v1(wire: &mut Wire, setup: &Setup, number: usize) -> Result<()> {
    let hello = json!({
        "type": "authenticate",
        "authToken": setup.token,
        "sessionId": session(number),
        "timestamp": 1_790_000_000_000_u64,
    });
    wire.send(Message::text(hello.to_string())).await?;
    answered(wire, "authenticated").await?;
    for name in setup.tools(number) {
        let register = json!({ "type": "register-tool", "tool": setup.definition(&name) });
        wire.send(Message::text(register.to_string())).await?;
    }
    // v1 acknowledges nothing: what comes before a ping has been read when its pong is there.
    wire.send(Message::Ping(Default::default())).await?;
    loop {
        match wire.next().await.context("the page was closed")?? {
            Message::Pong(_) => return Ok(()),
            Message::Text(text) => bail!("a definition is refused: {text}"),
            _ => {}
        }
    }
}

/// Waits for a message of a type.
async fn answered(wire: &mut Wire, wanted: &str) -> Result<Value> {
    loop {
        match wire.next().await.context("the page was closed")?? {
            Message::Text(text) => {
                let message: Value = serde_json::from_str(&text)?;
                match message["type"].as_str().unwrap_or_default() {
                    found if found == wanted => return Ok(message),
                    "authentication-failed" => bail!("the page is refused: {text}"),
                    _ => {}
                }
            }
            Message::Close(frame) => bail!("the page was closed: {frame:?}"),
            _ => {}
        }
    }
}

async fn serve(mut wire: Wire, answer: Arc<Answer>, receipt: Receipt) {
    while let Some(Ok(frame)) = wire.next().await {
        let Message::Text(text) = frame else {
            continue;
        };
        let Some(frames) = answer.to(&text, receipt) else {
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
pub(super) fn dialect_of(route: Route) -> Dialect {
    match route {
        Route::V1 => Dialect::V1,
        _ => Dialect::V2,
    }
}
