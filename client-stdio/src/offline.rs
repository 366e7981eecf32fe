//! What the client hears when no bridge answers: the bridge's own tools and resources, and why a
//! call failed.

use bridge_protocol::{OWN_RESOURCES, SESSIONS_URI, STATUS_URI};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::message::{self, Id, Message, Request};
use crate::opening::{WITH_INITIALIZE, stateless_version};
use crate::standing::Standing;

/// The stateless version that is spoken here; older ones are those that begin with `initialize`.
const STATELESS: &str = "2026-07-28";

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

const UNSUPPORTED_VERSION: i64 = -32022;

/// Answers a request without a bridge. `explanation` says why there is none.
///
/// Must not be called for `subscriptions/listen`, which stays open: see [`acknowledgement`].
pub(crate) fn answer(request: &Request, explanation: &str) -> Message {
    if let Some(unknown) = unknown_version(request) {
        return unknown;
    }
    let result = match &*request.method {
        "initialize" => initialize_result(request, explanation),
        "server/discover" => cacheable(discover_result(explanation), request),
        "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => json!({}),
        "tools/list" => cacheable(json!({ "tools": meta_tools() }), request),
        "prompts/list" => cacheable(json!({ "prompts": [] }), request),
        "resources/list" => cacheable(json!({ "resources": own_resources() }), request),
        "resources/templates/list" => cacheable(json!({ "resourceTemplates": [] }), request),
        "resources/read" => match own_contents(request, explanation) {
            Some(contents) => cacheable(contents, request),
            None => return failure(request, explanation),
        },
        "completion/complete" => json!({ "completion": { "values": [], "hasMore": false } }),
        _ => return failure(request, explanation),
    };
    message::response(&request.id, &for_era(result, request))
}

/// Ends a request with an error: a tool result for calls, so that models can read it.
pub(crate) fn failure(request: &Request, explanation: &str) -> Message {
    if &*request.method != "tools/call" {
        let code = message::INTERNAL_ERROR;
        return message::error(Some(&request.id), code, explanation, None);
    }
    let text = json!({ "type": "text", "text": explanation });
    let result = json!({ "content": [text], "isError": true });
    message::response(&request.id, &for_era(result, request))
}

/// What a `subscriptions/listen` asks for.
#[derive(Deserialize)]
struct Listen {
    notifications: Map<String, Value>,
}

/// Tells the client that its listen is open: what it asked for will reach it.
pub(crate) fn acknowledgement(listen: &Request) -> Option<Message> {
    let Listen { notifications } = listen.params()?;
    let params = json!({ "notifications": notifications });
    let method = "notifications/subscriptions/acknowledged";
    Some(on_subscription(method, params, &listen.id))
}

/// Every list may have changed and, at a new bridge, every resource that is followed: for clients
/// that opened with `initialize`.
pub(crate) fn changes(standing: &Standing, online: bool) -> Vec<Message> {
    let lists = ["tools", "prompts", "resources"].map(list_changed);
    let lists = lists
        .iter()
        .map(|method| message::notification(method, &json!({})));
    let updated = standing.resources().filter(|_| online).map(|uri| {
        message::notification("notifications/resources/updated", &json!({ "uri": uri }))
    });
    lists.chain(updated).collect()
}

/// The same on the stream of a listen: what it asked for.
pub(crate) fn changes_on(listen: &Request, online: bool) -> Vec<Message> {
    let Some(Listen { notifications }) = listen.params() else {
        return Vec::new();
    };
    let lists = ["tools", "prompts", "resources"];
    let asked = lists.iter().filter(|list| {
        notifications.get(&format!("{list}ListChanged")) == Some(&Value::Bool(true))
    });
    let changed = asked.map(|list| on_subscription(&list_changed(list), json!({}), &listen.id));
    let resources = notifications.get("resourceSubscriptions");
    let resources = resources.and_then(Value::as_array).into_iter().flatten();
    let updated = resources.filter(|_| online).map(|uri| {
        let params = json!({ "uri": uri });
        on_subscription("notifications/resources/updated", params, &listen.id)
    });
    changed.chain(updated).collect()
}

fn list_changed(list: &str) -> String {
    format!("notifications/{list}/list_changed")
}

fn on_subscription(method: &str, mut params: Value, id: &Id) -> Message {
    let id: Value = serde_json::from_str(&id.to_string()).unwrap_or_default();
    params["_meta"] = json!({ SUBSCRIPTION: id });
    message::notification(method, &params)
}

/// 2026-07-28 wants `resultType` and to know who answers; strict older clients refuse the former.
fn for_era(mut result: Value, request: &Request) -> Value {
    if stateless_version(request).is_some() {
        result["resultType"] = json!("complete");
        result["_meta"] = json!({ "io.modelcontextprotocol/serverInfo": implementation() });
    }
    result
}

/// 2026-07-28 wants to know how long an answer holds: this one until a bridge is there.
fn cacheable(mut result: Value, request: &Request) -> Value {
    if stateless_version(request).is_some() {
        result["ttlMs"] = json!(0);
        result["cacheScope"] = json!("private");
    }
    result
}

fn unknown_version(request: &Request) -> Option<Message> {
    let requested = stateless_version(request).filter(|version| version != STATELESS)?;
    let data = json!({ "supported": supported_versions(), "requested": requested });
    let text = "unsupported protocol version";
    Some(message::error(
        Some(&request.id),
        UNSUPPORTED_VERSION,
        text,
        Some(data),
    ))
}

fn supported_versions() -> Vec<&'static str> {
    WITH_INITIALIZE.into_iter().chain([STATELESS]).collect()
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
    struct Initialize {
        #[serde(rename = "protocolVersion")]
        version: String,
    }
    let requested = request.params().map(|params: Initialize| params.version);
    let known = requested.filter(|version| WITH_INITIALIZE.contains(&version.as_str()));
    let [.., latest] = WITH_INITIALIZE;
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
fn meta_tools() -> Value {
    serde_json::from_str(bridge_protocol::META_TOOLS).unwrap_or_default()
}

/// The resources of the bridge itself, as it describes them.
fn own_resources() -> Value {
    serde_json::from_str(OWN_RESOURCES).unwrap_or_default()
}

/// What stands in the bridge's own resource that is asked for: no page, and why.
fn own_contents(request: &Request, explanation: &str) -> Option<Value> {
    #[derive(Deserialize)]
    struct Read {
        uri: String,
    }
    let Read { uri } = request.params()?;
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
    fn the_meta_tools_can_be_read() {
        let tools = meta_tools();
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
