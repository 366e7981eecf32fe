//! The kinds of requests: their methods and parameters, and bodies that are not messages of MCP.

use reqwest::Method;
use serde_json::{Value, json};

use super::header_rows;
use super::request::{Client, Request, SESSIONS, STATELESS};
use crate::kit::*;

pub(crate) type Change = Box<dyn Fn(Request) -> Request>;

/// A kind of request: what differs from the one that is as it should be.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) clients: &'static [Client],
    pub(crate) method: &'static str,
    pub(crate) params: Value,
    pub(crate) change: Change,
}

pub(super) fn row(
    name: impl Into<String>,
    clients: &'static [Client],
    (method, params): (&'static str, Value),
    change: impl Fn(Request) -> Request + 'static,
) -> Row {
    Row {
        name: name.into(),
        clients,
        method,
        params,
        change: Box::new(change),
    }
}

pub(super) fn call() -> (&'static str, Value) {
    (
        "tools/call",
        json!({ "name": "echo", "arguments": { "n": 1 } }),
    )
}

pub(super) fn list() -> (&'static str, Value) {
    ("tools/list", json!({}))
}

pub(super) fn to_header() -> (&'static str, Value) {
    (
        "tools/call",
        json!({ "name": "header", "arguments": { "n": 1 } }),
    )
}

pub(super) fn as_is(request: Request) -> Request {
    request
}

/// Rows of `values`, for clients of both eras.
pub(super) fn rows_of<const N: usize>(
    rows: &mut Vec<Row>,
    what: &str,
    request: fn() -> (&'static str, Value),
    values: [&'static str; N],
    change: fn(Request, &str) -> Request,
) {
    for value in values {
        for clients in [SESSIONS, STATELESS] {
            let name = format!("{what} {value}");
            rows.push(row(name, clients, request(), move |it| change(it, value)));
        }
    }
}
/// Returns all rows.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    add_methods(&mut rows);
    header_rows::add(&mut rows);
    add_bodies(&mut rows);
    rows
}

/// Adds the methods, with parameters that are valid or not.
fn add_methods(rows: &mut Vec<Row>) {
    for clients in [SESSIONS, STATELESS] {
        for (name, request) in [("a call", call()), ("a list", list())] {
            rows.push(row(name, clients, request.clone(), as_is));
            let no_token = |it: Request| it.token(None);
            rows.push(row(
                format!("{name} without a token"),
                clients,
                request.clone(),
                no_token,
            ));
            let short = |it: Request| it.token(Some("short"));
            rows.push(row(
                format!("{name} with a short token"),
                clients,
                request,
                short,
            ));
        }
        for (name, params) in [
            ("an unknown tool", json!({ "name": "nobody's" })),
            ("a tool without a name", json!({ "name": "" })),
            ("a name that is a number", json!({ "name": 7 })),
            ("no name", json!({ "arguments": {} })),
            (
                "arguments that are a list",
                json!({ "name": "echo", "arguments": [1] }),
            ),
            (
                "arguments that are null",
                json!({ "name": "echo", "arguments": null }),
            ),
            (
                "arguments that do not fit",
                json!({ "name": "echo", "arguments": { "n": "no" } }),
            ),
            (
                "an unknown page",
                json!({ "name": "echo", "arguments": { "session_id": "none" } }),
            ),
            (
                "an unknown page in _meta",
                json!({ "name": "echo", "arguments": {}, "_meta": { "mcp-web/sessionId": "none" } }),
            ),
            (
                "a page in _meta that is a number",
                json!({ "name": "echo", "arguments": {}, "_meta": { "mcp-web/sessionId": 7 } }),
            ),
            (
                "a bare page in _meta that is a number",
                json!({ "name": "echo", "arguments": {}, "_meta": { "sessionId": 7 } }),
            ),
            (
                "a forged request state",
                json!({ "name": "echo", "requestState": "of nobody" }),
            ),
            (
                "a request state that is a number",
                json!({ "name": "echo", "requestState": 7 }),
            ),
            (
                "answers without a question",
                json!({ "name": "echo", "inputResponses": {} }),
            ),
            (
                "answers that are a list",
                json!({ "name": "echo", "inputResponses": [] }),
            ),
            (
                "a task",
                json!({ "name": "echo", "arguments": {}, "task": { "ttl": 1 } }),
            ),
            (
                "a progress token that is a fraction",
                json!({ "name": "progress", "_meta": { "progressToken": 1.5 } }),
            ),
            (
                "a progress token that is an object",
                json!({ "name": "progress", "_meta": { "progressToken": {} } }),
            ),
            (
                "progress",
                json!({ "name": "progress", "_meta": { "progressToken": "p" } }),
            ),
            ("a handler that fails", json!({ "name": "fails" })),
            ("content that is malformed", json!({ "name": "malformed" })),
            ("content of all kinds", json!({ "name": "blocks" })),
            (
                "a result that violates its schema",
                json!({ "name": "violates its schema" }),
            ),
            (
                "get_result of a number",
                json!({ "name": "get_result", "arguments": { "handle": 7 } }),
            ),
            (
                "call_session_tool",
                json!({ "name": "call_session_tool",
                "arguments": { "tool_name": "echo", "arguments": { "n": 3 } } }),
            ),
        ] {
            rows.push(row(
                format!("a call with {name}"),
                clients,
                ("tools/call", params),
                as_is,
            ));
        }
        for (name, params) in [
            ("a cursor", json!({ "cursor": "c" })),
            ("a cursor that is a number", json!({ "cursor": 7 })),
            ("a name", json!({ "name": "n" })),
        ] {
            rows.push(row(
                format!("a list with {name}"),
                clients,
                ("tools/list", params),
                as_is,
            ));
        }
        for method in [
            "ping",
            "server/discover",
            "initialize",
            "unknown/method",
            "Tools/Call",
            "resources/subscribe",
            "subscriptions/listen",
            "completion/complete",
        ] {
            rows.push(row(method, clients, (method, json!({})), as_is));
        }
        for (name, method, params) in [
            (
                "a prompt",
                "prompts/get",
                json!({ "name": "review", "arguments": { "card": "1" } }),
            ),
            (
                "an unknown prompt",
                "prompts/get",
                json!({ "name": "none" }),
            ),
            (
                "a prompt without its argument",
                "prompts/get",
                json!({ "name": "review" }),
            ),
            (
                "a prompt with an argument that is a number",
                "prompts/get",
                json!({ "name": "review", "arguments": { "card": 1 } }),
            ),
            (
                "a prompt with arguments that are a list",
                "prompts/get",
                json!({ "name": "review", "arguments": [] }),
            ),
            ("a prompt without a name", "prompts/get", json!({})),
            (
                "a prompt of a page that is a number",
                "prompts/get",
                json!({ "name": "review", "_meta": { "mcp-web/sessionId": 7 } }),
            ),
            (
                "a prompt with a forged request state",
                "prompts/get",
                json!({ "name": "review", "requestState": "of nobody" }),
            ),
            (
                "a resource",
                "resources/read",
                json!({ "uri": "board://cards" }),
            ),
            (
                "a resource of a template",
                "resources/read",
                json!({ "uri": "board://cards/7" }),
            ),
            (
                "an unknown resource",
                "resources/read",
                json!({ "uri": "a:b" }),
            ),
            ("a resource without a URI", "resources/read", json!({})),
            (
                "a resource of the bridge",
                "resources/read",
                json!({ "uri": "status://connection" }),
            ),
            (
                "a completion",
                "completion/complete",
                json!({ "ref": { "type": "ref/prompt", "name": "review" },
                    "argument": { "name": "card", "value": "o" } }),
            ),
            (
                "a completion of an unknown prompt",
                "completion/complete",
                json!({ "ref": { "type": "ref/prompt", "name": "none" },
                    "argument": { "name": "card", "value": "o" } }),
            ),
            (
                "a completion of an unknown reference",
                "completion/complete",
                json!({ "ref": { "type": "ref/tool", "name": "review" },
                    "argument": { "name": "card", "value": "o" } }),
            ),
            ("a list of prompts", "prompts/list", json!({})),
            ("a list of resources", "resources/list", json!({})),
            ("a list of templates", "resources/templates/list", json!({})),
            (
                "a log level",
                "logging/setLevel",
                json!({ "level": "debug" }),
            ),
            (
                "an unknown log level",
                "logging/setLevel",
                json!({ "level": "loud" }),
            ),
            (
                "a subscription",
                "resources/subscribe",
                json!({ "uri": "board://cards" }),
            ),
            (
                "the end of a subscription",
                "resources/unsubscribe",
                json!({ "uri": "board://cards" }),
            ),
        ] {
            rows.push(row(name, clients, (method, params), as_is));
        }
    }
}

/// Adds `initialize` with headers that do not agree with it.
fn add_initialize(rows: &mut Vec<Row>) {
    let in_unknown = |it: Request| it.header("mcp-session-id", "nobody's");
    let changes: [(&str, &str, Change); 9] = [
        (
            "2026-07-28",
            "without session",
            Box::new(|it| {
                it.without("mcp-session-id")
                    .header("mcp-protocol-version", STATELESS_REVISION)
            }),
        ),
        (
            "2026-07-28",
            "without session, with another Mcp-Method",
            Box::new(|it| {
                it.without("mcp-session-id")
                    .header("mcp-protocol-version", STATELESS_REVISION)
                    .header("mcp-method", "ping")
            }),
        ),
        (
            "2026-07-28",
            "with an unknown session",
            Box::new(move |it| in_unknown(it).header("mcp-protocol-version", STATELESS_REVISION)),
        ),
        (
            "2025-06-18",
            "without session, with the header of another",
            Box::new(|it| {
                it.without("mcp-session-id")
                    .header("mcp-protocol-version", "2025-11-25")
            }),
        ),
        (
            "2025-11-25",
            "with an unknown session",
            Box::new(in_unknown),
        ),
        (
            "2025-11-25",
            "with an empty session",
            Box::new(|it| it.header("mcp-session-id", "")),
        ),
        (
            "2025-11-25",
            "with a session of unreadable bytes",
            Box::new(|it| {
                it.without("mcp-session-id")
                    .another("mcp-session-id", b"\xff")
            }),
        ),
        (
            "2025-11-25",
            "with a session of somebody else",
            Box::new(|it| it.token(Some(OTHER_TOKEN))),
        ),
        (
            "2025-11-25",
            "with an unknown session and malformed parameters",
            Box::new(move |it| in_unknown(it).set("/params/clientInfo", json!(7))),
        ),
    ];
    for (version, name, change) in changes {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"n","version":"1"}}}}}}"#
        );
        rows.push(row(
            format!("initialize of {version} {name}"),
            &SESSIONS[..1],
            call(),
            move |it| change(it.body(&body)),
        ));
    }
}

