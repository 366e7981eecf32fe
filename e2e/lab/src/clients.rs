//! The AI clients that calls are measured with, and exactly what they send.
//!
//! Claude Code, Codex and Gemini CLI were recorded between the programs of `e2e/clients` and a
//! bridge. What VS Code and Cursor send is taken from the sources that are named at their entries.

use serde_json::{Value, json};

use crate::request::{Endpoint, Request, rpc};

/// How a client opens its conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// With `initialize`, which opens an MCP session.
    Session,
    /// Without a session: each request names the client and its capabilities.
    Stateless,
}

/// The parts of a client's requests that differ between clients.
pub(crate) struct Client {
    /// Its name in tables.
    pub(crate) name: &'static str,
    pub(crate) era: Era,
    protocol_version: &'static str,
    /// `clientInfo`, as JSON.
    info: &'static str,
    /// The capabilities that it declares, as JSON.
    capabilities: &'static str,
    /// Whether it names the protocol version in a header after `initialize`.
    sends_version_header: bool,
    /// Whether it opens a stream of notifications: by `GET`, or by `subscriptions/listen`.
    pub(crate) opens_stream: bool,
    /// The `_meta` of its calls, as JSON.
    call_meta: &'static str,
}

/// A client of 2025-11-25 that declares no capabilities.
pub(crate) const WITHOUT_CAPABILITIES: Client = Client {
    name: "`/mcp`, 2025-11-25",
    era: Era::Session,
    protocol_version: "2025-11-25",
    info: r#"{"name":"lab","version":"1"}"#,
    capabilities: "{}",
    sends_version_header: true,
    opens_stream: false,
    call_meta: "{}",
};

/// A client of 2026-07-28 that declares no capabilities.
pub(crate) const STATELESS: Client = Client {
    name: "`/mcp`, 2026-07-28",
    era: Era::Stateless,
    protocol_version: "2026-07-28",
    ..WITHOUT_CAPABILITIES
};

/// Recorded: `@anthropic-ai/claude-code` 2.1.330.
pub(crate) const CLAUDE_CODE: Client = Client {
    name: "Claude Code",
    era: Era::Stateless,
    protocol_version: "2026-07-28",
    info: r#"{"name":"claude-code","title":"Claude Code","version":"2.1.330","description":"Anthropic's agentic coding tool","websiteUrl":"https://claude.com/claude-code"}"#,
    capabilities: r#"{"roots":{"listChanged":true},"elicitation":{"form":{},"url":{}}}"#,
    sends_version_header: true,
    opens_stream: true,
    call_meta: r#"{"claudecode/toolUseId":"toolu_01Mock000000Call0000","progressToken":3}"#,
};

/// Recorded: `@openai/codex` 0.169.0.
pub(crate) const CODEX: Client = Client {
    name: "Codex",
    era: Era::Session,
    protocol_version: "2025-06-18",
    info: r#"{"name":"codex-mcp-client","title":"Codex","version":"0.169.0"}"#,
    capabilities: r#"{"elicitation":{"form":{},"url":{}}}"#,
    sends_version_header: true,
    opens_stream: true,
    call_meta: r#"{"callId":"call_mock0000000000","x-codex-turn-metadata":{"session_id":"01a22276-4522-7381-bb52-3811d095ece4","thread_id":"01a22276-4522-7381-bb52-3811d095ece4","model":"played","turn_id":"01a22276-456b-7551-b8fa-16c0837b9f71","turn_started_at_unix_ms":1795874506092,"thread_source":"user","turn_trigger":"exec","sandbox":"none","sandbox_mode":"danger-full-access","auto_review_enabled":false,"node_repl_auto_review_required":false,"node_repl_disabled":false,"codex_version":"0.169.0"},"threadId":"01a22276-4522-7381-bb52-3811d095ece4","sessionId":"01a22276-4522-7381-bb52-3811d095ece4","windowId":"01a22276-4522-7381-bb52-3811d095ece4:0","itemId":"fc_mock00000000","progressToken":1}"#,
};

/// Recorded: `@google/gemini-cli` 0.61.0.
pub(crate) const GEMINI: Client = Client {
    name: "Gemini CLI",
    era: Era::Session,
    protocol_version: "2025-06-18",
    info: r#"{"name":"gemini-cli-mcp-client","version":"0.61.0"}"#,
    capabilities: r#"{"roots":{"listChanged":true}}"#,
    sends_version_header: false,
    opens_stream: true,
    call_meta: r#"{"progressToken":"c3473796-cfa1-41bc-b8bb-0c7523187cc0"}"#,
};

/// microsoft/vscode: `initialize` in `mcpServerRequestHandler.ts`, the stream and the headers in
/// `extHostMcp.ts`, `_meta` in `mcpServer.ts`. The capabilities are those of version 1.140.0.
pub(crate) const VS_CODE: Client = Client {
    name: "VS Code",
    era: Era::Session,
    protocol_version: "2025-11-25",
    info: r#"{"name":"Visual Studio Code","version":"1.140.0"}"#,
    capabilities: r#"{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}},"tasks":{"list":{},"cancel":{},"requests":{"sampling":{"createMessage":{}},"elicitation":{"create":{}}}},"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}"#,
    sends_version_header: false,
    opens_stream: true,
    call_meta: r#"{"progressToken":"236b9c2e-c802-4b2e-96d9-d6f9a97bc75d","vscode.conversationId":"ba971ddd-9344-437e-b846-3ea1de5cbcd8","vscode.requestId":"f8970589-c63e-47c7-8f30-46385c2f6829"}"#,
};

