//! Restricts the calls of the agent of a query to the page that sent the query, and to the tools
//! that the query allows.

use bridge_protocol::{ErrorCode, Kind, QueryId, SessionId};
use serde_json::{Map, json};

use super::CallRequest;
use super::page_wait::wait_until;
use crate::agent_queries::QueryLifetime;
use crate::calls::get_result::GET_RESULT;
use crate::hub::Hub;
use bridge_auth::{Principal, RealmId};
use bridge_mcp_results::tool_result::CallToolResult;
use bridge_realm::definition::SharedDefinition;
use bridge_realm::definition::tool::SharedTool;
use bridge_realm::realm::{
    CallFailure, Realm, ReportRejected, RoutingError, SessionTarget, ToolNotAllowed,
};

/// Waits until the page of an agent's query is attached, or the query has ended. While the page is
/// reloaded, its tools are not registered.
pub(crate) async fn wait_for_query_page(
    hub: &Hub,
    principal: &Principal,
    lifetime: &QueryLifetime,
) {
    if let Some(query) = &principal.query {
        wait_for_page(hub, principal.realm, query, lifetime).await;
    }
}

/// Waits until the page of a query is attached, or the query has ended.
pub(super) async fn wait_for_page(
    hub: &Hub,
    realm: RealmId,
    query: &QueryId,
    lifetime: &QueryLifetime,
) {
    let is_detached = |realm: &Realm| realm.is_query_detached(query);
    let is_attached = || hub.with_realm(realm, is_detached) != Some(true);
    wait_until(|| Some(lifetime.page_attached_or_ended()), is_attached).await;
}

/// Routes the call of an agent to the page that sent the query, unless it names a page itself. Calls
/// of other clients are not changed.
pub(super) fn pin_to_asking_page(
    hub: &Hub,
    request: &mut CallRequest<'_>,
) -> Result<(), Box<CallToolResult>> {
    let caller = &mut request.caller;
    let Some(query) = &caller.call_context.query_id else {
        return Ok(());
    };
    let pinned = hub.with_realm(caller.realm, |realm| {
        let session = realm.query_session(query).map_err(query_failure_result)?;
        let target = SessionTarget::Session(session.clone());
        let name = match realm.route(Kind::Tool, &request.tool, &target) {
            Ok((_, SharedDefinition::Tool(tool))) => tool.name().to_owned(),
            _ => request.tool.clone(),
        };
        realm
            .check_tool_allowed(query, &name)
            .map_err(tool_not_allowed)?;
        Ok(session.clone())
    });
    let session = pinned.unwrap_or_else(|| Err(query_failure_result(ReportRejected::NotFound)))?;
    caller.session.get_or_insert(session);
    Ok(())
}

/// Refuses the call of an agent that was routed to another page than its own. This is checked before
/// the arguments are: the error of arguments contains the schema.
pub(super) fn check_destination(
    hub: &Hub,
    request: &CallRequest<'_>,
    session: &SessionId,
    tool: &SharedTool,
) -> Result<(), CallFailure> {
    let caller = &request.caller;
    let Some(query) = &caller.call_context.query_id else {
        return Ok(());
    };
    let check = |realm: &Realm| realm.check_query_call(query, session, tool.name());
    let checked = hub.with_realm(caller.realm, check);
    checked.unwrap_or_else(|| Err(ReportRejected::NotFound.into()))
}

/// Whether the agent of an active query calls `get_result`. It may do so whatever tools the query
/// allows, because the results of its calls belong to it.
pub(super) fn is_get_result_call(hub: &Hub, request: &CallRequest<'_>) -> bool {
    let caller = &request.caller;
    let Some(query) = &caller.call_context.query_id else {
        return false;
    };
    let is_active = |realm: &Realm| realm.query_session(query).is_ok();
    request.tool == GET_RESULT && hub.with_realm(caller.realm, is_active) == Some(true)
}

fn query_failure_result(rejection: ReportRejected) -> Box<CallToolResult> {
    Box::new(CallToolResult::from_failure(&CallFailure::from(rejection)))
}

fn tool_not_allowed(error: ToolNotAllowed) -> Box<CallToolResult> {
    let details = Map::from_iter([
        ("details".to_owned(), json!(error.message())),
        ("allowed_tools".to_owned(), json!(error.allowed)),
    ]);
    let message = error.message();
    let result = CallToolResult::error_with_details(ErrorCode::ToolNotAllowed, &message, details);
    Box::new(result)
}

/// Leaves out of an error for the agent of a query what the query may not see: other pages, and
/// tools that it may not call. Errors for other clients are not changed.
pub(super) fn restrict_routing_error(
    hub: &Hub,
    request: &CallRequest<'_>,
    error: RoutingError,
) -> RoutingError {
    let realm = request.caller.realm;
    let Some(query) = &request.caller.call_context.query_id else {
        return error;
    };
    let own_page = || {
        let summary = |realm: &Realm| realm.query_session_summary(query);
        let summary = hub.with_realm(realm, summary).flatten();
        summary.into_iter().collect()
    };
    match error {
        RoutingError::NotFound { name, .. } => {
            let tools = tools_for_query(hub, realm, query);
            let available = tools.iter().map(|tool| tool.published_name().to_owned());
            RoutingError::NotFound {
                name,
                available: available.collect(),
            }
        }
        RoutingError::SessionNotFound { session, .. } => RoutingError::SessionNotFound {
            session,
            available: own_page(),
        },
        RoutingError::Ambiguous { name, .. } => RoutingError::Ambiguous {
            name,
            available: own_page(),
        },
        other @ (RoutingError::NoSessions | RoutingError::AppNotOpen { .. }) => other,
    }
}

/// Returns the tools that a query may call, as they are listed to its agent.
pub(crate) fn tools_for_query(hub: &Hub, realm: RealmId, query: &QueryId) -> Vec<SharedDefinition> {
    let tools = |realm: &Realm| {
        let session = realm.query_session(query).ok()?;
        let tools = realm.published_by(Kind::Tool, session)?.into_iter();
        let allowed = tools.filter(|tool| match tool {
            SharedDefinition::Tool(tool) => realm.check_tool_allowed(query, tool.name()).is_ok(),
            _ => false,
        });
        Some(allowed.collect())
    };
    hub.with_realm(realm, tools).flatten().unwrap_or_default()
}
