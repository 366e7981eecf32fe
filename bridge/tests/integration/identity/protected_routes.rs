//! All routes to data of the user Eve.

use serde_json::{Value, json};

use crate::kit::*;

/// A request that needs a token of Eve.
pub(super) struct Route {
    pub(super) name: &'static str,
    pub(super) required_scope: Option<&'static str>,
    /// Whether the response contains the secret of Eve.
    pub(super) contains_secret: bool,
    request: reqwest::RequestBuilder,
}

const READ: Option<&str> = Some("tools:read");
const CALL: Option<&str> = Some("tools:call");

/// The REST routes.
pub(super) fn rest(url: &str) -> Vec<Route> {
    let call = |body: Value| http_client().post(format!("{url}/tool-call")).json(&body);
    let route = |name, required_scope, request| Route {
        name,
        required_scope,
        contains_secret: true,
        request,
    };
    let named = json!({ "toolName": "eve_tool_1", "toolInput": {}, "sessionId": "eve-1" });
    vec![
        Route {
            contains_secret: false,
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

/// MCP methods with their parameters, the scope that they need, and whether the response contains
/// the secret.
fn methods() -> Vec<(&'static str, Value, Option<&'static str>, bool)> {
    let call = |name: &str, arguments| json!({ "name": name, "arguments": arguments });
    let in_session = |params| with_members(params, json!({ "_meta": { "sessionId": "eve-1" } }));
    let prompt = json!({ "type": "ref/prompt", "name": "eve_prompt_1" });
    let template = json!({ "type": "ref/resource", "uri": "card://eve/1/{id}" });
    let builtin_call = json!({ "session_id": "eve-1", "tool_name": "eve_tool_1", "arguments": {} });
    vec![
        ("tools/list", json!({}), READ, true),
        ("tools/list", in_session(json!({})), READ, true),
        ("tools/call", call("eve_tool_1", json!({})), CALL, true),
        (
            "tools/call",
            in_session(call("eve_tool_1", json!({}))),
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
            call("call_session_tool", builtin_call),
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
            in_session(json!({ "uri": "note://eve/1" })),
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

/// The methods of MCP in this session.
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
    let route = |(name, params, required_scope, contains_secret): (&'static str, Value, _, _)| {
        let message = if name.starts_with("notifications/") {
            json!({ "jsonrpc": "2.0", "method": name, "params": params })
        } else {
            rpc_request(1, name, params)
        };
        Route {
            name,
            required_scope,
            contains_secret,
            request: post(url, &message).header("mcp-session-id", session),
        }
    };
    all.into_iter().map(route).collect()
}

/// The methods of MCP 2026-07-28.
pub(super) fn stateless(url: &str) -> Vec<Route> {
    let mut all = methods();
    all.push(("server/discover", json!({}), None, false));
    let route = |(name, params, required_scope, contains_secret): (&'static str, Value, _, _)| {
        let params = with_client_meta(params, CLIENT_NAME, &json!({}));
        let headers = stateless_headers(name, &params);
        let mut request = post(url, &rpc_request(1, name, params));
        for (name, value) in headers {
            request = request.header(name, value);
        }
        Route {
            name,
            required_scope,
            contains_secret,
            request,
        }
    };
    all.into_iter().map(route).collect()
}

/// `GET` and `DELETE` of an MCP session.
pub(super) fn session_routes(url: &str, session: &str) -> Vec<Route> {
    let get = || {
        http_client()
            .get(url)
            .header("accept", "text/event-stream")
            .header("mcp-session-id", session)
    };
    let delete = http_client().delete(url);
    let route = |name, required_scope, request| Route {
        name,
        required_scope,
        contains_secret: false,
        request,
    };
    vec![
        route("GET", READ, get()),
        route(
            "GET after event 0",
            READ,
            get().header("last-event-id", "0"),
        ),
        route(
            "GET after event 0/1",
            READ,
            get().header("last-event-id", "0/1"),
        ),
        route("DELETE", None, delete.header("mcp-session-id", session)),
    ]
}

/// The response to a request on a route.
pub(super) struct RouteResponse {
    pub(super) status: u16,
    pub(super) challenge: String,
    pub(super) text: String,
}

impl Route {
    pub(super) async fn send(&self, token: Option<&str>) -> RouteResponse {
        let mut request = self.request.try_clone().unwrap();
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let response = with_deadline(self.name, request.send()).await.unwrap();
        let challenge = response.headers().get("www-authenticate");
        let challenge = challenge.map(|text| text.to_str().unwrap().to_owned());
        RouteResponse {
            status: response.status().as_u16(),
            challenge: challenge.unwrap_or_default(),
            text: with_deadline(self.name, response.text()).await.unwrap(),
        }
    }

    /// Checks that with this token the response is an error that contains neither the secret nor
    /// the token.
    pub(super) async fn assert_rejects(
        &self,
        token: Option<&str>,
        status: u16,
        code: &str,
        secret: &str,
    ) {
        let case = format!("{} → {code}", self.name);
        let response = self.send(token).await;
        let body: Value = serde_json::from_str(&response.text).unwrap_or_default();
        assert_eq!(response.status, status, "{case}: {}", response.text);
        assert_eq!(body["error"], code, "{case}");
        assert!(response.challenge.starts_with("Bearer realm="), "{case}");
        assert!(!response.text.contains(secret), "{case}: {}", response.text);
        if let Some(token) = token {
            assert!(!response.text.contains(token) && !response.challenge.contains(token));
        }
    }
}
