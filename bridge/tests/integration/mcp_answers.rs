//! What the bridge answers to each kind of MCP request, valid or not. `mcp_answers.txt` has the answers,
//! and changes only on purpose: `MCP_WEB_RECORD=1` writes it anew.

mod page;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use bridge::ServerHandle;
use reqwest::Method;
use reqwest::header::HeaderValue;
use serde_json::{Value, json};

use self::page::{items, serve_calls, tools};
use crate::kit::*;

const ALL_CAPABILITIES: &str = r#"{"elicitation":{},"sampling":{},"roots":{"listChanged":true}}"#;

/// Who sends a request. All clients must get the same answers, whatever they declare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Client {
    /// Has an MCP session of 2025-11-25.
    Session { declares_all: bool },
    /// Speaks 2026-07-28.
    Stateless { declares_all: bool },
}

const SESSIONS: &[Client] = &[
    Client::Session {
        declares_all: false,
    },
    Client::Session { declares_all: true },
];
const STATELESS: &[Client] = &[
    Client::Stateless {
        declares_all: false,
    },
    Client::Stateless { declares_all: true },
];

/// A request with its exact body and headers.
#[derive(Clone)]
struct Request {
    method: Method,
    token: Option<&'static str>,
    headers: Vec<(&'static str, HeaderValue)>,
    body: String,
}

impl Request {
    fn header(mut self, name: &'static str, value: &str) -> Self {
        self = self.without(name);
        self.another(name, value.as_bytes())
    }

    fn without(mut self, name: &'static str) -> Self {
        self.headers.retain(|(other, _)| *other != name);
        self
    }

    fn another(mut self, name: &'static str, value: &[u8]) -> Self {
        let value = HeaderValue::from_bytes(value).unwrap();
        self.headers.push((name, value));
        self
    }

    fn twice(mut self, name: &'static str) -> Self {
        let found = self.headers.iter().find(|(other, _)| *other == name);
        let again = found.unwrap().clone();
        self.headers.push(again);
        self
    }

    fn body(mut self, text: &str) -> Self {
        text.clone_into(&mut self.body);
        self
    }

    /// Sets a member of the body, at a JSON pointer.
    fn set(mut self, pointer: &str, value: Value) -> Self {
        let mut body: Value = serde_json::from_str(&self.body).unwrap();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let key = key.replace("~1", "/");
        body.pointer_mut(parent).unwrap()[key] = value;
        self.body = body.to_string();
        self
    }

    fn remove(mut self, pointer: &str) -> Self {
        let mut body: Value = serde_json::from_str(&self.body).unwrap();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = body.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        parent.remove(&key.replace("~1", "/")).unwrap();
        self.body = body.to_string();
        self
    }

    fn http(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    fn token(mut self, token: Option<&'static str>) -> Self {
        self.token = token;
        self
    }
}

/// A bridge with a page and one client of each kind.
struct Bench {
    bridge: ServerHandle,
    sessions: [McpClient; 2],
}

impl Bench {
    async fn start() -> Self {
        let bridge = start_bridge().await;
        let mut page = Page::with_tools(&bridge, "s", &tools()).await;
        page.register_items(&items()).await;
        tokio::spawn(serve_calls(page));
        let all = serde_json::from_str(ALL_CAPABILITIES).unwrap();
        let asked = McpClient::connect_with_capabilities(&bridge, TOKEN, all).await;
        let sessions = [McpClient::connect(&bridge, TOKEN).await, asked];
        Self { bridge, sessions }
    }

    /// A request of a client, as it should be.
    fn request(&self, client: Client, method: &str, params: &Value) -> Request {
        let mut headers = vec![(
            "accept",
            HeaderValue::from_static("application/json, text/event-stream"),
        )];
        let mut params = params.clone();
        match client {
            Client::Session { declares_all } => {
                let session = &self.sessions[usize::from(declares_all)].session;
                headers.push(("mcp-session-id", session.parse().unwrap()));
            }
            Client::Stateless { declares_all } => {
                let capabilities = if declares_all { ALL_CAPABILITIES } else { "{}" };
                let capabilities = serde_json::from_str(capabilities).unwrap();
                params = with_client_meta(params, CLIENT_NAME, &capabilities);
                let own = stateless_headers(method, &params);
                let own = own
                    .into_iter()
                    .map(|(name, value)| (name, value.parse().unwrap()));
                headers.extend(own);
            }
        }
        Request {
            method: Method::POST,
            token: Some(TOKEN),
            headers,
            body: rpc_request(1, method, params).to_string(),
        }
    }

