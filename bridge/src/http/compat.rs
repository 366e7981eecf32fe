//! The HTTP interface for clients of mcp-web 0.1: one endpoint for every path and every method.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::handler::Handler;
use axum::http::request::Parts;
use axum::middleware::{Next, from_fn, map_response};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use bridge_auth::{Principal, Scope};
use bridge_compat::json_rpc::Reply;
use bridge_edge::ClientAddress;
use bridge_protocol::ErrorCode;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use http::header::{
    ACCEPT, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL, CONTENT_TYPE,
    HeaderName,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body::Body as HttpBody;
use serde_json::json;
use tower::ServiceExt;

use super::{page_socket, rest};
use crate::budget::{Party, RefusalKind, RefusalRecord};
use crate::compat;
use crate::compat::{CompatRequest, CompatService, CompatSession};
use crate::web::body::{read_to_end_in_session, read_unauthenticated};
use crate::web::{AppState, client_address, guard};

const SESSION_ID_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

const ALLOW_PRIVATE_NETWORK: HeaderName =
    HeaderName::from_static("access-control-allow-private-network");

/// Serves a message without the router, for clients that are not browsers.
pub(super) async fn serve_post<B>(
    state: &AppState,
    service: &CompatService,
    parts: &Parts,
    body: B,
    address: ClientAddress,
) -> Response
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<axum::BoxError>,
{
    let mut response = handle_message(state, service, parts, body, address).await;
    allow_all_origins(response.headers_mut());
    response
}

/// Serves every request that no other route serves.
pub(super) async fn endpoint(
    state: AppState,
    service: Arc<CompatService>,
    request: Request,
) -> Response {
    if guard::is_upgrade(request.method(), request.headers()) {
        return page_socket::upgrade.call(request, state).await;
    }
    let (parts, body) = request.into_parts();
    let address = client_address(&parts.extensions);
    match parts.method {
        Method::POST => handle_message(&state, &service, &parts, body, address).await,
        Method::GET if accepts(&parts.headers, "text/event-stream") => {
            serve_events(&state, &service, &parts).await
        }
        Method::GET | Method::HEAD => serve_info(&state, parts, body).await,
        Method::DELETE => end_session(&state, &service, &parts).await,
        _ => {
            let error = Json(json!({ "error": "Not Found" }));
            (StatusCode::NOT_FOUND, error).into_response()
        }
    }
}

fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains(media_type))
}

fn session_id(headers: &HeaderMap) -> Option<&str> {
    let id = headers.get(SESSION_ID_HEADER)?.to_str().ok();
    id.filter(|id| !id.is_empty())
}

/// Handles one JSON-RPC message.
async fn handle_message<B>(
    state: &AppState,
    service: &CompatService,
    parts: &Parts,
    body: B,
    address: ClientAddress,
) -> Response
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<axum::BoxError>,
{
    let token = state.request_token(&parts.headers, parts.uri.query());
    let rules = state.authenticator.generation();
    let mut caller = service.authenticate(token.as_deref(), address).await;
    let body = match &caller {
        Ok(principal) => {
            let caller = Party::new(address, principal.realm);
            let begin_activity = || service.sessions.begin_request(session_id(&parts.headers)?);
            read_to_end_in_session(state, body, caller, begin_activity).await
        }
        // The id of a query, which is in the body, may be the credential.
        Err(_) => read_unauthenticated(body).await.map(|body| (body, None)),
    };
    let (body, scan_turn) = match body {
        Ok(body) => body,
        Err(problem) => return problem.into_response(),
    };
    // While the body arrived, the token may have been revoked.
    if caller.is_ok() && state.authenticator.generation() != rules {
        caller = service.authenticate(token.as_deref(), address).await;
    }
    let request = CompatRequest {
        body: &body,
        caller: &caller,
        mcp_session: session_id(&parts.headers),
        address,
    };
    match service.answer(request, scan_turn).await {
        Reply::Message { body, mcp_session } => message_response(body, mcp_session),
        Reply::Rejected { body, code } => rejected_response(body, code, caller.is_ok()),
        Reply::Accepted => StatusCode::ACCEPTED.into_response(),
        Reply::NoSuchMcpSession => session_not_found(),
    }
}

fn message_response(body: Bytes, mcp_session: Option<String>) -> Response {
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(id) = mcp_session.and_then(|id| HeaderValue::try_from(id).ok()) {
        headers.insert(SESSION_ID_HEADER, id);
    }
    response
}

