//! What the client hears when no bridge answers: the bridge's own tools and resources, and why a
//! call failed.

use bridge_protocol::{BUILTIN_RESOURCES, SESSIONS_URI, STATUS_URI};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::handshake::{SESSION_VERSIONS, stateless_version};
use crate::message::{self, Message, Request, RequestId};
use crate::session_state::SessionState;

/// The stateless version that is spoken here; older ones are those that begin with `initialize`.
const STATELESS_VERSION: &str = "2026-07-28";

const SUBSCRIPTION_ID_KEY: &str = "io.modelcontextprotocol/subscriptionId";

const UNSUPPORTED_VERSION: i64 = -32022;

/// Answers a request without a bridge. `explanation` says why there is none.
///
/// Must not be called for `subscriptions/listen`, which stays open: see [`acknowledgement`].
pub(crate) fn respond(request: &Request, explanation: &str) -> Message {
    if let Some(unknown) = unsupported_version(request) {
        return unknown;
    }
    let result = match &*request.method {
        "initialize" => initialize_result(request, explanation),
        "server/discover" => with_cache_fields(discover_result(explanation), request),
        "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => json!({}),
        "tools/list" => with_cache_fields(json!({ "tools": builtin_tools() }), request),
        "prompts/list" => with_cache_fields(json!({ "prompts": [] }), request),
        "resources/list" => with_cache_fields(json!({ "resources": builtin_resources() }), request),
        "resources/templates/list" => {
            with_cache_fields(json!({ "resourceTemplates": [] }), request)
        }
        "resources/read" => match builtin_contents(request, explanation) {
            Some(contents) => with_cache_fields(contents, request),
            None => return failed_response(request, explanation),
        },
        "completion/complete" => json!({ "completion": { "values": [], "hasMore": false } }),
        _ => return failed_response(request, explanation),
    };
    message::success_response(&request.id, &with_era_fields(result, request))
}

/// Ends a request with an error: a tool result for calls, so that models can read it.
pub(crate) fn failed_response(request: &Request, explanation: &str) -> Message {
    if &*request.method != "tools/call" {
        let code = message::INTERNAL_ERROR;
        return message::error_response(Some(&request.id), code, explanation, None);
    }
    let text = json!({ "type": "text", "text": explanation });
    let result = json!({ "content": [text], "isError": true });
    message::success_response(&request.id, &with_era_fields(result, request))
}

/// What a `subscriptions/listen` asks for.
#[derive(Deserialize)]
struct ListenParams {
    notifications: Map<String, Value>,
}

/// Tells the client that its listen is open: what it asked for will reach it.
pub(crate) fn acknowledgement(listen: &Request) -> Option<Message> {
    let ListenParams { notifications } = listen.params()?;
    let params = json!({ "notifications": notifications });
    let method = "notifications/subscriptions/acknowledged";
    Some(subscription_notification(method, params, &listen.id))
}

/// Every list may have changed and, at a new bridge, every resource that is followed: for clients
/// that opened with `initialize`.
pub(crate) fn change_notifications(standing: &SessionState, online: bool) -> Vec<Message> {
    let lists = ["tools", "prompts", "resources"].map(list_changed_method);
    let lists = lists
        .iter()
        .map(|method| message::notification(method, &json!({})));
    let updated = standing.resources().filter(|_| online).map(|uri| {
        message::notification("notifications/resources/updated", &json!({ "uri": uri }))
    });
    lists.chain(updated).collect()
}

/// The same on the stream of a listen: what it asked for.
pub(crate) fn subscription_change_notifications(listen: &Request, online: bool) -> Vec<Message> {
    let Some(ListenParams { notifications }) = listen.params() else {
        return Vec::new();
    };
    let lists = ["tools", "prompts", "resources"];
    let asked = lists.iter().filter(|list| {
        notifications.get(&format!("{list}ListChanged")) == Some(&Value::Bool(true))
    });
    let changed = asked
        .map(|list| subscription_notification(&list_changed_method(list), json!({}), &listen.id));
    let resources = notifications.get("resourceSubscriptions");
    let resources = resources.and_then(Value::as_array).into_iter().flatten();
    let updated = resources.filter(|_| online).map(|uri| {
        let params = json!({ "uri": uri });
        subscription_notification("notifications/resources/updated", params, &listen.id)
    });
    changed.chain(updated).collect()
}

fn list_changed_method(list: &str) -> String {
    format!("notifications/{list}/list_changed")
}

