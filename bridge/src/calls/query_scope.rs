//! Calls that an agent makes for a query: of its own page's tools, and of those it may call.

use bridge_protocol::{ErrorCode, Kind, QueryId};
use serde_json::{Map, json};

use super::CallRequest;
use crate::agent_queries::QueryLifetime;
use crate::calls::get_result::GET_RESULT;
use crate::hub::Hub;
use crate::results::tool_result::ToolResult;
use bridge_auth::{Principal, RealmId};
use bridge_realm::definition::Definition;
use bridge_realm::realm::{CallFailure, Realm, ReportRejected, Target, ToolNotAllowed};

/// Waits until the page of an agent's query is attached, or the query has ended: while the page is
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

pub(super) async fn wait_for_page(
    hub: &Hub,
    realm: RealmId,
    query: &QueryId,
    lifetime: &QueryLifetime,
) {
    loop {
        // Begun before the look at the realm: what happens in between is not missed.
        let attached_or_ended = lifetime.page_attached_or_ended();
        let is_detached = |realm: &Realm| realm.is_query_detached(query);
        if hub.with_realm(realm, is_detached) != Some(true) {
            return;
        }
        attached_or_ended.await;
    }
}

/// Sends the call to the page that asked. Others may go where they want.
pub(super) fn pin_to_asking_page(
    hub: &Hub,
    request: &mut CallRequest<'_>,
) -> Result<(), Box<ToolResult>> {
    let caller = &mut request.caller;
    let Some(query) = &caller.call_context.query_id else {
        return Ok(());
    };
    let pinned = hub.with_realm(caller.realm, |realm| {
        let session = realm.query_session(query).map_err(query_failure_result)?;
        let target = Target::Session(session.clone());
        let name = match realm.route(Kind::Tool, &request.tool, &target) {
            Ok((_, Definition::Tool(tool))) => tool.name().to_owned(),
            _ => request.tool.clone(),
        };
        realm
            .check_tool_allowed(query, &name)
            .map_err(tool_not_allowed)?;
        Ok(session.clone())
    });
    let session = pinned.unwrap_or_else(|| Err(query_failure_result(ReportRejected::NotFound)))?;
    caller.session = Some(session);
    Ok(())
}

/// Whether an agent asks for what a call of its own has left, while its query runs. It may,
/// whatever tools it may call: a result that was cut is its own.
pub(super) fn is_get_result_call(hub: &Hub, request: &CallRequest<'_>) -> bool {
    let caller = &request.caller;
    let Some(query) = &caller.call_context.query_id else {
        return false;
    };
    let runs = |realm: &Realm| realm.query_session(query).is_ok();
    request.tool == GET_RESULT && hub.with_realm(caller.realm, runs) == Some(true)
}

fn query_failure_result(refusal: ReportRejected) -> Box<ToolResult> {
    Box::new(ToolResult::from_failure(&CallFailure::from(refusal)))
}

fn tool_not_allowed(refused: ToolNotAllowed) -> Box<ToolResult> {
    let details = Map::from_iter([
        ("details".to_owned(), json!(refused.message())),
        ("allowed_tools".to_owned(), json!(refused.allowed)),
    ]);
    let message = refused.message();
    let result = ToolResult::error_with_details(ErrorCode::ToolNotAllowed, &message, details);
    Box::new(result)
}

/// The tools that a query may call, as its agent sees them listed.
pub(crate) fn tools_for_query(hub: &Hub, realm: RealmId, query: &QueryId) -> Vec<Definition> {
    let tools = |realm: &Realm| {
        let session = realm.query_session(query).ok()?;
        let tools = realm.published_by(Kind::Tool, session)?.into_iter();
        let allowed = tools.filter(|tool| match tool {
            Definition::Tool(tool) => realm.check_tool_allowed(query, tool.name()).is_ok(),
            _ => false,
        });
        Some(allowed.collect())
    };
    hub.with_realm(realm, tools).flatten().unwrap_or_default()
}
