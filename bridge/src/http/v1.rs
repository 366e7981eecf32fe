//! The edge as clients of mcp-web 0.1 know it: one endpoint on every path, with every method.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
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

use super::{Edge, page_socket, plain, whole};
use crate::auth::Scope;
use crate::v1::{self, Asked, Leg, McpSession, Reply};

const MCP_SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

const PRIVATE_NETWORK: HeaderName = HeaderName::from_static("access-control-allow-private-network");

/// Answers a message before the router, for whoever is no browser.
pub(super) async fn post_here<B>(edge: &Edge, leg: &Leg, parts: &Parts, body: B) -> Response
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<axum::BoxError>,
{
    let mut response = post(edge, leg, parts, body).await;
    allow_all(response.headers_mut());
    response
}

/// Serves what no other route does.
pub(super) async fn endpoint(State(edge): State<Edge>, request: Request) -> Response {
    let Some(leg) = edge.v1.clone() else {
        return plain::not_found(request.uri().clone())
            .await
            .into_response();
    };
    if page_socket::is_wanted(&request) {
        return page_socket::upgrade.call(request, edge).await;
    }
    let (parts, body) = request.into_parts();
    match parts.method {
        Method::POST => post(&edge, &leg, &parts, body).await,
        Method::GET if accepts(&parts.headers, "text/event-stream") => {
            stream_of(&edge, &leg, &parts).await
        }
        Method::GET | Method::HEAD => about(&edge, parts, body).await,
        Method::DELETE => delete(&edge, &leg, &parts).await,
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

fn mcp_session(headers: &HeaderMap) -> Option<&str> {
    let id = headers.get(MCP_SESSION)?.to_str().ok();
    id.filter(|id| !id.is_empty())
}

/// One JSON-RPC message, and its answer.
async fn post<B>(edge: &Edge, leg: &Leg, parts: &Parts, body: B) -> Response
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<axum::BoxError>,
{
    let body = match whole(edge, body).await {
        Ok(body) => body,
        Err(problem) => return problem.into_response(),
    };
    let token = edge.token(&parts.headers, parts.uri.query());
    let asked = Asked {
        body: &body,
        token: token.as_deref(),
        mcp_session: mcp_session(&parts.headers),
    };
    match leg.answer(asked).await {
        Reply::Message { body, mcp_session } => answered(body, mcp_session),
        Reply::Accepted => StatusCode::ACCEPTED.into_response(),
        Reply::NoSuchMcpSession => no_such_mcp_session(),
    }
}

fn answered(body: Vec<u8>, mcp_session: Option<String>) -> Response {
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(id) = mcp_session.and_then(|id| HeaderValue::try_from(id).ok()) {
        headers.insert(MCP_SESSION, id);
    }
    response
}

fn no_such_mcp_session() -> Response {
    let error = json!({ "error": "MCP session not found" });
    (StatusCode::NOT_FOUND, Json(error)).into_response()
}

/// The MCP session that the request may use. Whoever sends no token may, on a loopback address: its
/// id is a secret.
async fn session_of(edge: &Edge, leg: &Leg, parts: &Parts, id: &str) -> Option<Arc<McpSession>> {
    let token = edge.token(&parts.headers, parts.uri.query());
    if token.is_none() && edge.hub.config.is_as_open_as_v1() {
        return leg.sessions.of(None, id);
    }
    let principal = leg
        .principal(token.as_deref(), Some(Scope::ToolsRead))
        .await;
    leg.sessions.of(Some(principal.ok()?.realm), id)
}

/// The events of an MCP session.
async fn stream_of(edge: &Edge, leg: &Leg, parts: &Parts) -> Response {
    let Some(id) = mcp_session(&parts.headers) else {
        let why = "Mcp-Session-Id header required for SSE stream";
        return event_stream(stream::iter([v1::refused(why)]));
    };
    match session_of(edge, leg, parts, id).await {
        Some(session) => event_stream(v1::events(&session, edge.stopping.clone())),
        None => event_stream(stream::iter([v1::refused("MCP session not found")])),
    }
}

fn event_stream(events: impl futures_util::Stream<Item = Bytes> + Send + 'static) -> Response {
    let body = Body::from_stream(events.map(Ok::<_, std::convert::Infallible>));
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, body).into_response()
}

async fn delete(edge: &Edge, leg: &Leg, parts: &Parts) -> Response {
    let Some(id) = mcp_session(&parts.headers) else {
        let error = json!({ "error": "Mcp-Session-Id header required" });
        return (StatusCode::BAD_REQUEST, Json(error)).into_response();
    };
    if session_of(edge, leg, parts, id).await.is_none() {
        return no_such_mcp_session();
    }
    leg.sessions.end(id);
    Json(json!({ "success": true })).into_response()
}

/// What this is, for whoever asks; the app's own page for browsers, where there is one.
async fn about(edge: &Edge, parts: Parts, body: Body) -> Response {
    match edge.home.clone() {
        Some(home) if parts.uri.path() == "/" && accepts(&parts.headers, "text/html") => {
            let request = Request::from_parts(parts, body);
            home.oneshot(request).await.into_response()
        }
        _ => plain::about(edge).into_response(),
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
        allow_all(response.headers_mut());
        response
    };
    routes.layer(map_response(allow))
}

pub(super) fn allow_all(headers: &mut HeaderMap) {
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
        (PRIVATE_NETWORK, "true"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
