//! Builds requests from templates: a route, headers and a body that usually belong together.

use std::sync::LazyLock;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use serde_json::{Value, json};

use crate::choices::Choices;
use crate::mutation::{mutate, mutated_text};
use crate::templates::page_message;

/// The token of the page.
pub(super) const TOKEN: &str = "the-token-of-the-page-0123456789";

/// The credential of the agent.
pub(super) const AGENT_TOKEN: &str = "the-credential-of-the-agent-0123456789";

/// The receiver of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    Bridge,
    CompatBridge,
    Agent,
}

/// A request as a client would send it.
struct Template {
    method: &'static str,
    path: &'static str,
    body: Value,
}

const METHODS: [&str; 7] = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"];

const PROTOCOLS: [&str; 5] = [
    "2026-07-28",
    "2025-11-25",
    "2025-06-18",
    "2024-11-05",
    "none",
];

static BRIDGE: LazyLock<Vec<Template>> = LazyLock::new(|| {
    let query = page_message("query");
    let rpc = rpc_bodies().into_iter().map(|body| ("POST", "/mcp", body));
    let others = [
        (
            "POST",
            "/tool-call",
            json!({"toolName": "echo", "toolInput": {"text": "x"}}),
        ),
        ("PUT", "/query/5f0c9a52-7d0e-4b3f-9c52-0d0b6a1f8e11", query),
        ("POST", "/query/q/progress", json!({"message": "half"})),
        ("PUT", "/query/q/complete", json!({"message": "done"})),
        (
            "PUT",
            "/query/q/fail",
            json!({"error": "no", "reason": "r", "code": "HandlerFailed"}),
        ),
        ("PUT", "/query/q/cancel", json!({"reason": "r"})),
        ("GET", "/sessions", Value::Null),
        ("GET", "/tools", Value::Null),
        ("GET", "/healthz", Value::Null),
        ("GET", "/metrics", Value::Null),
        ("GET", "/", Value::Null),
        ("GET", "/mcp", Value::Null),
        ("DELETE", "/mcp", Value::Null),
        ("GET", "/ws", Value::Null),
        ("GET", "/sdk/mcp-web.js", Value::Null),
        ("GET", "/.well-known/oauth-protected-resource", Value::Null),
        (
            "GET",
            "/.well-known/oauth-protected-resource/mcp",
            Value::Null,
        ),
        ("GET", "/nowhere", Value::Null),
    ];
    templates(rpc.chain(others))
});

static AGENT: LazyLock<Vec<Template>> = LazyLock::new(|| {
    let query = page_message("query");
    let mut command = query.clone();
    command["prompt"] = "/echo {\"text\":\"x\"}".into();
    templates([
        (
            "PUT",
            "/query/5f0c9a52-7d0e-4b3f-9c52-0d0b6a1f8e11",
            query.clone(),
        ),
        ("PUT", "/query", query),
        ("PUT", "/query", command),
        (
            "DELETE",
            "/query/5f0c9a52-7d0e-4b3f-9c52-0d0b6a1f8e11",
            Value::Null,
        ),
        ("GET", "/healthz", Value::Null),
        ("GET", "/query", Value::Null),
        ("POST", "/nowhere", json!({})),
        ("POST", "/agui", run_input()),
    ])
});

/// Returns a request of AG-UI with all of its fields.
fn run_input() -> Value {
    let call = json!({"id": "c", "type": "function",
        "function": {"name": "paint", "arguments": "{}"}});
    json!({
        "threadId": "t", "runId": "r", "protocolVersion": "1.0", "parentRunId": "p",
        "state": {"page": 1},
        "messages": [
            {"id": "1", "role": "system", "content": "Be brief."},
            {"id": "2", "role": "assistant", "content": null, "toolCalls": [call]},
            {"id": "3", "role": "tool", "toolCallId": "c", "content": "red", "error": "e"},
            {"id": "4", "role": "user", "content": [
                {"type": "text", "text": "/echo {\"text\":\"x\"}"},
                {"type": "image", "source": {"type": "data", "value": "AAAA", "mimeType": "image/png"}},
                {"type": "binary", "mimeType": "image/png", "url": "data:image/png;base64,AAAA"},
            ]},
        ],
        "tools": [{"name": "paint", "description": "Paints", "parameters": {"type": "object"}}],
        "context": [{"description": "d", "value": "v"}],
        "forwardedProps": {"sessionId": "tab-1", "approve": ["echo"], "timeout": 1000},
        "resume": [{"interruptId": "i", "status": "resolved", "payload": {"approved": true}}],
    })
}

