//! The answers to the client while no bridge is online: the built-in tools and resources of the
//! bridge, and the reason why other requests fail.

use bridge_protocol::{BUILTIN_RESOURCES, SESSIONS_URI, STATUS_URI};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::message::{self, JsonRpcMessage, JsonRpcRequest};
use crate::protocol_version::{
    SESSION_VERSIONS, STATELESS_VERSION, stateless_version, supported_versions,
};

/// Answers a request without a bridge. `explanation` is the reason why no bridge is online.
///
/// It must not be called for a `subscriptions/listen`, which stays open and gets an
/// [`acknowledgement`](crate::change_notifications::acknowledgement) instead.
pub(crate) fn respond(request: &JsonRpcRequest, explanation: &str) -> JsonRpcMessage {
    if let Some(error) = unsupported_version(request) {
        return error;
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
    message::success_response(&request.id, &with_stateless_fields(result, request))
}

/// Answers a request with an error. For a call it is a result with `isError`, because clients show
/// results to the model.
pub(crate) fn failed_response(request: &JsonRpcRequest, explanation: &str) -> JsonRpcMessage {
    if &*request.method != "tools/call" {
        let code = message::INTERNAL_ERROR;
        return message::error_response(Some(&request.id), code, explanation, None);
    }
    let text = json!({ "type": "text", "text": explanation });
    let result = json!({ "content": [text], "isError": true });
    message::success_response(&request.id, &with_stateless_fields(result, request))
}

/// Adds the fields that 2026-07-28 requires in every result: `resultType` and the name of the
/// server. Strict clients of older versions reject `resultType`, so they do not get them.
fn with_stateless_fields(mut result: Value, request: &JsonRpcRequest) -> Value {
    if stateless_version(request).is_some() {
        result["resultType"] = json!("complete");
        result["_meta"] = json!({ "io.modelcontextprotocol/serverInfo": implementation() });
    }
    result
}

/// Adds the fields about caching that 2026-07-28 requires in some results. The result must not be
/// cached, because a bridge may be online at any time.
fn with_cache_fields(mut result: Value, request: &JsonRpcRequest) -> Value {
    if stateless_version(request).is_some() {
        result["ttlMs"] = json!(0);
        result["cacheScope"] = json!("private");
    }
    result
}

fn unsupported_version(request: &JsonRpcRequest) -> Option<JsonRpcMessage> {
    let requested = stateless_version(request).filter(|version| version != STATELESS_VERSION)?;
    let data = json!({ "supported": supported_versions(), "requested": requested });
    let text = "unsupported protocol version";
    Some(message::error_response(
        Some(&request.id),
        message::UNSUPPORTED_VERSION,
        text,
        Some(data),
    ))
}

/// Returns the capabilities that the bridge declares, whether or not a page is connected to it.
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

fn initialize_result(request: &JsonRpcRequest, explanation: &str) -> Value {
    #[derive(Deserialize)]
    struct InitializeParams {
        #[serde(rename = "protocolVersion")]
        version: String,
    }
    let requested = request
        .params()
        .map(|params: InitializeParams| params.version);
    let supported = requested.filter(|version| SESSION_VERSIONS.contains(&version.as_str()));
    let [.., latest] = SESSION_VERSIONS;
    json!({
        "protocolVersion": supported.as_deref().unwrap_or(latest),
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

/// Returns the built-in tools of the bridge, with its own definitions. A client that never updates
/// its first list can call the tools of all pages through them later.
fn builtin_tools() -> Value {
    serde_json::from_str(bridge_protocol::BUILTIN_TOOLS).unwrap_or_default()
}

/// Returns the built-in resources of the bridge, with its own definitions.
fn builtin_resources() -> Value {
    serde_json::from_str(BUILTIN_RESOURCES).unwrap_or_default()
}

/// Returns the contents of a built-in resource of the bridge, which state that no page is
/// connected, and why. Returns `None` for any other resource.
fn builtin_contents(request: &JsonRpcRequest, explanation: &str) -> Option<Value> {
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
