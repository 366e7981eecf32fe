//! Routes of plain HTTP: call a tool, and list sessions and tools, without MCP.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use bridge_auth::{RealmId, Scope};
use bridge_edge::ClientAddress;
use bridge_protocol::{
    CallContext, CallerTransport, CallingClient, ClientInfo, ErrorCode, Kind, SessionId,
};
use bridge_realm::definition::SharedDefinition;
use bridge_realm::realm::{CallFailure, Realm};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method, StatusCode, Uri};
use http_body::Body;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tower::ServiceExt;

use super::page_socket;
use crate::budget::{AnswerBody, INLINE_LIMIT, Party, WorkOrder};
use crate::calls::builtin_tools;
use crate::calls::{self, Arguments, CallRequest, DeliveryLimits, RoundOutcome, SilentClient};
use crate::hub::Hub;
use crate::mcp::{self, McpService};
use crate::web::body::read_to_end_limited;
use crate::web::{AppState, Problem, client_address, guard};
use bridge_mcp_results::encoded_size;
use bridge_mcp_results::segments::EncodedBody;
use bridge_mcp_results::tool_result::CallToolResult;

/// The body of `POST /tool-call`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolCallBody {
    tool_name: String,
    #[serde(default)]
    tool_input: Option<Box<RawValue>>,
    #[serde(default)]
    session_id: Option<SessionId>,
}

/// The client of a plain HTTP call, which receives the result only.
static SILENT_CLIENT: SilentClient =
    SilentClient("the caller speaks plain HTTP: it cannot be asked");

/// Serves `POST /tool-call`: responds with the MCP result object.
pub(super) async fn tool_call(State(state): State<AppState>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let address = client_address(&parts.extensions);
    serve_tool_call(&state, &parts, body, address).await
}

/// Serves `POST /tool-call` with or without the router.
pub(super) async fn serve_tool_call<B>(
    state: &AppState,
    parts: &Parts,
    body: B,
    address: ClientAddress,
) -> Response
where
    B: Body<Data = Bytes>,
    B::Error: Into<axum::BoxError>,
{
    let result = handle_tool_call(state, parts, body, address).await;
    result.unwrap_or_else(Problem::into_response)
}

async fn handle_tool_call<B>(
    state: &AppState,
    parts: &Parts,
    body: B,
    address: ClientAddress,
) -> Result<Response, Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<axum::BoxError>,
{
    let principal = state.authenticate(parts, address).await?;
    principal.require_scope(Scope::ToolsCall)?;
    let caller = Party::new(address, principal.realm);
    let body = read_to_end_limited(state, body, caller).await?;
    // serde would read the fields of an array by their order.
    if body.trim_ascii_start().first() == Some(&b'[') {
        return Err(malformed_call("it is an array"));
    }
    let scan_turn = state
        .hub
        .budgets
        .cpu_pool
        .scan_turn(principal.realm, body.len());
    let scan_turn = scan_turn.await.map_err(CallFailure::from)?;
    let body: ToolCallBody =
        serde_json::from_slice(&body).map_err(|error| malformed_call(&error.to_string()))?;
    drop(scan_turn);
    let arguments = match body.tool_input {
        None => Arguments::default(),
        Some(input) if input.get().starts_with('{') => Arguments::from_raw(input),
        Some(_) => return Err(malformed_call("`toolInput` is not an object")),
    };
    let agent = parts
        .headers
        .get(USER_AGENT)
        .and_then(|agent| agent.to_str().ok());
    let client = agent.map(|agent| ClientInfo {
        name: agent.to_owned(),
        version: None,
        title: None,
    });
    let client = client.map(|info| CallingClient {
        info,
        protocol_version: None,
        capabilities: None,
        limits: None,
    });
    let request = CallRequest {
        caller: calls::CallOptions {
            query_lifetime: state.agent_queries.lifetime_for(&principal),
            realm: principal.realm,
            address,
            session: body.session_id,
            call_context: CallContext {
                client: client.map(Arc::new),
                caller: Some(principal.caller(CallerTransport::Http)),
                query_id: principal.query.clone(),
                ..CallContext::default()
            },
            client: &SILENT_CLIENT,
            limits: DeliveryLimits::default(),
            client_responses: Vec::new(),
            resume_token: None,
            audit: None,
        },
        tool: body.tool_name,
        arguments,
    };
    match calls::call_tool(&state.hub, request).await {
        Ok(RoundOutcome::Complete(result)) => {
            Ok(json_response(state, principal.realm, result).await)
        }
        // Cannot happen: a client that declares no capability receives no requests.
        Ok(RoundOutcome::InputRequired { .. }) => Err(Problem::new(
            ErrorCode::ClientCapabilityMissing,
            "the tool asks its client, and plain HTTP cannot answer: use MCP".to_owned(),
        )),
        Err(error) => Err(Problem::new(ErrorCode::ToolNotFound, error.to_string())),
    }
}

