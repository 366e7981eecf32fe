//! All ways to what Eve has.

use serde_json::{Value, json};

use crate::kit::*;

/// A way to what Eve has.
pub(super) struct Route {
    pub(super) what: &'static str,
    /// The scope that it needs.
    pub(super) needs: Option<&'static str>,
    /// Whether Eve sees her secret there.
    pub(super) reveals: bool,
    request: reqwest::RequestBuilder,
}

const READ: Option<&str> = Some("tools:read");
const CALL: Option<&str> = Some("tools:call");

pub(super) fn plain(url: &str) -> Vec<Route> {
    let call = |body: Value| http_client().post(format!("{url}/tool-call")).json(&body);
    let route = |what, needs, request| Route {
        what,
        needs,
        reveals: true,
        request,
    };
    let named = json!({ "toolName": "eve_tool_1", "toolInput": {}, "sessionId": "eve-1" });
    vec![
        Route {
            reveals: false,
            ..route(
                "GET /sessions",
                READ,
                http_client().get(format!("{url}/sessions")),
            )
        },
        route(
            "GET /tools",
            READ,
            http_client().get(format!("{url}/tools")),
        ),
        route(
            "POST /tool-call",
            CALL,
            call(json!({ "toolName": "eve_tool_1", "toolInput": {} })),
        ),
        route("POST /tool-call of a session", CALL, call(named)),
    ]
}

/// The methods of MCP that lead to something, with what they need and whether they reveal it.
fn methods() -> Vec<(&'static str, Value, Option<&'static str>, bool)> {
    let call = |name: &str, arguments| json!({ "name": name, "arguments": arguments });
    let of_session = |mut params: Value| {
        params["_meta"] = json!({ "sessionId": "eve-1" });
        params
    };
    let prompt = json!({ "type": "ref/prompt", "name": "eve_prompt_1" });
    let template = json!({ "type": "ref/resource", "uri": "card://eve/1/{id}" });
    let meta_call = json!({ "session_id": "eve-1", "tool_name": "eve_tool_1", "arguments": {} });
    vec![
        ("tools/list", json!({}), READ, true),
        ("tools/list", of_session(json!({})), READ, true),
        ("tools/call", call("eve_tool_1", json!({})), CALL, true),
        (
            "tools/call",
            of_session(call("eve_tool_1", json!({}))),
            CALL,
            true,
        ),
        (
            "tools/call",
            call("eve_tool_1", json!({ "session_id": "eve-1" })),
            CALL,
            true,
        ),
        (
            "tools/call",
            call("call_session_tool", meta_call),
            CALL,
            true,
        ),
        (
            "tools/call",
            call("list_session_tools", json!({ "session_id": "eve-1" })),
            CALL,
            true,
        ),
        (
            "tools/call",
            call("list_active_sessions", json!({})),
            CALL,
            false,
        ),
        (
            "tools/call",
            call("get_connection_status", json!({})),
            CALL,
            false,
        ),
        ("resources/list", json!({}), READ, true),
        ("resources/templates/list", json!({}), READ, true),
        (
            "resources/read",
            json!({ "uri": "note://eve/1" }),
            READ,
            true,
        ),
        (
            "resources/read",
            json!({ "uri": "card://eve/1/7" }),
            READ,
            true,
        ),
        (
            "resources/read",
            of_session(json!({ "uri": "note://eve/1" })),
            READ,
            true,
        ),
        (
            "resources/read",
            json!({ "uri": "sessions://list" }),
            READ,
            false,
        ),
        ("prompts/list", json!({}), READ, true),
        ("prompts/get", json!({ "name": "eve_prompt_1" }), READ, true),
        (
            "completion/complete",
            json!({ "ref": prompt, "argument": { "name": "a", "value": "" } }),
            READ,
            true,
        ),
        (
            "completion/complete",
            json!({ "ref": template, "argument": { "name": "id", "value": "" } }),
            READ,
            true,
        ),
    ]
}

fn post(url: &str, message: &Value) -> reqwest::RequestBuilder {
    http_client()
        .post(url)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-web-session", "eve-1")
        .json(message)
}

