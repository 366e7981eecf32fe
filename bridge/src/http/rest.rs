//! Plain HTTP: call a tool without speaking MCP, and see what the token sees.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use bridge_protocol::{
    CallContext, CallerTransport, CallingClient, ClientInfo, ErrorCode, Kind, SessionId,
};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method, Uri};
use http_body::Body;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::page_socket;
use crate::calls::builtin_tools;
use crate::calls::{self, Arguments, CallRequest, DeliveryLimits, RoundOutcome, SilentClient};
use crate::mcp::{self, McpService};
use crate::results::encoded_size;
use crate::results::tool_result::ToolResult;
use crate::web::body::read_to_end_limited;
use crate::web::{AppState, Problem, guard};
use bridge_auth::Scope;
use bridge_realm::definition::Definition;
use bridge_service::cpu_pool;
use bridge_service::cpu_pool::INLINE_LIMIT;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolCallBody {
    tool_name: String,
    #[serde(default)]
    tool_input: Option<Box<RawValue>>,
    #[serde(default)]
    session_id: Option<SessionId>,
}

/// A caller that hears the result and nothing else.
static SILENT_CLIENT: SilentClient =
    SilentClient("the caller speaks plain HTTP: it cannot be asked");

/// `POST /tool-call`: answers the MCP result object.
pub(super) async fn tool_call(State(edge): State<AppState>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    serve_tool_call(&edge, &parts, body).await
}

/// The same, before the router too.
pub(super) async fn serve_tool_call<B>(edge: &AppState, parts: &Parts, body: B) -> Response
where
    B: Body<Data = Bytes>,
    B::Error: Into<axum::BoxError>,
{
    let result = handle_tool_call(edge, parts, body).await;
    result.unwrap_or_else(Problem::into_response)
}

async fn handle_tool_call<B>(edge: &AppState, parts: &Parts, body: B) -> Result<Response, Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<axum::BoxError>,
{
    let principal = edge.authorize(parts, Scope::ToolsCall).await?;
    let body = read_to_end_limited(edge, body).await?;
    // serde would read the fields of an array by their order.
    if body.trim_ascii_start().first() == Some(&b'[') {
        return Err(malformed_call("it is an array"));
    }
    let body: ToolCallBody =
        serde_json::from_slice(&body).map_err(|error| malformed_call(&error.to_string()))?;
    let arguments = match body.tool_input {
        None => Arguments::default(),
        Some(input) if input.get().starts_with('{') => Arguments::from_raw(input),
        Some(_) => return Err(malformed_call("`toolInput` is no object")),
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
            query_lifetime: edge.agent_queries.lifetime_for(&principal),
            realm: principal.realm,
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
        },
        tool: body.tool_name,
        arguments,
    };
    // What a call needs stays in one place; the rest of this is moved with each layer of the server.
    match Box::pin(calls::call_tool(&edge.hub, request)).await {
        Ok(RoundOutcome::Complete(result)) => Ok(json_response(result).await),
        // Nobody is asked who has declared no capability.
        Ok(RoundOutcome::InputRequired { .. }) => Err(Problem::new(
            ErrorCode::ClientCapabilityMissing,
            "the tool asks its client, and plain HTTP cannot answer: use MCP".to_owned(),
        )),
        Err(error) => Err(Problem::new(ErrorCode::ToolNotFound, error.to_string())),
    }
}

fn malformed_call(why: &str) -> Problem {
    let message = format!(
        "the body must be {{\"toolName\": string, \"toolInput\": object, \"sessionId\": string?}}: \
         {why}"
    );
    Problem::new(ErrorCode::ProtocolViolation, message)
}

/// The answer with a result.
async fn json_response(result: ToolResult) -> Response {
    let written = |result: &ToolResult| result.encode_body(b"{".to_vec(), b"}");
    let body = if result.is_borrowed() || encoded_size::fits_within(&result, 2 * INLINE_LIMIT) {
        written(&result)
    } else {
        let writing = cpu_pool::spawn(move || written(&result)).await;
        writing.unwrap_or_else(|| Vec::new().into())
    };
    let mut response = Response::new(body.into());
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// `GET /sessions`: the pages of the token.
pub(super) async fn sessions(
    State(edge): State<AppState>,
    parts: Parts,
) -> Result<Json<Value>, Problem> {
    let principal = edge.authorize(&parts, Scope::ToolsRead).await?;
    let mut sessions = edge
        .hub
        .with_realm(principal.realm, |realm| realm.session_summaries())
        .unwrap_or_default();
    if let Some(query) = &principal.query {
        let own = edge.hub.session_of_query(principal.realm, query);
        sessions.retain(|session| own.as_ref() == Some(&session.session_id));
    }
    Ok(Json(json!({ "sessions": sessions })))
}

/// `GET /tools`: what `tools/list` answers.
pub(super) async fn tools(
    State(edge): State<AppState>,
    parts: Parts,
) -> Result<Json<Value>, Problem> {
    let principal = edge.authorize(&parts, Scope::ToolsRead).await?;
    if let Some(lifetime) = edge.agent_queries.lifetime_for(&principal) {
        calls::wait_for_query_page(&edge.hub, &principal, &lifetime).await;
    }
    if let Some(query) = &principal.query {
        let tools = calls::tools_for_query(&edge.hub, principal.realm, query);
        let tools: Vec<_> = tools.iter().map(Definition::published).collect();
        return Ok(Json(json!({ "tools": tools })));
    }
    let realm = principal.realm;
    let pages = edge
        .hub
        .with_realm(realm, |realm| realm.published(Kind::Tool))
        .unwrap_or_default();
    let tools: Vec<_> = builtin_tools::DEFINITIONS
        .iter()
        .chain(pages.iter().map(Definition::published))
        .collect();
    Ok(Json(json!({ "tools": tools })))
}

/// `GET /healthz`: the process runs and answers.
pub(super) async fn health() -> &'static str {
    "ok"
}

/// What is not there.
pub(super) async fn not_found(uri: Uri) -> Problem {
    Problem::new(
        ErrorCode::UnknownMethod,
        format!("there is no {}", uri.path()),
    )
}

/// `/` is the socket for pages of v1, the app's page for browsers, tells a plain GET what this is, and is MCP for the rest.
pub(super) async fn root(edge: AppState, mcp: McpService, request: Request) -> Response {
    if guard::is_upgrade_request(&request) {
        return page_socket::upgrade.call(request, edge).await;
    }
    let accept = request
        .headers()
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok());
    let accepts = |media_type| accept.is_some_and(|accept| accept.contains(media_type));
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    match edge.home.clone() {
        Some(home) if reads && accepts("text/html") => home.oneshot(request).await.into_response(),
        _ if reads && !accepts("text/event-stream") => bridge_info(&edge).into_response(),
        _ => mcp::endpoint(State(mcp), request).await,
    }
}

pub(super) fn bridge_info(edge: &AppState) -> Json<Value> {
    Json(edge.hub.config.bridge_info())
}