    /// The status, the headers that matter, and each message of the answer to a request.
    async fn answer(&self, request: Request) -> Answer {
        let url = format!("{}/mcp", self.bridge.url());
        let mut sent = http_client()
            .request(request.method, url)
            .body(request.body);
        if let Some(token) = request.token {
            sent = sent.bearer_auth(token);
        }
        for (name, value) in request.headers {
            sent = sent.header(name, value);
        }
        let response = with_deadline("response", sent.send()).await.unwrap();
        let mut head = response.status().as_u16().to_string();
        let header = |name: &str| {
            let value = response.headers().get(name)?;
            Some(value.to_str().unwrap().to_owned())
        };
        let framing = header("content-type").unwrap_or_default();
        for name in ["www-authenticate", "allow", "retry-after"] {
            if let Some(value) = header(name) {
                let _ = write!(head, "\n{name}: {value}");
            }
        }
        if header("mcp-session-id").is_some() {
            head.push_str("\nmcp-session-id: …");
        }
        let text = with_deadline("body", response.text()).await.unwrap();
        let body = match framing.as_str() {
            "text/event-stream" => {
                let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
                let messages = data.map(str::trim).filter(|message| !message.is_empty());
                messages.collect::<Vec<_>>().join("\n")
            }
            _ => text,
        };
        Answer {
            framing,
            text: without_times(format!("{head}\n{body}").trim_end()),
        }
    }
}

#[derive(Debug, PartialEq)]
struct Answer {
    framing: String,
    text: String,
}

type Change = Box<dyn Fn(Request) -> Request>;

/// A kind of request: what differs from the one that is as it should be.
struct Row {
    name: String,
    clients: &'static [Client],
    method: &'static str,
    params: Value,
    change: Change,
}

fn row(
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

fn call() -> (&'static str, Value) {
    (
        "tools/call",
        json!({ "name": "echo", "arguments": { "n": 1 } }),
    )
}

fn list() -> (&'static str, Value) {
    ("tools/list", json!({}))
}

fn to_header() -> (&'static str, Value) {
    (
        "tools/call",
        json!({ "name": "header", "arguments": { "n": 1 } }),
    )
}

fn as_is(request: Request) -> Request {
    request
}

/// Rows of `values`, for clients of both eras.
fn rows_of<const N: usize>(
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

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
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
    let both = [("call", call as fn() -> _), ("list", list)];
    for (what, request) in both {
        rows_of(
            &mut rows,
            &format!("a {what} with the id"),
            request,
            [
                "null",
                "1.5",
                "1.0",
                "{}",
                "true",
                "\"\"",
                r#""\u0061\n""#,
                "-3",
                "9007199254740993",
                "99999999999999999999",
            ],
            |it, id| {
                let body = it.body.replacen("\"id\":1,", &format!("\"id\":{id},"), 1);
                assert!(body != it.body || id == "1");
                it.body(&body)
            },
        );
        rows_of(
            &mut rows,
            &format!("a {what} with the Accept"),
            request,
            [
                "",
                "*/*",
                "text/html",
                "application/json",
                "text/event-stream",
                "application/*",
                "application/json;q=0, text/event-stream",
                "application/json, text/event-stream;q=0.000",
                "application/json;q=0.5, text/event-stream;q=x",
                "Application/JSON, Text/Event-Stream",
                "text/html, */*;q=0",
                "application/json-x",
            ],
            |it, accept| it.header("accept", accept),
        );
        for clients in [SESSIONS, STATELESS] {
            rows.push(row(
                format!("a {what} without Accept"),
                clients,
                request(),
                |it| it.without("accept"),
            ));
            rows.push(row(
                format!("a {what} with Accept in two lines"),
                clients,
                request(),
                |it| {
                    it.header("accept", "application/json")
                        .another("accept", b"text/event-stream")
                },
            ));
            rows.push(row(
                format!("a {what} with an Accept of unreadable bytes"),
                clients,
                request(),
                |it| it.without("accept").another("accept", b"\xff"),
            ));
            for (name, pointer, value) in [
                ("jsonrpc 1.0", "/jsonrpc", json!("1.0")),
                ("no version of JSON-RPC", "/jsonrpc", json!(null)),
                ("a method that is a number", "/method", json!(7)),
                ("a result", "/result", json!(1)),
                ("an unknown member", "/unknown", json!(1)),
                ("params that are null", "/params", json!(null)),
                ("params that are a list", "/params", json!([])),
                ("_meta that is a number", "/params/_meta", json!(7)),
            ] {
                let value = value.clone();
                rows.push(row(
                    format!("a {what} with {name}"),
                    clients,
                    request(),
                    move |it| it.set(pointer, value.clone()),
                ));
            }
        }
        // The protocol version.
        for (name, version) in [
            ("unknown", "1999-01-01"),
            ("of 2026", STATELESS_REVISION),
            ("of June 2025", "2025-06-18"),
        ] {
            rows.push(row(
                format!("a {what} in a session with a version {name}"),
                SESSIONS,
                request(),
                move |it| it.header("mcp-protocol-version", version),
            ));
        }
        rows.push(row(
            format!("a {what} with a version of unreadable bytes"),
            SESSIONS,
            request(),
            |it| it.another("mcp-protocol-version", b"\xff"),
        ));
        // The session.
        rows.push(row(
            format!("a {what} without a session"),
            SESSIONS,
            request(),
            |it| it.without("mcp-session-id"),
        ));
        rows.push(row(
            format!("a {what} in an unknown session"),
            SESSIONS,
            request(),
            |it| it.header("mcp-session-id", "nobody's"),
        ));
        rows.push(row(
            format!("a {what} in a session of somebody else"),
            SESSIONS,
            request(),
            |it| it.token(Some(OTHER_TOKEN)),
        ));
        // The headers of 2026-07-28.
        for (name, change) in [
            (
                "no Mcp-Method",
                (|it: Request| it.without("mcp-method")) as fn(Request) -> Request,
            ),
            ("another Mcp-Method", |it| it.header("mcp-method", "ping")),
            ("Mcp-Method twice", |it| it.twice("mcp-method")),
            ("an Mcp-Method of unreadable bytes", |it| {
                it.without("mcp-method").another("mcp-method", b"\xff")
            }),
            ("no version header", |it| it.without("mcp-protocol-version")),
            ("a version header of 2025", |it| {
                it.header("mcp-protocol-version", "2025-11-25")
            }),
            ("no version in _meta", |it| {
                it.remove("/params/_meta/io.modelcontextprotocol~1protocolVersion")
            }),
            ("a version in _meta that is a number", |it| {
                it.set(
                    "/params/_meta/io.modelcontextprotocol~1protocolVersion",
                    json!(7),
                )
            }),
            ("an unknown version", |it| {
                it.header("mcp-protocol-version", "2027-01-01").set(
                    "/params/_meta/io.modelcontextprotocol~1protocolVersion",
                    json!("2027-01-01"),
                )
            }),
            ("the version of 2025", |it| {
                it.header("mcp-protocol-version", "2025-11-25").set(
                    "/params/_meta/io.modelcontextprotocol~1protocolVersion",
                    json!("2025-11-25"),
                )
            }),
            ("no capabilities", |it| {
                it.remove("/params/_meta/io.modelcontextprotocol~1clientCapabilities")
            }),
            ("capabilities that are a text", |it| {
                it.set(
                    "/params/_meta/io.modelcontextprotocol~1clientCapabilities",
                    json!("none"),
                )
            }),
            ("a capability that is a number", |it| {
                it.set(
                    "/params/_meta/io.modelcontextprotocol~1clientCapabilities",
                    json!({ "roots": 7 }),
                )
            }),
            ("capabilities that are null", |it| {
                it.set(
                    "/params/_meta/io.modelcontextprotocol~1clientCapabilities",
                    json!(null),
                )
            }),
            ("no name of the client", |it| {
                it.remove("/params/_meta/io.modelcontextprotocol~1clientInfo")
            }),
            ("no name in the client's info", |it| {
                it.set(
                    "/params/_meta/io.modelcontextprotocol~1clientInfo",
                    json!({ "version": "1" }),
                )
            }),
            ("a name of the client that is a number", |it| {
                it.set(
                    "/params/_meta/io.modelcontextprotocol~1clientInfo",
                    json!(7),
                )
            }),
        ] {
            rows.push(row(
                format!("a {what} with {name}"),
                STATELESS,
                request(),
                change,
            ));
        }
    }
    for (name, change) in [
        (
            "no Mcp-Name",
            (|it: Request| it.without("mcp-name")) as fn(Request) -> Request,
        ),
        ("another Mcp-Name", |it| it.header("mcp-name", "other")),
        ("Mcp-Name twice", |it| it.twice("mcp-name")),
        ("an Mcp-Name in base64", |it| {
            it.header("mcp-name", "=?base64?ZWNobw==?=")
        }),
        ("an Mcp-Name in malformed base64", |it| {
            it.header("mcp-name", "=?base64?*?=")
        }),
        ("an Mcp-Name of unreadable bytes", |it| {
            it.without("mcp-name").another("mcp-name", b"\xff")
        }),
        ("a parameter header that no parameter has", |it| {
            it.header("mcp-param-n", "1")
        }),
    ] {
        rows.push(row(
            format!("a call with {name}"),
            STATELESS,
            call(),
            change,
        ));
    }
    for (name, change) in [
        (
            "the parameter header",
            (|it: Request| it.header("mcp-param-n", "1")) as fn(Request) -> Request,
        ),
        ("the parameter header in base64", |it| {
            it.header("mcp-param-n", "=?base64?MQ==?=")
        }),
        ("another parameter header", |it| {
            it.header("mcp-param-n", "2")
        }),
        ("no parameter header", as_is),
        ("the parameter header twice", |it| {
            it.header("mcp-param-n", "1").twice("mcp-param-n")
        }),
        ("the parameter header without the parameter", |it| {
            it.header("mcp-param-n", "1").remove("/params/arguments/n")
        }),
    ] {
        rows.push(row(
            format!("a call with {name}"),
            STATELESS,
            to_header(),
            change,
        ));
    }
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
            ("with the version of 2026", |it| {
                it.header("mcp-protocol-version", STATELESS_REVISION)
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
    rows
}

/// Replaces the time of each timestamp of the form `2026-07-28T12:00:00.000Z`.
fn without_times(answer: &str) -> String {
    const LEN: usize = 24;
    let is_time = |it: &[u8]| (it[4], it[7], it[10], it[23]) == (b'-', b'-', b'T', b'Z');
    let mut text = answer.to_owned();
    let mut start = 0;
    while let Some(window) = text.as_bytes().get(start..start + LEN) {
        if is_time(window) {
            text.replace_range(start..start + LEN, "…");
        }
        start += 1;
    }
    text
}

/// Shortens a list of tools that an earlier answer had.
fn without_repeated_list(answer: &str, lists: &mut HashSet<String>) -> String {
    let list = answer.find("\"tools\":[").map(|start| &answer[start..]);
    match list {
        Some(list) if !lists.insert(list.to_owned()) => {
            answer.replace(list, "\"tools\":[… as before")
        }
        _ => answer.to_owned(),
    }
}

/// Writes the answers, which are the same for both clients of an era.
async fn all_answers() -> String {
    let bench = Bench::start().await;
    let mut lists = HashSet::new();
    let mut out = String::new();
    for row in rows() {
        let mut answers: Vec<(Client, Answer)> = Vec::new();
        for client in row.clients {
            let request = bench.request(*client, row.method, &row.params);
            answers.push((*client, bench.answer((row.change)(request)).await));
        }
        let era = match row.clients[0] {
            Client::Session { .. } => "2025",
            Client::Stateless { .. } => "2026",
        };
        let (_, first) = &answers[0];
        for (client, answer) in &answers {
            assert_eq!(answer, first, "{client:?}: {}", row.name);
        }
        let _ = writeln!(
            out,
            "# {era}: {}\n# {}\n{}\n",
            row.name,
            first.framing,
            without_repeated_list(&first.text, &mut lists)
        );
    }
    out
}

#[tokio::test]
async fn each_kind_of_request_has_its_answer() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/mcp_answers.txt");
    let found = all_answers().await;
    if env::var_os("MCP_WEB_RECORD").is_some() {
        fs::write(&path, &found).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    for (found, expected) in found.split("\n\n").zip(expected.split("\n\n")) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len(), "as many answers");
}
