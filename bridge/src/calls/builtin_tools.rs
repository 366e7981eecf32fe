//! The bridge's own tools. They are always listed, so that a client that never refreshes its first
//! list can still reach every page and every tool.

use std::sync::{Arc, LazyLock};

use bridge_protocol::{BUILTIN_TOOLS, ErrorCode, Kind, SessionId};
use serde_json::{Map, Value, json};

use super::call_request::CallRequest;
use super::delivery_limits::{ToolResultSpec, enforce_limit};
use super::get_result::{GET_RESULT, get_result};
use super::page_wait::{wait_for_any_page, wait_for_session};
use super::round_outcome::RoundOutcome;
use super::tools::{Invocation, call_page_tool};
use crate::budget::WorkOrder;
use crate::hub::Hub;
use bridge_auth::RealmId;
use bridge_compat::lists::LIST_SESSIONS;
use bridge_mcp_results::arguments::BuiltinArguments;
use bridge_mcp_results::built_result::BuiltResult;
use bridge_mcp_results::request_error::RequestError;
use bridge_mcp_results::tool_result::CallToolResult;
use bridge_realm::definition::SharedDefinition;
use bridge_realm::realm::CallFailure;

/// The definitions of the built-in tools, in the order of the list.
pub(crate) static DEFINITIONS: LazyLock<Vec<Map<String, Value>>> =
    LazyLock::new(|| serde_json::from_str(BUILTIN_TOOLS).unwrap_or_default());

/// The built-in tool that calls a tool of a page.
pub(crate) const CALL_SESSION_TOOL: &str = "call_session_tool";

/// Calls a built-in tool.
pub(crate) async fn call(
    hub: &Arc<Hub>,
    mut request: CallRequest<'_>,
) -> Result<RoundOutcome<CallToolResult>, RequestError> {
    let arguments = std::mem::take(&mut request.arguments);
    let realm = request.caller.realm;
    let scan_turn = hub
        .budgets
        .cpu_pool
        .scan_turn(realm, arguments.scan_bytes());
    let scan_turn = match scan_turn.await {
        Ok(scan_turn) => scan_turn,
        Err(error) => return Ok(CallToolResult::from_failure(&error.into()).into()),
    };
    let arguments = arguments.into_builtin();
    drop(scan_turn);
    let arguments = match arguments {
        Ok(arguments) => arguments,
        Err(message) => {
            let failure = CallFailure::new(ErrorCode::InvalidArguments, message);
            return Ok(CallToolResult::from_failure(&failure).into());
        }
    };
    match request.tool.as_str() {
        CALL_SESSION_TOOL => return call_session_tool(hub, request, arguments).await,
        GET_RESULT => {
            let result = get_result(hub, &request.caller, &arguments.members).await;
            return Ok(result.into());
        }
        _ => {
            let until = request.caller.pages_awaited_until;
            match session_argument(&arguments.members).or_else(|| request.caller.session.clone()) {
                Some(session) => wait_for_session(hub, realm, until, &session).await,
                None => wait_for_any_page(hub, realm, until).await,
            }
        }
    }
    let result = match request.tool.as_str() {
        "list_active_sessions" | LIST_SESSIONS => list_active_sessions(hub, &request),
        "list_session_tools" => list_session_tools(hub, &request, &arguments.members).await,
        _ => get_connection_status(hub, &request),
    };
    let caller = &request.caller;
    let spec = ToolResultSpec::builtin(&request.tool);
    Ok(enforce_limit(hub, caller, spec, result).await.into())
}

fn list_active_sessions(hub: &Hub, request: &CallRequest<'_>) -> CallToolResult {
    let sessions = hub
        .with_realm(request.caller.realm, |realm| realm.session_summaries())
        .unwrap_or_default();
    CallToolResult::from_value(Some(json!({ "sessions": sessions })))
}

fn get_connection_status(hub: &Hub, request: &CallRequest<'_>) -> CallToolResult {
    CallToolResult::from_value(Some(connection_status(hub, request.caller.realm)))
}