fn malformed_call(reason: &str) -> Problem {
    let message = format!(
        "the body must be {{\"toolName\": string, \"toolInput\": object, \"sessionId\": string?}}: \
         {reason}"
    );
    Problem::new(ErrorCode::ProtocolViolation, message)
}

/// Returns the response with a tool result to a client of this realm.
async fn json_response(state: &AppState, realm: RealmId, result: CallToolResult) -> Response {
    let encode = |result: &CallToolResult| result.encode_body(b"{".to_vec(), b"}");
    let body = if result.is_borrowed() || encoded_size::fits_within(&result, 2 * INLINE_LIMIT) {
        encode(&result)
    } else {
        let order = WorkOrder::for_result(realm, &result);
        let encoded = state.hub.run_work(order, move || encode(&result)).await;
        encoded.unwrap_or_else(|error| encode(&CallToolResult::from_failure(&error.after_call())))
    };
    let body = match state.hub.lease_answer(realm, body.encoded_len()) {
        Ok(lease) => AnswerBody::new(body, lease),
        Err(failure) => AnswerBody::new(encode(&CallToolResult::from_failure(&failure)), None),
    };
    json_body(axum::body::Body::new(body))
}

fn json_body(body: axum::body::Body) -> Response {
    let mut response = Response::new(body);
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// Serves `GET /sessions`: the pages of the token, or the page of a query with the tools that the
/// query may call.
pub(super) async fn sessions(
    State(state): State<AppState>,
    parts: Parts,
) -> Result<Json<Value>, Problem> {
    let principal = state.authorize(&parts, Scope::ToolsRead).await?;
    let summaries = |realm: &Realm| match &principal.query {
        Some(query) => realm.query_session_summary(query).into_iter().collect(),
        None => realm.session_summaries(),
    };
    let sessions = state.hub.with_realm(principal.realm, summaries);
    let sessions = sessions.unwrap_or_default();
    Ok(Json(json!({ "sessions": sessions })))
}

/// Serves `GET /tools`: the tools of `tools/list`.
pub(super) async fn tools(
    State(state): State<AppState>,
    parts: Parts,
) -> Result<Response, Problem> {
    let principal = state.authorize(&parts, Scope::ToolsRead).await?;
    if let Some(lifetime) = state.agent_queries.lifetime_for(&principal) {
        calls::wait_for_query_page(&state.hub, &principal, &lifetime).await;
    }
    if let Some(query) = &principal.query {
        let tools = calls::tools_for_query(&state.hub, principal.realm, query);
        return tool_list_response(&state.hub, principal.realm, &[], tools).await;
    }
    let realm = principal.realm;
    let pages = state
        .hub
        .with_realm(realm, |realm| realm.published(Kind::Tool))
        .unwrap_or_default();
    tool_list_response(&state.hub, realm, &builtin_tools::DEFINITIONS, pages).await
}

/// Returns the response with a list of tools.
async fn tool_list_response(
    hub: &Hub,
    realm: RealmId,
    builtin: &'static [Map<String, Value>],
    pages: Vec<SharedDefinition>,
) -> Result<Response, Problem> {
    let bytes = pages.iter().map(SharedDefinition::bytes).sum();
    let encode = move || {
        let pages = pages.iter().map(SharedDefinition::published);
        let tools: Vec<_> = builtin.iter().chain(pages).collect();
        json!({ "tools": tools }).to_string()
    };
    let order = WorkOrder::for_definitions(realm, bytes);
    let encoded = hub.run_work_unless_small(order, encode).await;
    let body = EncodedBody::from(encoded.map_err(CallFailure::from)?.into_bytes());
    let lease = hub.lease_answer(realm, body.encoded_len())?;
    Ok(json_body(axum::body::Body::new(AnswerBody::new(
        body, lease,
    ))))
}

/// Returns the response to a path without a route.
pub(super) async fn not_found(uri: Uri) -> Problem {
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
    if guard::is_upgrade_request(&request) {
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
