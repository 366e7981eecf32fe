//! The routes of callers, and the requests that are sent on them.

use std::fmt::Write;
use std::net::SocketAddr;

use clap::ValueEnum;
use serde_json::{Value, json};

use super::call_ids::{CALL_IDS, ID_DIGITS};

/// How callers reach the target.
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

/// How a call selects its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TargetSelection {
    /// Each page has tools with unique names.
    Tool,
    /// All pages have the same tools, and a call names the session.
    Session,
}

/// The arguments of each call.
const ARGUMENTS: &str = r#"{"query":"open cards","limit":20}"#;

/// The tool, and the session if it must be named.
pub(super) struct Callee {
    pub(super) tool: String,
    pub(super) session: Option<String>,
}

/// The server that a caller sends requests to.
#[derive(Clone)]
pub(super) struct Endpoint {
    pub(super) address: SocketAddr,
    pub(super) token: String,
    /// The MCP session, if one is open.
    pub(super) mcp_session: Option<String>,
}

/// A prepared request that is sent many times, each time with another id.
pub(super) struct RequestTemplate {
    pub(super) bytes: Vec<u8>,
    id_position: Option<usize>,
}

impl RequestTemplate {
    pub(super) fn call(route: Route, endpoint: &Endpoint, callee: &Callee) -> Self {
        let arguments: Value = serde_json::from_str(ARGUMENTS).expect("the constant is JSON");
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
                    session_headers(endpoint),
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
        Self::post(endpoint, path, &headers, &body.to_string())
    }

    /// Creates the first request of a client of 2025-11-25 without capabilities.
    pub(super) fn initialize(endpoint: &Endpoint) -> Self {
        let body = json!({ "jsonrpc": "2.0", "id": CALL_IDS.start, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "load", "version": "1" },
        } });
        Self::post(endpoint, "/mcp", ACCEPT_HEADER, &body.to_string())
    }

    /// Creates the notification after `initialize`, when `endpoint` has the session.
    pub(super) fn initialized(endpoint: &Endpoint) -> Self {
        let body = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        Self::post(
            endpoint,
            "/mcp",
            &session_headers(endpoint),
            &body.to_string(),
        )
    }

    /// Creates the notification that cancels a call of the session.
    pub(super) fn cancelled(endpoint: &Endpoint, id: u64) -> Self {
        let method = "notifications/cancelled";
        let body = json!({ "jsonrpc": "2.0", "method": method, "params": { "requestId": id } });
        Self::post(
            endpoint,
            "/mcp",
            &session_headers(endpoint),
            &body.to_string(),
        )
    }

    /// Creates the request that ends the session.
    pub(super) fn end_session(endpoint: &Endpoint) -> Self {
        Self::with_method("DELETE", endpoint, "/mcp", &session_headers(endpoint), "")
    }

    fn post(endpoint: &Endpoint, path: &str, headers: &str, body: &str) -> Self {
        Self::with_method("POST", endpoint, path, headers, body)
    }

    fn with_method(
        method: &str,
        endpoint: &Endpoint,
        path: &str,
        headers: &str,
        body: &str,
    ) -> Self {
        let Endpoint { address, token, .. } = endpoint;
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             user-agent: load/1\r\ncontent-type: application/json\r\n{headers}\
             content-length: {length}\r\n\r\n"
        );
        let id = body.find(&format!("\"id\":{}", CALL_IDS.start));
        Self {
            id_position: id.map(|at| head.len() + at + "\"id\":".len()),
            bytes: (head + body).into_bytes(),
        }
    }

    /// Returns the bytes of the request with this id.
    pub(super) fn with_id(&mut self, id: u64) -> &[u8] {
        if let Some(at) = self.id_position {
            let mut remaining = id;
            for digit in self.bytes[at..at + ID_DIGITS].iter_mut().rev() {
                *digit = b'0' + (remaining % 10) as u8;
                remaining /= 10;
            }
        }
        &self.bytes
    }
}

const ACCEPT_HEADER: &str = "accept: application/json, text/event-stream\r\n";

/// Returns the headers of a request of 2025-11-25 after `initialize`.
fn session_headers(endpoint: &Endpoint) -> String {
    let mut headers = ACCEPT_HEADER.to_owned();
    headers.push_str("mcp-protocol-version: 2025-11-25\r\n");
    if let Some(id) = &endpoint.mcp_session {
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
    fn requests_differ_only_in_their_id() {
        let endpoint = Endpoint {
            address: ([127, 0, 0, 1], 3001).into(),
            token: "t".to_owned(),
            mcp_session: None,
        };
        let callee = Callee {
            tool: "tool_1".to_owned(),
            session: None,
        };
        let mut request = RequestTemplate::call(Route::Mcp2026, &endpoint, &callee);
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
