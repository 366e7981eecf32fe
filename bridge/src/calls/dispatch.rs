//! The MCP method `tools/call`, for a tool of the bridge itself or of a page.

use std::sync::Arc;

use bridge_compat::lists::LIST_SESSIONS;
use bridge_protocol::Kind;
use bridge_realm::definition::reserved::is_builtin_tool;
use bridge_realm::realm::{Realm, RoutingError, SessionTarget};

use super::builtin_tools;
use super::call_record::{CallRecord, Recorded};
use super::call_request::CallRequest;
use super::page_wait::wait_for_any_page;
use super::query_scope;
use super::round_outcome::RoundOutcome;
use super::tools::{Invocation, call_page_tool};
use crate::counters::{CallKind, CountedEnd};
use crate::hub::Hub;
use bridge_mcp_results::request_error::RequestError;
use bridge_mcp_results::tool_result::CallToolResult;

/// Calls a tool of the bridge itself or of a page.
pub(crate) async fn call_tool(
    hub: &Arc<Hub>,
    mut request: CallRequest<'_>,
) -> Recorded<Result<RoundOutcome<CallToolResult>, RequestError>> {
    let CallRequest {
        caller,
        tool,
        arguments,
    } = &mut request;
    let record = CallRecord::begin(hub, CallKind::Tool, caller, tool, || {
        Some(arguments.get().to_owned())
    });
    let outcome = dispatch(hub, request).await;
    record.of(outcome, CountedEnd::from_tool_round)
}

/// Boxes the futures of both kinds of calls, so that the callers do not move their state.
async fn dispatch(
    hub: &Arc<Hub>,
    request: CallRequest<'_>,
) -> Result<RoundOutcome<CallToolResult>, RequestError> {
    let caller = &request.caller;
    if request.tool == LIST_SESSIONS {
        // It may be a tool of a page that is not back yet.
        wait_for_any_page(hub, caller.realm, caller.pages_awaited_until).await;
    }
    if is_builtin_call(hub, &request) {
        Box::pin(builtin_tools::call(hub, request)).await
    } else {
        Box::pin(call_page_tool(hub, request, Invocation::Direct)).await
    }
}

/// Whether a request calls a tool of the bridge itself.
fn is_builtin_call(hub: &Hub, request: &CallRequest<'_>) -> bool {
    let caller = &request.caller;
    if caller.call_context.query_id.is_some() {
        // An agent may use the tools of its page, and read the results of calls that it made.
        return query_scope::is_get_result_call(hub, request);
    }
    let is_builtin = is_builtin_tool(&request.tool) && caller.resume_token.is_none();
    is_builtin || is_legacy_alias(hub, request)
}

/// Whether a request names a tool of the bridge as the bridge of mcp-web 0.1 did, and no page has a
/// tool of that name.
fn is_legacy_alias(hub: &Hub, request: &CallRequest<'_>) -> bool {
    let is_page_tool = |realm: &Realm| {
        let routed = realm.route(Kind::Tool, &request.tool, &SessionTarget::Any);
        !matches!(
            routed,
            Err(RoutingError::NoSessions | RoutingError::NotFound { .. })
        )
    };
    request.tool == LIST_SESSIONS
        && hub.with_realm(request.caller.realm, is_page_tool) != Some(true)
}
