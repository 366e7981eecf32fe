//! The requests of attackers, and their own page.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::Attacker;
use crate::idle::{Page, heartbeat_ack, tool_call_id};

/// The token of an attacker that has only one.
pub(super) const TOKEN: &str = "the-token-of-the-attacker-0123456789abcdef";

/// Returns one of an attacker's tokens.
pub(super) fn numbered_token(number: usize) -> String {
    format!("token-of-the-attacker-{number:06}-0123456789abcdef")
}

/// The name of a client whose answers the bridge cuts, so that it keeps the whole results.
const CLIENT_WITH_SHORT_ANSWERS: &str = "claude-code";

/// Returns the head of a request with a body of this length.
pub(super) fn head(
    address: SocketAddr,
    request: &str,
    token: Option<&str>,
    headers: &str,
    length: impl Display,
) -> String {
    let authorization = token.map_or_else(String::new, |token| {
        format!("Authorization: Bearer {token}\r\n")
    });
    format!(
        "{request} HTTP/1.1\r\nHost: {address}\r\n{authorization}{headers}\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         Content-Length: {length}\r\n\r\n"
    )
}

/// Returns a `POST /tool-call` whose arguments are this JSON.
pub(super) fn tool_call(address: SocketAddr, token: &str, tool: &str, arguments: &str) -> Vec<u8> {
    let body = format!(r#"{{"toolName":"{tool}","toolInput":{arguments}}}"#);
    let head = head(address, "POST /tool-call", Some(token), "", body.len());
    [head, body].concat().into_bytes()
}

/// Returns a `tools/call` of a client of MCP 2026-07-28, with this name of the client.
pub(super) fn mcp_call(
    address: SocketAddr,
    token: &str,
    tool: &str,
    arguments: &str,
    client: &str,
) -> Vec<u8> {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"{client}","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    );
    let headers = format!(
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
    );
    let head = head(address, "POST /mcp", Some(token), &headers, body.len());
    [head, body].concat().into_bytes()
}

/// Returns a call whose result is kept, because the client takes only a short answer.
pub(super) fn mcp_call_with_kept_result(address: SocketAddr, token: &str, tool: &str) -> Vec<u8> {
    mcp_call(address, token, tool, "{}", CLIENT_WITH_SHORT_ANSWERS)
}

/// Opens an MCP session of 2025-11-25, and returns its id.
pub(super) async fn open_mcp_session(attacker: &Attacker, token: &str) -> Result<String> {
    let address = attacker.address();
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "attacker", "version": "1" } } })
    .to_string();
    let mut connection = attacker.connect_client().await?;
    let length = initialize.len();
    let request = head(address, "POST /mcp", Some(token), "", length) + &initialize;
    let response = connection.request(request.as_bytes()).await?;
    let session = response.mcp_session.context("no MCP session")?;
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let header = format!("Mcp-Session-Id: {session}\r\n");
    let length = initialized.len();
    let request = head(address, "POST /mcp", Some(token), &header, length) + initialized;
    let response = connection.request(request.as_bytes()).await?;
    ensure!(response.status == 202, "status {}", response.status);
    Ok(session)
}

/// Returns the request that opens the stream of an MCP session.
pub(super) fn open_stream(address: SocketAddr, token: &str, session: &str) -> String {
    format!(
        "GET /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
         Accept: text/event-stream\r\nMcp-Session-Id: {session}\r\n\r\n"
    )
}

/// Returns the message that registers these tools.
pub(super) fn registration(tools: impl IntoIterator<Item = Value>) -> String {
    let items = tools
        .into_iter()
        .map(|tool| json!({ "kind": "tool", "definition": tool }));
    let items: Vec<Value> = items.collect();
    json!({ "type": "register", "registrationId": "r", "items": items }).to_string()
}

/// Returns a tool with this schema of its arguments.
pub(super) fn tool(name: &str, input_schema: &Value) -> Value {
    json!({ "name": name, "description": "Does what it is told", "inputSchema": input_schema })
}

/// What the attacker's page does with a call.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// It returns this result.
    Result(String),
    /// It acknowledges the call, adds a permit here, and never answers.
    Never(Arc<Semaphore>),
}

/// The attacker's page, with one tool. It connects again when the bridge closes it, and leaves when
/// this is dropped.
pub(super) struct OwnPage {
    _task: JoinSet<()>,
}

impl OwnPage {
    /// Opens the page with the attacker's token. Returns an error if the bridge refuses it.
    pub(super) async fn open(attacker: &Attacker, tool: Value, answer: Answer) -> Result<Self> {
        let registration = registration([tool]);
        let mut page = Self::connect(attacker, &registration).await?;
        let attacker = attacker.clone();
        let mut task = JoinSet::new();
        task.spawn(async move {
            loop {
                match &answer {
                    Answer::Result(result) => page.serve(result).await,
                    Answer::Never(calls) => serve_silently(page, calls).await,
                }
                let Ok(next) = Self::connect(&attacker, &registration).await else {
                    return;
                };
                page = next;
            }
        });
        Ok(Self { _task: task })
    }

    async fn connect(attacker: &Attacker, registration: &str) -> Result<Page> {
        let mut page = attacker.open_page(TOKEN, "own-page").await?;
        page.try_register(registration).await?;
        Ok(page)
    }
}

/// Acknowledges calls until the bridge closes the socket.
async fn serve_silently(mut page: Page, calls: &Semaphore) {
    while let Some(message) = page.recv().await {
        if let Some(ack) = heartbeat_ack(&message) {
            page.send(&ack).await;
        } else if let Some(id) = tool_call_id(&message) {
            page.send(&format!(r#"{{"type":"call-received","requestId":"{id}"}}"#))
                .await;
            calls.add_permits(1);
        }
    }
}
