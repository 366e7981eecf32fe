//! Routes of plain HTTP that list sessions and tools, the root, and the responses without a route.

use std::borrow::Cow;

use axum::Json;
use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use bridge_auth::{RealmId, Scope};
use bridge_edge::ClientAddress;
use bridge_mcp_results::segments::EncodedBody;
use bridge_protocol::{ErrorCode, Kind};
use bridge_realm::definition::SharedDefinition;
use bridge_realm::definition::tool::SchemaSupport;
use bridge_realm::realm::{CallFailure, Realm};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method, StatusCode, Uri};
use serde_json::{Map, Value, json};
use tower::ServiceExt;

use super::page_socket;
use crate::budget::{AnswerBody, AnswerLease, WorkOrder};
use crate::calls::builtin_tools;
use crate::calls::{self, CallRecord};
use crate::hub::Hub;
use crate::mcp::{self, McpService};
use crate::web::{AppState, Problem, client_address, guard};

/// Serves `GET /sessions`: the pages of the token, or the page of a query with the tools that the
/// query may call.
pub(super) async fn sessions(
    State(state): State<AppState>,
    parts: Parts,
) -> Result<Json<Value>, Problem> {
    let principal = state.authorize(&parts, Scope::ToolsRead).await?;
    wait_for_pages(&state.hub, principal.realm).await;
    let summaries = |realm: &Realm| match &principal.query {
        Some(query) => realm.query_session_summary(query).into_iter().collect(),
        None => realm.session_summaries(),
    };
    let sessions = state.hub.with_realm(principal.realm, summaries);
    let sessions = sessions.unwrap_or_default();
    Ok(Json(json!({ "sessions": sessions })))
}

/// Serves `GET /tools`: the tools of `tools/list`, as a client without a profile sees them.
pub(super) async fn tools(
    State(state): State<AppState>,
    parts: Parts,
) -> Result<Response, Problem> {
    let principal = state.authorize(&parts, Scope::ToolsRead).await?;
    let address = client_address(&parts.extensions);
    if let Some(lifetime) = state.agent_queries.lifetime_for(&principal) {
        calls::wait_for_query_page(&state.hub, &principal, &lifetime).await;
    }
    if let Some(query) = &principal.query {
        let tools = calls::tools_for_query(&state.hub, principal.realm, query);
        return tool_list_response(&state.hub, (principal.realm, address), &[], tools).await;
    }
    let realm = principal.realm;
    wait_for_pages(&state.hub, realm).await;
    let pages = state
        .hub
        .with_realm(realm, |realm| realm.published(Kind::Tool))
        .unwrap_or_default();
    let builtin = &builtin_tools::DEFINITIONS;
    tool_list_response(&state.hub, (realm, address), builtin, pages).await
}

/// Waits for a page of a realm that has just been taken over from another bridge.
async fn wait_for_pages(hub: &Hub, realm: RealmId) {
    let until = calls::pages_awaited_until(hub, realm, false);
    calls::wait_for_any_page(hub, realm, until).await;
}

/// Returns the response with a list of tools for a client of this realm with this address.
async fn tool_list_response(
    hub: &Hub,
    (realm, address): (RealmId, ClientAddress),
    builtin: &'static [Map<String, Value>],
    pages: Vec<SharedDefinition>,
) -> Result<Response, Problem> {
    let bytes = pages.iter().map(SharedDefinition::bytes).sum();
    let encode = move || {
        let support = SchemaSupport {
            root_unions: false,
            output_keywords: true,
        };
        let pages = pages.iter().map(|page| page.published_for(support));
        let tools: Vec<_> = builtin.iter().map(Cow::Borrowed).chain(pages).collect();
        json!({ "tools": tools }).to_string()
    };
    let order = WorkOrder::for_definitions(realm, bytes);
    let encoded = hub.run_work_unless_small(order, encode).await;
    let body = EncodedBody::from(encoded.map_err(CallFailure::from)?.into_bytes());
    let lease = hub.lease_answer(realm, address, body.encoded_len())?;
    Ok(json_body(body, lease, None))
}

/// Returns a response with this JSON, with whose delivery the record of a call ends.
pub(super) fn json_body(
    body: EncodedBody,
    lease: Option<AnswerLease>,
    record: Option<CallRecord>,
) -> Response {
    let body = AnswerBody::new(body, lease, record);
    let mut response = Response::new(axum::body::Body::new(body));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// Returns the response to a path without a route.
pub(super) fn not_found(uri: &Uri) -> Problem {
    Problem::new(
        ErrorCode::UnknownMethod,
        format!("there is no {}", uri.path()),
    )
}

/// Returns the response to a method that the route does not have. axum adds `Allow`.
pub(super) async fn method_not_allowed(method: Method, uri: Uri) -> Response {
    let message = format!("{} does not accept {method}", uri.path());
    let problem = Problem::new(ErrorCode::UnknownMethod, message);
    (StatusCode::METHOD_NOT_ALLOWED, problem).into_response()
}

/// Serves `/`: the socket of pages of mcp-web 0.1, the app's home page for browsers, the
/// description of the bridge for a plain GET, and MCP for everything else.
pub(super) async fn root(state: AppState, mcp: McpService, request: Request) -> Response {
    if guard::is_upgrade(request.method(), request.headers()) {
        return page_socket::upgrade.call(request, state).await;
    }
    let accept = request
        .headers()
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok());
    let accepts = |media_type| accept.is_some_and(|accept| accept.contains(media_type));
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    match state.home.clone() {
        Some(home) if is_read && accepts("text/html") => {
            home.oneshot(request).await.into_response()
        }
        _ if is_read && !accepts("text/event-stream") => bridge_info(&state).into_response(),
        _ => mcp::endpoint(State(mcp), request).await,
    }
}

/// Returns the description of the bridge.
pub(super) fn bridge_info(state: &AppState) -> Json<Value> {
    Json(state.hub.config.info.to_json())
}