/// VS Code, if it declared nothing: what its capabilities cost is the difference.
pub(crate) const VS_CODE_WITHOUT_CAPABILITIES: Client = Client {
    name: "VS Code, without capabilities",
    capabilities: "{}",
    ..VS_CODE
};

/// Traces of Cursor over Streamable HTTP, and a probe of version 3.20.17: it is the TypeScript SDK
/// with these capabilities. apify/mcp-client-capabilities lists the same ones.
pub(crate) const CURSOR: Client = Client {
    name: "Cursor",
    era: Era::Session,
    protocol_version: "2025-11-25",
    info: r#"{"name":"cursor-vscode","version":"1.0.0"}"#,
    capabilities: r#"{"elicitation":{"form":{}},"roots":{"listChanged":false},"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}"#,
    sends_version_header: true,
    opens_stream: true,
    call_meta: r#"{"progressToken":1}"#,
};

/// The clients that people use, with the capabilities that they declare.
pub(crate) static REAL_CLIENTS: [&Client; 5] = [&CLAUDE_CODE, &CODEX, &GEMINI, &VS_CODE, &CURSOR];

/// The arguments of each call.
const ARGUMENTS: &str = r#"{"query":"open cards","limit":20}"#;

impl Client {
    /// Returns the request that opens an MCP session.
    pub(crate) fn initialize(&self, endpoint: &Endpoint) -> Request {
        let body = rpc(
            "initialize",
            json!({
                "protocolVersion": self.protocol_version,
                "capabilities": parse(self.capabilities),
                "clientInfo": parse(self.info),
            }),
        );
        Request::new("POST /mcp", endpoint, &[ACCEPT], &body)
    }

    /// Returns the notification after `initialize`.
    pub(crate) fn initialized(&self, endpoint: &Endpoint, session: &str) -> Request {
        let body = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        Request::new("POST /mcp", endpoint, &self.session_headers(session), &body)
    }

    /// Returns the request that opens the stream of notifications.
    pub(crate) fn open_stream(&self, endpoint: &Endpoint, session: Option<&str>) -> Request {
        if let Some(session) = session {
            let mut headers = self.session_headers(session);
            headers[0] = ("accept", "text/event-stream");
            return Request::new("GET /mcp", endpoint, &headers, &Value::Null);
        }
        let notifications = json!({ "toolsListChanged": true, "promptsListChanged": true,
            "resourcesListChanged": true });
        self.post(
            endpoint,
            None,
            "subscriptions/listen",
            json!({ "notifications": notifications }),
        )
    }

    pub(crate) fn list_tools(&self, endpoint: &Endpoint, session: Option<&str>) -> Request {
        self.post(endpoint, session, "tools/list", json!({}))
    }

    /// Returns the call of a tool.
    pub(crate) fn call(&self, endpoint: &Endpoint, session: Option<&str>, tool: &str) -> Request {
        let mut params = json!({ "name": tool, "arguments": arguments() });
        if self.call_meta != "{}" {
            params["_meta"] = parse(self.call_meta);
        }
        self.post(endpoint, session, "tools/call", params)
    }

    /// Returns the request that ends an MCP session.
    pub(crate) fn end_session(&self, endpoint: &Endpoint, session: &str) -> Request {
        Request::new(
            "DELETE /mcp",
            endpoint,
            &self.session_headers(session),
            &Value::Null,
        )
    }

    fn post(
        &self,
        endpoint: &Endpoint,
        session: Option<&str>,
        method: &str,
        mut params: Value,
    ) -> Request {
        if let Some(session) = session {
            let headers = self.session_headers(session);
            return Request::new("POST /mcp", endpoint, &headers, &rpc(method, params));
        }
        let meta = &mut params["_meta"];
        meta["io.modelcontextprotocol/protocolVersion"] = json!(self.protocol_version);
        meta["io.modelcontextprotocol/clientInfo"] = parse(self.info);
        meta["io.modelcontextprotocol/clientCapabilities"] = parse(self.capabilities);
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let mut headers = vec![
            ACCEPT,
            (VERSION, self.protocol_version),
            ("mcp-method", method),
        ];
        if !name.is_empty() {
            headers.push(("mcp-name", &name));
        }
        Request::new("POST /mcp", endpoint, &headers, &rpc(method, params))
    }

    fn session_headers<'a>(&self, session: &'a str) -> Vec<(&'static str, &'a str)> {
        let mut headers = vec![ACCEPT, ("mcp-session-id", session)];
        if self.sends_version_header {
            headers.push((VERSION, self.protocol_version));
        }
        headers
    }
}

const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");
const VERSION: &str = "mcp-protocol-version";

/// Returns the arguments of each call.
pub(crate) fn arguments() -> Value {
    parse(ARGUMENTS)
}

fn parse(json: &str) -> Value {
    serde_json::from_str(json).expect("the constants are JSON")
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn each_client_names_its_session_or_its_capabilities_in_a_call() {
        let endpoint = Endpoint::new(([127, 0, 0, 1], 3001).into(), "t");
        for client in REAL_CLIENTS
            .into_iter()
            .chain([&WITHOUT_CAPABILITIES, &STATELESS])
        {
            let session = (client.era == Era::Session).then_some("s");
            let (head, body) = client.call(&endpoint, session, "a").to_http().into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let body: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body["params"]["name"], "a", "{}", client.name);
            let declared = &body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
            assert_eq!(
                declared.is_object(),
                client.era == Era::Stateless,
                "{}",
                client.name
            );
            let has_session = head.headers.contains_key("mcp-session-id");
            assert_eq!(has_session, client.era == Era::Session, "{}", client.name);
        }
    }
}