fn templates(rows: impl IntoIterator<Item = (&'static str, &'static str, Value)>) -> Vec<Template> {
    let template = |(method, path, body)| Template { method, path, body };
    rows.into_iter().map(template).collect()
}

fn rpc_bodies() -> Vec<Value> {
    let client = json!({"name": "fuzz", "version": "1"});
    let rows = [
        (
            "initialize",
            json!({"protocolVersion": "2025-06-18", "clientInfo": client,
            "capabilities": {"roots": {}, "elicitation": {}, "sampling": {}}}),
        ),
        ("server/discover", json!({})),
        ("notifications/initialized", json!({})),
        (
            "notifications/cancelled",
            json!({"requestId": 1, "reason": "r"}),
        ),
        ("ping", json!({})),
        ("tools/list", json!({"cursor": "c"})),
        (
            "tools/call",
            json!({"name": "echo", "arguments": {"text": "x"},
            "_meta": {"progressToken": 1, "mcp-web/sessionId": "tab-1"}}),
        ),
        (
            "tools/call",
            json!({"name": "get_result", "arguments": {"handle": "h", "offset": 0}}),
        ),
        (
            "tools/call",
            json!({"name": "list_active_sessions", "arguments": {}}),
        ),
        (
            "tools/call",
            json!({"name": "list_session_tools", "arguments": {"session_id": "tab-1"}}),
        ),
        ("prompts/list", json!({})),
        (
            "prompts/get",
            json!({"name": "review", "arguments": {"card": "1"}}),
        ),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "board://cards/7"})),
        ("resources/subscribe", json!({"uri": "board://cards"})),
        (
            "subscriptions/listen",
            json!({"notifications": {"toolsListChanged": true,
            "resourceSubscriptions": ["board://cards"]}}),
        ),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "review"},
            "argument": {"name": "card", "value": "1"}}),
        ),
        ("logging/setLevel", json!({"level": "debug"})),
        ("unknown/method", json!({})),
    ];
    let message = |(method, params): (&str, Value)| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut bodies: Vec<Value> = rows.into_iter().map(message).collect();
    bodies.push(json!({"jsonrpc": "2.0", "id": 1, "result": {"roots": []}}));
    bodies
}

/// A request to this peer. `words` are ids that its former responses contained.
pub(super) fn any_request(
    peer: Peer,
    choices: &mut Choices<'_>,
    words: &[String],
) -> Request<Full<Bytes>> {
    let template = match peer {
        Peer::Bridge | Peer::CompatBridge => choices.pick(&BRIDGE),
        Peer::Agent => choices.pick(&AGENT),
    };
    let method = if choices.one_in(12) {
        choices.pick(&METHODS)
    } else {
        template.method
    };
    let protocol = *choices.pick(&PROTOCOLS);
    let body = any_body(template, protocol, choices, words);
    let mut request = Request::builder()
        .method(method)
        .uri(any_path(template, choices));
    for (name, value) in any_headers(peer, &body, protocol, choices, words) {
        // Header values of clients cannot have line breaks: hyper refuses them.
        if let Ok(value) = hyper::header::HeaderValue::from_bytes(value.as_bytes()) {
            request = request.header(name, value);
        }
    }
    request.body(Full::from(body)).unwrap_or_default()
}

