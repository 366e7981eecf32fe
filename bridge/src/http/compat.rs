//! The edge as clients of mcp-web 0.1 know it: one endpoint on every path, with every method.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::handler::Handler;
use axum::http::request::Parts;
use axum::middleware::{Next, from_fn, map_response};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use bytes::Bytes;
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
use crate::compat;
use crate::compat::{CompatRequest, CompatService, CompatSession, Reply};
use crate::web::body::read_to_end_limited;
use crate::web::{AppState, guard};
use bridge_auth::Scope;

const SESSION_ID_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

const ALLOW_PRIVATE_NETWORK: HeaderName =
    HeaderName::from_static("access-control-allow-private-network");

/// Answers a message before the router, for whoever is no browser.
pub(super) async fn serve_post<B>(
    edge: &AppState,
    leg: &CompatService,
    parts: &Parts,
    body: B,
) -> Response
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<axum::BoxError>,
{
    let mut response = handle_message(edge, leg, parts, body).await;
    allow_all_origins(response.headers_mut());
    response
}

/// Serves what no other route does.
pub(super) async fn endpoint(
    edge: AppState,
    leg: Arc<CompatService>,
    request: Request,
) -> Response {
    if guard::is_upgrade_request(&request) {
        return page_socket::upgrade.call(request, edge).await;
    }
    let (parts, body) = request.into_parts();
    match parts.method {
        Method::POST => handle_message(&edge, &leg, &parts, body).await,
        Method::GET if accepts(&parts.headers, "text/event-stream") => {
            serve_events(&edge, &leg, &parts).await
        }
        Method::GET | Method::HEAD => serve_info(&edge, parts, body).await,
        Method::DELETE => end_session(&edge, &leg, &parts).await,
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

/// One JSON-RPC message, and its answer.
async fn handle_message<B>(edge: &AppState, leg: &CompatService, parts: &Parts, body: B) -> Response
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<axum::BoxError>,
{
    let body = match read_to_end_limited(edge, body).await {
        Ok(body) => body,
        Err(problem) => return problem.into_response(),
    };
    let token = edge.request_token(&parts.headers, parts.uri.query());
    let request = CompatRequest {
        body: &body,
        token: token.as_deref(),
        mcp_session: session_id(&parts.headers),
    };
    match leg.answer(request).await {
        Reply::Message { body, mcp_session } => message_response(body, mcp_session),
        Reply::Accepted => StatusCode::ACCEPTED.into_response(),
        Reply::NoSuchMcpSession => session_not_found(),
    }
}

fn message_response(body: Vec<u8>, mcp_session: Option<String>) -> Response {
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(id) = mcp_session.and_then(|id| HeaderValue::try_from(id).ok()) {
        headers.insert(SESSION_ID_HEADER, id);
    }
    response
}

fn session_not_found() -> Response {
    let error = json!({ "error": "MCP session not found" });
    (StatusCode::NOT_FOUND, Json(error)).into_response()
}

/// The MCP session that the request may use. Whoever sends no token may, on a loopback address: its
/// id is a secret.
async fn find_session(
    edge: &AppState,
    leg: &CompatService,
    parts: &Parts,
    id: &str,
) -> Option<Arc<CompatSession>> {
    let token = edge.request_token(&parts.headers, parts.uri.query());
    if token.is_none() && edge.hub.config.allows_compat_anonymous_access() {
        return leg.sessions.get(None, id);
    }
    let principal = leg
        .authenticate(token.as_deref(), Some(Scope::ToolsRead))
        .await;
    leg.sessions.get(Some(principal.ok()?.realm), id)
}

/// The events of an MCP session.
async fn serve_events(edge: &AppState, leg: &CompatService, parts: &Parts) -> Response {
    let Some(id) = session_id(&parts.headers) else {
        let why = "Mcp-Session-Id header required for SSE stream";
        return sse_response(stream::iter([compat::refused(why)]));
    };
    match find_session(edge, leg, parts, id).await {
        Some(session) => sse_response(compat::event_stream(&session, edge.stopping.clone())),
        None => sse_response(stream::iter([compat::refused("MCP session not found")])),
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

async fn end_session(edge: &AppState, leg: &CompatService, parts: &Parts) -> Response {
    let Some(id) = session_id(&parts.headers) else {
        let error = json!({ "error": "Mcp-Session-Id header required" });
        return (StatusCode::BAD_REQUEST, Json(error)).into_response();
    };
    if find_session(edge, leg, parts, id).await.is_none() {
        return session_not_found();
    }
    leg.sessions.end(id);
    Json(json!({ "success": true })).into_response()
}

/// What this is, for whoever asks; the app's own page for browsers, where there is one.
async fn serve_info(edge: &AppState, parts: Parts, body: Body) -> Response {
    match edge.home.clone() {
        Some(home) if parts.uri.path() == "/" && accepts(&parts.headers, "text/html") => {
            let request = Request::from_parts(parts, body);
            home.oneshot(request).await.into_response()
        }
        _ => rest::bridge_info(edge).into_response(),
    }
}

/// Answers every OPTIONS.
pub(super) fn with_preflight(routes: Router) -> Router {
    let preflight = async |request: Request, next: Next| match *request.method() {
        Method::OPTIONS => StatusCode::OK.into_response(),
        _ => next.run(request).await,
    };
    routes.layer(from_fn(preflight))
}

/// Says on every answer that any page may read it. Foreign pages were refused before there was
/// anything to read.
pub(super) fn with_cors(routes: Router) -> Router {
    let allow = async |mut response: Response| {
        allow_all_origins(response.headers_mut());
        response
    };
    routes.layer(map_response(allow))
}

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