fn subscription_notification(method: &str, mut params: Value, id: &RequestId) -> Message {
    let id: Value = serde_json::from_str(&id.to_string()).unwrap_or_default();
    params["_meta"] = json!({ SUBSCRIPTION_ID_KEY: id });
    message::notification(method, &params)
}

/// 2026-07-28 wants `resultType` and to know who answers; strict older clients refuse the former.
fn with_era_fields(mut result: Value, request: &Request) -> Value {
    if stateless_version(request).is_some() {
        result["resultType"] = json!("complete");
        result["_meta"] = json!({ "io.modelcontextprotocol/serverInfo": implementation() });
    }
    result
}

/// 2026-07-28 wants to know how long an answer holds: this one until a bridge is there.
fn with_cache_fields(mut result: Value, request: &Request) -> Value {
    if stateless_version(request).is_some() {
        result["ttlMs"] = json!(0);
        result["cacheScope"] = json!("private");
    }
    result
}

fn unsupported_version(request: &Request) -> Option<Message> {
    let requested = stateless_version(request).filter(|version| version != STATELESS_VERSION)?;
    let data = json!({ "supported": supported_versions(), "requested": requested });
    let text = "unsupported protocol version";
    Some(message::error_response(
        Some(&request.id),
        UNSUPPORTED_VERSION,
        text,
        Some(data),
    ))
}

fn supported_versions() -> Vec<&'static str> {
    SESSION_VERSIONS
        .into_iter()
        .chain([STATELESS_VERSION])
        .collect()
}

/// What the bridge declares, whether or not a page is there.
fn capabilities() -> Value {
    json!({
        "completions": {},
        "extensions": { "io.modelcontextprotocol/ui": {} },
        "logging": {},
        "prompts": { "listChanged": true },
        "resources": { "subscribe": true, "listChanged": true },
        "tools": { "listChanged": true },
    })
}

fn implementation() -> Value {
    json!({ "name": "mcp-web-stdio", "title": "MCP-Web", "version": env!("CARGO_PKG_VERSION") })
}

fn initialize_result(request: &Request, explanation: &str) -> Value {
    #[derive(Deserialize)]
    struct InitializeParams {
        #[serde(rename = "protocolVersion")]
        version: String,
    }
    let requested = request
        .params()
        .map(|params: InitializeParams| params.version);
    let known = requested.filter(|version| SESSION_VERSIONS.contains(&version.as_str()));
    let [.., latest] = SESSION_VERSIONS;
    json!({
        "protocolVersion": known.as_deref().unwrap_or(latest),
        "capabilities": capabilities(),
        "serverInfo": implementation(),
        "instructions": instructions(explanation),
    })
}

fn discover_result(explanation: &str) -> Value {
    json!({
        "supportedVersions": supported_versions(),
        "capabilities": capabilities(),
        "serverInfo": implementation(),
        "instructions": instructions(explanation),
    })
}

fn instructions(explanation: &str) -> String {
    format!("Tools of the web page that the user has open. Not available yet: {explanation}.")
}

/// The tools of the bridge itself, word for word. Clients that freeze their first list reach every
/// page's tools through them later.
fn builtin_tools() -> Value {
    serde_json::from_str(bridge_protocol::BUILTIN_TOOLS).unwrap_or_default()
}

/// The resources of the bridge itself, as it describes them.
fn builtin_resources() -> Value {
    serde_json::from_str(BUILTIN_RESOURCES).unwrap_or_default()
}

/// What stands in the bridge's own resource that is asked for: no page, and why.
fn builtin_contents(request: &Request, explanation: &str) -> Option<Value> {
    #[derive(Deserialize)]
    struct ReadParams {
        uri: String,
    }
    let ReadParams { uri } = request.params()?;
    let text = match uri.as_str() {
        SESSIONS_URI => json!([]),
        STATUS_URI => json!({ "connected": false, "message": explanation }),
        _ => return None,
    };
    let contents = json!({ "uri": uri, "mimeType": "application/json", "text": text.to_string() });
    Some(json!({ "contents": [contents] }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_builtin_tools_are_valid_json() {
        let tools = builtin_tools();
        let names: Vec<_> = tools
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| &tool["name"])
            .collect();
        let expected = [
            "list_active_sessions",
            "list_session_tools",
            "call_session_tool",
            "get_connection_status",
            "get_result",
        ];
        assert_eq!(names, expected);
    }
}