fn any_path(template: &Template, choices: &mut Choices<'_>) -> String {
    match choices.below(12) {
        0 => format!("{}?token={TOKEN}", template.path),
        1 => format!("{}/", template.path),
        2 => {
            let text: String = choices
                .bytes(12)
                .iter()
                .map(|byte| format!("%{byte:02x}"))
                .collect();
            format!("{}/{text}", template.path.trim_end_matches('/'))
        }
        3 => format!("{}?sessionId=tab-1&x=%zz", template.path),
        _ => template.path.to_owned(),
    }
}

fn any_body(
    template: &Template,
    protocol: &str,
    choices: &mut Choices<'_>,
    words: &[String],
) -> Bytes {
    let mut body = template.body.clone();
    if protocol == "2026-07-28" && body["params"].is_object() && !choices.one_in(4) {
        body["params"]["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": protocol,
            "io.modelcontextprotocol/clientInfo": {"name": "fuzz", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        });
    }
    if body.is_null() && !choices.one_in(6) {
        return Bytes::new();
    }
    if choices.one_in(16) {
        return Bytes::copy_from_slice(choices.bytes(64));
    }
    let mut known = vec![
        "tab-1".to_owned(),
        "echo".to_owned(),
        "progressToken".to_owned(),
    ];
    known.extend_from_slice(words);
    let body = mutate(&body, choices, &known);
    mutated_text(&body, choices).into()
}

fn any_headers(
    peer: Peer,
    body: &[u8],
    protocol: &str,
    choices: &mut Choices<'_>,
    words: &[String],
) -> Vec<(&'static str, String)> {
    let mut headers = Vec::new();
    if !choices.one_in(24) {
        let host = if choices.one_in(16) {
            "evil.example"
        } else {
            "localhost"
        };
        headers.push(("host", host.to_owned()));
    }
    let token = if peer == Peer::Agent {
        AGENT_TOKEN
    } else {
        TOKEN
    };
    match choices.below(10) {
        0 => {}
        1 => headers.push(("authorization", choices.text())),
        2 => headers.push((
            "authorization",
            "Bearer another-token-0123456789".to_owned(),
        )),
        _ => headers.push(("authorization", format!("Bearer {token}"))),
    }
    if !choices.one_in(8) {
        headers.push(("content-type", "application/json".to_owned()));
    }
    match choices.below(6) {
        0 => {}
        1 => headers.push(("accept", "application/json".to_owned())),
        2 => headers.push(("accept", choices.text())),
        _ => headers.push(("accept", "application/json, text/event-stream".to_owned())),
    }
    if protocol != "none" && !choices.one_in(4) {
        headers.push(("mcp-protocol-version", protocol.to_owned()));
    }
    if protocol == "2026-07-28" && !choices.one_in(4) {
        let message: Value = serde_json::from_slice(body).unwrap_or_default();
        let text = |pointer| message.pointer(pointer).and_then(Value::as_str);
        headers.extend(text("/method").map(|method| ("mcp-method", method.to_owned())));
        let name = text("/params/name").or(text("/params/uri"));
        headers.extend(name.map(|name| ("mcp-name", name.to_owned())));
    }
    if !words.is_empty() && !choices.one_in(4) {
        headers.push(("mcp-session-id", choices.pick(words).clone()));
    }
    if peer == Peer::Agent && !choices.one_in(8) {
        headers.push((
            "mcp-web-query-token",
            "the-token-of-a-query-0123456789".to_owned(),
        ));
    }
    if choices.one_in(10) {
        let origin = choices.pick(&[
            "http://localhost:3000",
            "https://evil.example",
            "null",
            "x y",
        ]);
        headers.push(("origin", (*origin).to_owned()));
    }
    if choices.one_in(16) {
        let name = *choices.pick(&[
            "last-event-id",
            "upgrade",
            "connection",
            "x-forwarded-for",
            "cookie",
        ]);
        headers.push((name, choices.text()));
    }
    headers
}
