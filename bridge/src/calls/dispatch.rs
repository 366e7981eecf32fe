//! `tools/call`: to a tool of the bridge itself, or to one of a page.

use std::sync::Arc;

use bridge_protocol::Kind;
use bridge_realm::definition::reserved::is_builtin_tool;
use bridge_realm::realm::{Realm, RouteError, Target};

use super::builtin_tools::{self, LEGACY_LIST_SESSIONS};
use super::call_request::CallRequest;
use super::error::CallError;
use super::outcome::RoundOutcome;
use super::page_tools::{Invocation, call_page_tool};
use super::query_scope;
use crate::hub::Hub;
use crate::results::tool_result::ToolResult;

/// Calls a tool: one of the bridge itself, or one of a page.
pub(crate) async fn call_tool(
    hub: &Arc<Hub>,
    request: CallRequest<'_>,
) -> Result<RoundOutcome<ToolResult>, CallError> {
    if request.caller.call_context.query_id.is_some() {
        // An agent has the tools of its page, and the results that its own calls left.
        return if query_scope::is_get_result_call(hub, &request) {
            builtin_tools::call(hub, request).await
        } else {
            call_page_tool(hub, request, Invocation::Direct).await
        };
    }
    let is_builtin = is_builtin_tool(&request.tool) && request.caller.resume_token.is_none();
    if is_builtin || is_legacy_alias(hub, &request) {
        return Box::pin(builtin_tools::call(hub, request)).await;
    }
    call_page_tool(hub, request, Invocation::Direct).await
}

/// Whether a client means a tool of the bridge by the name that the bridge of mcp-web 0.1 had for it,
/// and no page has a tool of that name.
fn is_legacy_alias(hub: &Hub, request: &CallRequest<'_>) -> bool {
    let is_page_tool = |realm: &Realm| {
        let routed = realm.route(Kind::Tool, &request.tool, &Target::Any);
        !matches!(
            routed,
            Err(RouteError::NoSessions | RouteError::NotFound { .. })
        )
    };
    request.tool == LEGACY_LIST_SESSIONS
        && hub.with_realm(request.caller.realm, is_page_tool) != Some(true)
}