/// Returns the connection status as JSON: whether pages are connected, how many, and a message.
pub(crate) fn connection_status(hub: &Hub, realm: RealmId) -> Value {
    let pages = hub
        .with_realm(realm, |realm| realm.session_count())
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
    let mut status = json!({
        "connected": pages > 0,
        "pages": pages,
        "message": message,
    });
    if let Some(node) = hub.ownership.node() {
        status["node"] = node.into();
    }
    status
}

async fn list_session_tools(
    hub: &Hub,
    request: &CallRequest<'_>,
    arguments: &Map<String, Value>,
) -> CallToolResult {
    let requested = session_argument(arguments).or_else(|| request.caller.session.clone());
    let is_requested = requested.is_some();
    let found = hub.with_realm(request.caller.realm, |realm| {
        let sessions = realm.session_summaries();
        let session = match (requested, realm.only_session()) {
            (Some(id), _) => id,
            (None, Some(only)) => only.clone(),
            (None, None) => return Err(sessions),
        };
        realm.published_by(Kind::Tool, &session).ok_or(sessions)
    });
    match found.unwrap_or_else(|| Err(Vec::new())) {
        Ok(tools) => tool_list(hub, request.caller.realm, tools).await,
        Err(sessions) if sessions.is_empty() => {
            let status = get_connection_status(hub, request).into_parsed();
            CallToolResult::from(BuiltResult {
                is_error: true,
                ..status
            })
        }
        Err(sessions) => {
            let code = if is_requested {
                ErrorCode::SessionNotFound
            } else {
                ErrorCode::SessionNotSpecified
            };
            let details = Map::from_iter([("available_sessions".to_owned(), json!(sessions))]);
            let message = "set `session_id` to one of available_sessions";
            CallToolResult::error_with_details(code, message, details)
        }
    }
}

/// Returns the list of tools as a result.
async fn tool_list(hub: &Hub, realm: RealmId, tools: Vec<SharedDefinition>) -> CallToolResult {
    let bytes = tools.iter().map(SharedDefinition::bytes).sum();
    let build = move || {
        let tools: Vec<_> = tools.iter().map(SharedDefinition::published).collect();
        CallToolResult::from_value(Some(json!({ "tools": tools })))
    };
    let order = WorkOrder::for_definitions(realm, bytes);
    let built = hub.run_work_unless_small(order, build).await;
    built.unwrap_or_else(|error| CallToolResult::from_failure(&error.into()))
}

async fn call_session_tool(
    hub: &Arc<Hub>,
    mut request: CallRequest<'_>,
    outer: BuiltinArguments,
) -> Result<RoundOutcome<CallToolResult>, RequestError> {
    let tool = outer.members.get("tool_name").and_then(Value::as_str);
    let Some(tool) = tool else {
        return Ok(CallToolResult::error_with_details(
            ErrorCode::ToolNameRequired,
            "`tool_name` must be a string: list_session_tools shows the names",
            Map::new(),
        )
        .into());
    };
    let tool = tool.to_owned();
    let session = session_argument(&outer.members);
    let Ok(arguments) = outer.inner else {
        return Ok(CallToolResult::error_with_details(
            ErrorCode::InvalidArguments,
            "`arguments` must be an object",
            Map::new(),
        )
        .into());
    };
    request.caller.session = session.or(request.caller.session);
    let request = CallRequest {
        tool,
        arguments,
        ..request
    };
    call_page_tool(hub, request, Invocation::ViaBuiltin).await
}

fn session_argument(arguments: &Map<String, Value>) -> Option<SessionId> {
    arguments
        .get("session_id")
        .and_then(Value::as_str)
        .map(SessionId::from)
}

#[cfg(test)]
mod tests {
    use bridge_realm::definition::reserved::is_builtin_tool;

    use super::*;

    #[test]
    fn builtin_tools_are_listed_and_recognized() {
        let names: Vec<_> = DEFINITIONS
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        let expected = [
            "list_active_sessions",
            "list_session_tools",
            "call_session_tool",
            "get_connection_status",
            "get_result",
        ];
        assert_eq!(names, expected);
        assert!(names.iter().all(|name| is_builtin_tool(name)));
        assert!(!is_builtin_tool("echo"));
    }
}