/// MCP with sessions, in this one.
pub(super) fn in_session(url: &str, session: &str) -> Vec<Route> {
    let mut all = methods();
    all.extend([
        (
            "resources/subscribe",
            json!({ "uri": "note://eve/1" }),
            READ,
            false,
        ),
        (
            "resources/unsubscribe",
            json!({ "uri": "note://eve/1" }),
            READ,
            false,
        ),
        ("logging/setLevel", json!({ "level": "debug" }), READ, false),
        ("ping", json!({}), None, false),
        (
            "notifications/cancelled",
            json!({ "requestId": 1 }),
            None,
            false,
        ),
    ]);
    let route = |(what, params, needs, reveals): (&'static str, Value, _, _)| {
        let message = match what.starts_with("notifications/") {
            true => json!({ "jsonrpc": "2.0", "method": what, "params": params }),
            false => rpc_request(1, what, params),
        };
        Route {
            what,
            needs,
            reveals,
            request: post(url, &message).header("mcp-session-id", session),
        }
    };
    all.into_iter().map(route).collect()
}

/// MCP 2026-07-28, also at `/`.
pub(super) fn stateless(url: &str) -> Vec<Route> {
    let mut all = methods();
    all.push(("server/discover", json!({}), None, false));
    let route = |(what, mut params, needs, reveals): (&'static str, Value, _, _)| {
        let version = "2026-07-28";
        for (key, value) in [
            ("protocolVersion", json!(version)),
            ("clientInfo", json!({ "name": "door-test", "version": "1" })),
            ("clientCapabilities", json!({})),
        ] {
            params["_meta"][format!("io.modelcontextprotocol/{key}")] = value;
        }
        let name = params["name"].as_str().or(params["uri"].as_str());
        let name = name.map(str::to_owned);
        let mut request = post(url, &rpc_request(1, what, params))
            .header("mcp-protocol-version", version)
            .header("mcp-method", what);
        if let Some(name) = name {
            request = request.header("mcp-name", name);
        }
        Route {
            what,
            needs,
            reveals,
            request,
        }
    };
    all.into_iter().map(route).collect()
}

/// The stream of an MCP session, resumed too, and its end.
pub(super) fn of_session(url: &str, session: &str) -> Vec<Route> {
    let get = || {
        http_client()
            .get(url)
            .header("accept", "text/event-stream")
            .header("mcp-session-id", session)
    };
    let delete = http_client().delete(url);
    let route = |what, needs, request| Route {
        what,
        needs,
        reveals: false,
        request,
    };
    vec![
        route("GET", READ, get()),
        route(
            "GET after an event",
            READ,
            get().header("last-event-id", "0"),
        ),
        route(
            "GET after another",
            READ,
            get().header("last-event-id", "0/1"),
        ),
        route("DELETE", None, delete.header("mcp-session-id", session)),
    ]
}

pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) challenge: String,
    pub(super) text: String,
}

impl Route {
    pub(super) async fn with(&self, token: Option<&str>) -> Answer {
        let mut request = self.request.try_clone().unwrap();
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let response = with_deadline(self.what, request.send()).await.unwrap();
        let challenge = response.headers().get("www-authenticate");
        let challenge = challenge.map(|text| text.to_str().unwrap().to_owned());
        Answer {
            status: response.status().as_u16(),
            challenge: challenge.unwrap_or_default(),
            text: with_deadline(self.what, response.text()).await.unwrap(),
        }
    }

    pub(super) async fn refuses(&self, token: Option<&str>, status: u16, code: &str, secret: &str) {
        let what = format!("{} → {code}", self.what);
        let answer = self.with(token).await;
        let body: Value = serde_json::from_str(&answer.text).unwrap_or_default();
        assert_eq!(answer.status, status, "{what}: {}", answer.text);
        assert_eq!(body["error"], code, "{what}");
        assert!(answer.challenge.starts_with("Bearer realm="), "{what}");
        assert!(!answer.text.contains(secret), "{what}: {}", answer.text);
        if let Some(own) = token {
            assert!(!answer.text.contains(own) && !answer.challenge.contains(own));
        }
    }
}