/// Adds bodies that are not requests, and other methods of HTTP.
fn add_bodies(rows: &mut Vec<Row>) {
    for text in [
        "",
        "no JSON",
        "{\"jsonrpc\":",
        "7",
        "\"tools/call\"",
        "[]",
        "[{}]",
        "{}",
        "{\"method\":\"tools/call\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\"}}",
    ] {
        for clients in [SESSIONS, STATELESS] {
            rows.push(row(
                format!("the body {text}"),
                clients,
                call(),
                move |it| it.body(text),
            ));
        }
    }
    for (name, body) in [
        (
            "an unknown notification",
            r#"{"jsonrpc":"2.0","method":"notifications/unknown"}"#,
        ),
        (
            "a cancellation of nothing",
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
        ),
        (
            "a response to nothing",
            r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        ),
        (
            "an error to nothing",
            r#"{"jsonrpc":"2.0","id":"x","error":{"code":-1,"message":"no"}}"#,
        ),
        (
            "a malformed error",
            r#"{"jsonrpc":"2.0","id":"x","error":7}"#,
        ),
    ] {
        for clients in [SESSIONS, STATELESS] {
            rows.push(row(name, clients, call(), move |it| it.body(body)));
        }
    }
    for (name, body) in [
        ("the newest revision", r#""2026-07-28""#),
        ("an unknown revision", r#""1999-01-01""#),
        ("a revision of March", r#""2025-03-26""#),
        ("a revision that is a number", "7"),
    ] {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":{body},"capabilities":{{}},"clientInfo":{{"name":"n","version":"1"}}}}}}"#
        );
        rows.push(row(
            format!("initialize with {name}"),
            &SESSIONS[..1],
            call(),
            move |it| it.without("mcp-session-id").body(&body),
        ));
    }
    let body = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"1999-01-01","capabilities":{},"clientInfo":{"name":"n","version":"1"},"_meta":{"io.modelcontextprotocol/protocolVersion":"1999-01-01"}}}"#;
    rows.push(row(
        "initialize with an unknown revision in header, params and _meta",
        &SESSIONS[..1],
        call(),
        move |it| {
            it.without("mcp-session-id")
                .header("mcp-protocol-version", "1999-01-01")
                .body(body)
        },
    ));
    rows.push(row(
        "initialize with an unknown revision in header, params and _meta, in a session",
        &SESSIONS[..1],
        call(),
        move |it| it.header("mcp-protocol-version", "1999-01-01").body(body),
    ));
    add_initialize(rows);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"1999-01-01"}}}"#;
    rows.push(row(
        "ping with an unknown revision in header and _meta, in a session",
        &SESSIONS[..1],
        call(),
        move |it| it.header("mcp-protocol-version", "1999-01-01").body(ping),
    ));
    for method in [Method::GET, Method::DELETE] {
        for (name, change) in [
            (
                "without a session",
                (|it: Request| it.without("mcp-session-id")) as fn(Request) -> Request,
            ),
            ("of an unknown session", |it| {
                it.header("mcp-session-id", "nobody's")
            }),
            ("of a session of somebody else", |it| {
                it.token(Some(OTHER_TOKEN))
            }),
            ("with an unknown version", |it| {
                it.header("mcp-protocol-version", "1999-01-01")
            }),
            ("with the version of 2026 and no session", |it| {
                it.header("mcp-protocol-version", STATELESS_REVISION)
                    .without("mcp-session-id")
            }),
            ("with the version of 2026 of an unknown session", |it| {
                it.header("mcp-protocol-version", STATELESS_REVISION)
                    .header("mcp-session-id", "nobody's")
            }),
            ("that accepts only HTML of an unknown session", |it| {
                it.header("accept", "text/html")
                    .header("mcp-session-id", "nobody's")
            }),
            ("after an unknown event of an unknown session", |it| {
                it.header("last-event-id", "7/1")
                    .header("mcp-session-id", "nobody's")
            }),
        ] {
            let http = method.clone();
            rows.push(row(
                format!("{method} {name}"),
                SESSIONS,
                call(),
                move |it| change(it).body("").http(http.clone()),
            ));
        }
    }
    for method in [Method::PUT, Method::PATCH, Method::HEAD] {
        let http = method.clone();
        rows.push(row(method.to_string(), &SESSIONS[..1], call(), move |it| {
            it.http(http.clone())
        }));
    }
}
