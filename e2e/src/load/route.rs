//! The ways of a caller, and the requests that are sent on them.

use std::fmt::Write;
use std::net::SocketAddr;

use clap::ValueEnum;
use serde_json::{Value, json};

use super::answers::CALL_IDS;

/// The way of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Route {
    /// `POST /tool-call`.
    ToolCall,
    /// `POST /mcp` in an MCP session that `initialize` opened, with protocol 2025-11-25.
    #[value(name = "mcp-2025")]
    Mcp2025,
    /// `POST /mcp` without a session, with protocol 2026-07-28.
    #[value(name = "mcp-2026")]
    Mcp2026,
    /// `POST /` as clients of mcp-web 0.1 send it: no `initialize`, no session, any media type.
    V1,
}

/// How a call says which page it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TargetSelection {
    /// Each page has tools with names of their own.
    Tool,
    /// All pages have the same tools, and a call names its session.
    Session,
}

/// What each call passes on.
const ARGUMENTS: &str = r#"{"query":"open cards","limit":20}"#;

/// Which tool of which page is called.
pub(super) struct Callee {
    pub(super) tool: String,
    pub(super) session: Option<String>,
}

/// Whom a caller speaks with.
#[derive(Clone)]
pub(super) struct Endpoint {
    pub(super) address: SocketAddr,
    pub(super) token: String,
    /// The MCP session, where there is one.
    pub(super) mcp_session: Option<String>,
}

/// A request that is sent again and again, with another id each time.
pub(super) struct RequestTemplate {
    pub(super) bytes: Vec<u8>,
    id_at: Option<usize>,
}

impl RequestTemplate {
    pub(super) fn call(route: Route, peer: &Endpoint, callee: &Callee) -> Self {
        let arguments: Value = serde_json::from_str(ARGUMENTS).expect("they are JSON");
        let Callee { tool, session } = callee;
        let (path, headers, body) = match route {
            Route::ToolCall => {
                let mut body = json!({ "toolName": tool, "toolInput": arguments });
                if let Some(session) = session {
                    body["sessionId"] = json!(session);
                }
                ("/tool-call", "accept: */*\r\n".to_owned(), body)
            }
            Route::Mcp2025 => {
                let meta = session
                    .as_ref()
                    .map(|id| json!({ "mcp-web/sessionId": id }));
                (
                    "/mcp",
                    session_headers(peer),
                    rpc_call(tool, &arguments, meta),
                )
            }
            Route::Mcp2026 => {
                let mut headers = ACCEPT_HEADER.to_owned();
                let _ = write!(
                    headers,
                    "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: {tool}\r\n"
                );
                let mut meta = json!({
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientInfo": { "name": "load", "version": "1" },
                    "io.modelcontextprotocol/clientCapabilities": {},
                });
                if let Some(session) = session {
                    meta["mcp-web/sessionId"] = json!(session);
                }
                ("/mcp", headers, rpc_call(tool, &arguments, Some(meta)))
            }
            Route::V1 => {
                let meta = session.as_ref().map(|id| json!({ "sessionId": id }));
                let body = rpc_call(tool, &arguments, meta);
                ("/", "accept: */*\r\n".to_owned(), body)
            }
        };
        Self::post(peer, path, &headers, &body.to_string())
    }

    /// The first request of a client of 2025-11-25 that can do nothing.
    pub(super) fn initialize(peer: &Endpoint) -> Self {
        let body = json!({ "jsonrpc": "2.0", "id": CALL_IDS.start, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "load", "version": "1" },
        } });
        Self::post(peer, "/mcp", ACCEPT_HEADER, &body.to_string())
    }

    /// What follows it. `peer` has its session.
    pub(super) fn initialized(peer: &Endpoint) -> Self {
        let body = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        Self::post(peer, "/mcp", &session_headers(peer), &body.to_string())
    }

    /// Gives a call of the session up.
    pub(super) fn cancelled(peer: &Endpoint, id: u64) -> Self {
        let method = "notifications/cancelled";
        let body = json!({ "jsonrpc": "2.0", "method": method, "params": { "requestId": id } });
        Self::post(peer, "/mcp", &session_headers(peer), &body.to_string())
    }

    /// Ends the session.
    pub(super) fn end_session(peer: &Endpoint) -> Self {
        Self::with_method("DELETE", peer, "/mcp", &session_headers(peer), "")
    }

    fn post(peer: &Endpoint, path: &str, headers: &str, body: &str) -> Self {
        Self::with_method("POST", peer, path, headers, body)
    }

    fn with_method(method: &str, peer: &Endpoint, path: &str, headers: &str, body: &str) -> Self {
        let Endpoint { address, token, .. } = peer;
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             user-agent: load/1\r\ncontent-type: application/json\r\n{headers}\
             content-length: {length}\r\n\r\n"
        );
        let id = body.find(&format!("\"id\":{}", CALL_IDS.start));
        Self {
            id_at: id.map(|at| head.len() + at + "\"id\":".len()),
            bytes: (head + body).into_bytes(),
        }
    }

    /// The bytes to send, with this id.
    pub(super) fn with_id(&mut self, id: u64) -> &[u8] {
        if let Some(at) = self.id_at {
            let mut rest = id;
            let digits = CALL_IDS.start.ilog10() as usize + 1;
            for place in self.bytes[at..at + digits].iter_mut().rev() {
                *place = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
        }
        &self.bytes
    }
}

const ACCEPT_HEADER: &str = "accept: application/json, text/event-stream\r\n";

/// The headers of a request of 2025-11-25 after `initialize`.
fn session_headers(peer: &Endpoint) -> String {
    let mut headers = ACCEPT_HEADER.to_owned();
    headers.push_str("mcp-protocol-version: 2025-11-25\r\n");
    if let Some(id) = &peer.mcp_session {
        let _ = write!(headers, "mcp-session-id: {id}\r\n");
    }
    headers
}

fn rpc_call(tool: &str, arguments: &Value, meta: Option<Value>) -> Value {
    let mut params = json!({ "name": tool, "arguments": arguments });
    if let Some(meta) = meta {
        params["_meta"] = meta;
    }
    json!({ "jsonrpc": "2.0", "id": CALL_IDS.start, "method": "tools/call", "params": params })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_id_changes_from_one_call_to_the_next() {
        let peer = Endpoint {
            address: ([127, 0, 0, 1], 3001).into(),
            token: "t".to_owned(),
            mcp_session: None,
        };
        let callee = Callee {
            tool: "tool_1".to_owned(),
            session: None,
        };
        let mut request = RequestTemplate::call(Route::Mcp2026, &peer, &callee);
        let first = String::from_utf8(request.with_id(CALL_IDS.start).to_vec()).unwrap();
        let later = String::from_utf8(request.with_id(CALL_IDS.start + 1_234).to_vec()).unwrap();
        assert_ne!(first, later);
        let changed = format!("\"id\":{}", CALL_IDS.start + 1_234);
        assert_eq!(
            first.replace(&format!("\"id\":{}", CALL_IDS.start), &changed),
            later
        );
    }
}
