//! Calls that an agent makes for a query: of its own page's tools, and of those it may call.

use bridge_protocol::{ErrorCode, Kind, QueryId};
use serde_json::{Map, json};

use super::CallRequest;
use crate::auth::{Principal, RealmId};
use crate::definition::Definition;
use crate::hub::Hub;
use crate::meta_tools;
use crate::realm::{Failure, QueryRefusal, Realm, Target, ToolNotAllowed};
use crate::result::ToolResult;

/// Comes back when the page of an agent's query is there, or the query is over: while it is loaded
/// anew its tools are not there.
pub(crate) async fn page_of_query(hub: &Hub, principal: &Principal) {
    if let Some(query) = &principal.query {
        page_is_there(hub, principal.realm, query).await;
    }
}

pub(super) async fn page_is_there(hub: &Hub, realm: RealmId, query: &QueryId) {
    let Some(life) = hub.queries.life_of(query) else {
        return;
    };
    loop {
        // What happens from here on is heard.
        let page_or_end = life.page_or_end();
        let awaits = |realm: &Realm| realm.query_awaits_page(query);
        if hub.read(realm, awaits) != Some(true) {
            return;
        }
        page_or_end.await;
    }
}

/// Sends the call to the page that asked. Others may go where they want.
pub(super) fn aim(hub: &Hub, request: &mut CallRequest<'_>) -> Result<(), Box<ToolResult>> {
    let caller = &mut request.caller;
    let Some(query) = &caller.context.query_id else {
        return Ok(());
    };
    let aimed = hub.read(caller.realm, |realm| {
        let session = realm.session_of_query(query).map_err(refused)?;
        let target = Target::Session(session.clone());
        let name = match realm.route(Kind::Tool, &request.tool, &target) {
            Ok((_, Definition::Tool(tool))) => tool.name().to_owned(),
            _ => request.tool.clone(),
        };
        realm.query_allows(query, &name).map_err(not_allowed)?;
        Ok(session.clone())
    });
    let session = aimed.unwrap_or_else(|| Err(refused(QueryRefusal::NotFound)))?;
    caller.session = Some(session);
    Ok(())
}

/// Whether an agent asks for what a call of its own has left, while its query runs. It may,
/// whatever tools it may call: a result that was cut is its own.
pub(super) fn reads_a_result(hub: &Hub, request: &CallRequest<'_>) -> bool {
    let caller = &request.caller;
    let Some(query) = &caller.context.query_id else {
        return false;
    };
    let runs = |realm: &Realm| realm.session_of_query(query).is_ok();
    request.tool == meta_tools::GET_RESULT && hub.read(caller.realm, runs) == Some(true)
}

fn refused(refusal: QueryRefusal) -> Box<ToolResult> {
    Box::new(ToolResult::failure(&Failure::from(refusal)))
}

fn not_allowed(refused: ToolNotAllowed) -> Box<ToolResult> {
    let details = Map::from_iter([
        ("details".to_owned(), json!(refused.message())),
        ("allowed_tools".to_owned(), json!(refused.allowed)),
    ]);
    let message = refused.message();
    let result = ToolResult::error_object(ErrorCode::ToolNotAllowed, &message, details);
    Box::new(result)
}

/// The tools that a query may call, as its agent sees them listed.
pub(crate) fn tools_of_query(hub: &Hub, realm: RealmId, query: &QueryId) -> Vec<Definition> {
    let tools = |realm: &Realm| {
        let session = realm.session_of_query(query).ok()?;
        let tools = realm.published_by(Kind::Tool, session)?.into_iter();
        let allowed = tools.filter(|tool| match tool {
            Definition::Tool(tool) => realm.query_allows(query, tool.name()).is_ok(),
            _ => false,
        });
        Some(allowed.collect())
    };
    hub.read(realm, tools).flatten().unwrap_or_default()
}