fn rejected_response(body: Bytes, code: ErrorCode, is_token_valid: bool) -> Response {
    let mut response = message_response(body, None);
    let kind = match code {
        ErrorCode::InvalidAuthentication if is_token_valid => Some(RefusalKind::InsufficientScope),
        // The token was logged when it was checked.
        ErrorCode::InvalidAuthentication => None,
        // Clients open MCP sessions, not those of pages.
        ErrorCode::SessionLimitExceeded => Some(RefusalKind::MaxMcpSessions),
        code => RefusalKind::from_code(code),
    };
    if let Some(kind) = kind {
        let reason = code.as_str().to_owned();
        response
            .extensions_mut()
            .insert(RefusalRecord { kind, reason });
    }
    response
}

fn session_not_found() -> Response {
    let error = json!({ "error": "MCP session not found" });
    (StatusCode::NOT_FOUND, Json(error)).into_response()
}

/// Returns the MCP session that the request may use, and whose token it has. On a loopback address no
/// token is needed: the session id is a secret.
async fn find_session(
    state: &AppState,
    service: &CompatService,
    parts: &Parts,
    id: &str,
) -> Option<(Arc<CompatSession>, Option<Principal>)> {
    let token = state.request_token(&parts.headers, parts.uri.query());
    if token.is_none() && state.hub.config.allows_compat_anonymous_access() {
        return service.sessions.get(None, id).map(|it| (it, None));
    }
    let address = client_address(&parts.extensions);
    let principal = service.authenticate(token.as_deref(), address).await;
    let principal = principal.ok()?;
    principal.require_scope(Scope::ToolsRead).ok()?;
    let session = service.sessions.get(Some(principal.realm), id)?;
    Some((session, Some(principal)))
}

/// Serves the event stream of an MCP session.
async fn serve_events(state: &AppState, service: &CompatService, parts: &Parts) -> Response {
    let Some(id) = session_id(&parts.headers) else {
        let message = "Mcp-Session-Id header required for SSE stream";
        return sse_response(stream::iter([compat::error_event(message)]));
    };
    match find_session(state, service, parts, id).await {
        Some((session, principal)) => {
            // The token of a query ends with its query, which ends the session.
            let principal = principal.filter(|principal| principal.query.is_none());
            let token_end: BoxFuture<'static, ()> = match &principal {
                Some(principal) => state.token_end(principal),
                None => Box::pin(std::future::pending::<()>()),
            };
            let events = compat::event_stream(&session, state.stopping.clone());
            sse_response(events.take_until(token_end))
        }
        None => sse_response(stream::iter([compat::error_event("MCP session not found")])),
    }
}

fn sse_response(events: impl futures_util::Stream<Item = Bytes> + Send + 'static) -> Response {
    let body = Body::from_stream(events.map(Ok::<_, std::convert::Infallible>));
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, body).into_response()
}

async fn end_session(state: &AppState, service: &CompatService, parts: &Parts) -> Response {
    let Some(id) = session_id(&parts.headers) else {
        let error = json!({ "error": "Mcp-Session-Id header required" });
        return (StatusCode::BAD_REQUEST, Json(error)).into_response();
    };
    if find_session(state, service, parts, id).await.is_none() {
        return session_not_found();
    }
    service.sessions.end(id);
    Json(json!({ "success": true })).into_response()
}

/// Serves the description of the bridge, or the app's home page to browsers if it has one.
async fn serve_info(state: &AppState, parts: Parts, body: Body) -> Response {
    match state.home.clone() {
        Some(home) if parts.uri.path() == "/" && accepts(&parts.headers, "text/html") => {
            let request = Request::from_parts(parts, body);
            home.oneshot(request).await.into_response()
        }
        _ => rest::bridge_info(state).into_response(),
    }
}

/// Responds to every OPTIONS request.
pub(super) fn with_preflight(routes: Router) -> Router {
    let preflight = async |request: Request, next: Next| {
        if request.method() == Method::OPTIONS {
            StatusCode::OK.into_response()
        } else {
            next.run(request).await
        }
    };
    routes.layer(from_fn(preflight))
}

/// Allows every origin to read every response. Requests with a foreign origin are rejected before.
pub(super) fn with_cors(routes: Router) -> Router {
    let allow = async |mut response: Response| {
        allow_all_origins(response.headers_mut());
        response
    };
    routes.layer(map_response(allow))
}

/// Adds the CORS headers that allow every origin.
pub(super) fn allow_all_origins(headers: &mut HeaderMap) {
    for (name, value) in [
        (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (
            ACCESS_CONTROL_ALLOW_METHODS,
            "GET, POST, PUT, DELETE, OPTIONS",
        ),
        (
            ACCESS_CONTROL_ALLOW_HEADERS,
            "Content-Type, Authorization, Mcp-Session-Id",
        ),
        (ACCESS_CONTROL_EXPOSE_HEADERS, "Mcp-Session-Id"),
        (ALLOW_PRIVATE_NETWORK, "true"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
