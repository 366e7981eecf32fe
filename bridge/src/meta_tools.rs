//! The bridge's own tools. Always listed, so that a client which froze its first list can still
//! reach every page and every tool.

use std::sync::{Arc, LazyLock};

use bridge_protocol::SessionId;
use serde_json::{Map, Value, json};

use crate::calls::{self, CallError, CallRequest};
use crate::hub::Hub;
use crate::result::ToolResult;

const SESSION_ID: &str = "A session_id from list_active_sessions";

/// Their definitions, in the order of the list.
pub(crate) static DEFINITIONS: LazyLock<Vec<Map<String, Value>>> = LazyLock::new(|| {
    let read_only = json!({ "readOnlyHint": true, "openWorldHint": false });
    let nothing = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let definitions = [
        json!({
            "name": "list_active_sessions",
            "title": "List open pages",
            "description": "Lists the web pages that are open for this token, with their tools.",
            "inputSchema": nothing,
            "annotations": read_only,
        }),
        json!({
            "name": "list_session_tools",
            "title": "List a page's tools",
            "description": "Lists the tools of one open page with their input schemas. Use it when \
                a page was opened after the tool list was read.",
            "inputSchema": {
                "type": "object",
                "properties": { "session_id": { "type": "string",
                    "description": format!("{SESSION_ID}; not needed when one page is open") } },
                "additionalProperties": false,
            },
            "annotations": read_only,
        }),
        json!({
            "name": "call_session_tool",
            "title": "Call a page's tool",
            "description": "Calls a tool of an open page by name, also one that is missing in the \
                tool list.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "session_id": { "type": "string",
                        "description": format!("{SESSION_ID}; not needed when one page has the tool") },
                    "tool_name": { "type": "string", "description": "Name of the tool" },
                    "arguments": { "type": "object", "description": "Arguments of the tool" },
                },
                "required": ["tool_name"],
                "additionalProperties": false,
            },
            "annotations": { "destructiveHint": true, "openWorldHint": true },
        }),
        json!({
            "name": "get_connection_status",
            "title": "Connection status",
            "description": "Tells whether a web page is connected and what to do if none is.",
            "inputSchema": nothing,
            "annotations": read_only,
        }),
    ];
    definitions
        .into_iter()
        .filter_map(|definition| match definition {
            Value::Object(fields) => Some(fields),
            _ => None,
        })
        .collect()
});

/// Runs one of them.
pub(crate) async fn call(hub: &Arc<Hub>, request: CallRequest) -> Result<ToolResult, CallError> {
    match request.tool.as_str() {
        "list_active_sessions" => Ok(sessions(hub, &request)),
        "list_session_tools" => Ok(session_tools(hub, &request)),
        "call_session_tool" => call_session_tool(hub, request).await,
        _ => Ok(status(hub, &request)),
    }
}

fn sessions(hub: &Hub, request: &CallRequest) -> ToolResult {
    let sessions = hub
        .read(request.realm, |realm| realm.sessions())
        .unwrap_or_default();
    ToolResult::from_value(Some(json!({ "sessions": sessions })))
}

fn status(hub: &Hub, request: &CallRequest) -> ToolResult {
    let pages = hub
        .read(request.realm, |realm| realm.sessions().len())
        .unwrap_or(0);
    let message = match pages {
        0 => {
            "No page is connected for this token: open the app in a browser; its tools are listed \
              as soon as it connects."
                .to_owned()
        }
        1 => "1 page is connected.".to_owned(),
        _ => format!("{pages} pages are connected."),
    };
    ToolResult::from_value(Some(json!({
        "connected": pages > 0,
        "pages": pages,
        "message": message,
    })))
}

fn session_tools(hub: &Hub, request: &CallRequest) -> ToolResult {
    let named = session_argument(request);
    let found = hub.read(request.realm, |realm| {
        let sessions = realm.sessions();
        let session = match (named, &sessions[..]) {
            (Some(id), _) => id,
            (None, [only]) => only.session_id.clone(),
            (None, _) => return Err(sessions),
        };
        realm.tools_of(&session).ok_or(sessions)
    });
    match found.unwrap_or_else(|| Err(Vec::new())) {
        Ok(tools) => {
            let tools: Vec<_> = tools.iter().map(|tool| &tool.published).collect();
            ToolResult::from_value(Some(json!({ "tools": tools })))
        }
        Err(sessions) if sessions.is_empty() => ToolResult {
            is_error: true,
            ..status(hub, request)
        },
        Err(sessions) => {
            let details = Map::from_iter([("available_sessions".to_owned(), json!(sessions))]);
            ToolResult::error_object(
                bridge_protocol::ErrorCode::SessionNotSpecified,
                "set `session_id` to one of available_sessions",
                details,
            )
        }
    }
}

async fn call_session_tool(
    hub: &Arc<Hub>,
    mut request: CallRequest,
) -> Result<ToolResult, CallError> {
    let Some(tool) = request.arguments.get("tool_name").and_then(Value::as_str) else {
        return Ok(ToolResult::error_object(
            bridge_protocol::ErrorCode::ToolNameRequired,
            "`tool_name` must be a string: list_session_tools shows the names",
            Map::new(),
        ));
    };
    let tool = tool.to_owned();
    let session = session_argument(&request);
    let arguments = match request.arguments.shift_remove("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => {
            return Ok(ToolResult::error_object(
                bridge_protocol::ErrorCode::InvalidArguments,
                "`arguments` must be an object",
                Map::new(),
            ));
        }
    };
    let session = session.or(request.session);
    calls::call_page(
        hub,
        CallRequest {
            tool,
            arguments,
            session,
            ..request
        },
    )
    .await
}

fn session_argument(request: &CallRequest) -> Option<SessionId> {
    request
        .arguments
        .get("session_id")
        .and_then(Value::as_str)
        .map(SessionId::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::META_TOOLS;

    #[test]
    fn every_meta_tool_has_a_definition() {
        let names: Vec<_> = DEFINITIONS
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, META_TOOLS);
    }
}
