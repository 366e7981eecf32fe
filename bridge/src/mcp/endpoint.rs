//! `/mcp` (and `/`): the token, and what rmcp is strict about.

use std::cell::Cell;
use std::sync::Arc;

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bridge_protocol::ErrorCode;
use bytes::Bytes;
use futures_util::StreamExt;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt, Full};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::asked::Asked;
use super::encoding::{Encoding, Large};
use super::lane::{self, Message};
use super::session::Session;
use super::sessions::FIRST_EVENT;
use super::{OPENED, REALM};
use crate::auth::{Principal, RealmId};
use crate::http::{Edge, Problem, whole};
use crate::queries::Life;

const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

pub(crate) async fn endpoint(State(edge): State<Edge>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    serve(&edge, parts, body).await
}

/// The same, before the router too.
pub(crate) async fn serve<B>(edge: &Edge, parts: Parts, body: B) -> Response
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<axum::BoxError>,
{
    let principal = match edge.principal(&parts.headers, parts.uri.query()).await {
        Ok(principal) => principal,
        Err(problem) => return problem.into_response(),
    };
    match whole(edge, body).await {
        Ok(body) => answer(edge, parts, body, principal).await,
        Err(problem) => problem.into_response(),
    }
}

/// Answers a request whose token is good and whose body is whole: on the lane, or else by rmcp.
async fn answer(edge: &Edge, parts: Parts, body: Bytes, principal: Principal) -> Response {
    let asked = match parts.method {
        Method::POST => match Message::read(&body) {
            Some(message) => {
                if let Some(answer) = lane::serve(edge, &parts, &message, &principal).await {
                    return answer;
                }
                Asked::Message(message.method.unwrap_or_default().into_owned())
            }
            None => match peek(&body) {
                Ok(method) => Asked::Message(method),
                Err(refusal) => return refusal.into_response(),
            },
        },
        Method::GET => Asked::Stream,
        _ => Asked::Other,
    };
    // rmcp's own future is a large one: only who needs it makes it.
    Box::pin(by_rmcp(edge, asked, parts, body, principal)).await
}

async fn by_rmcp(
    edge: &Edge,
    asked: Asked,
    mut parts: Parts,
    body: Bytes,
    principal: Principal,
) -> Response {
    let realm = principal.realm;
    if let Err(insufficient) = asked.scope().map_or(Ok(()), |scope| principal.needs(scope)) {
        return Problem::from(insufficient).into_response();
    }
    let opens = matches!(&asked, Asked::Message(method) if method == "initialize");
    if principal.query.is_some() && !asked.is_for_queries() {
        return not_for_queries(&asked);
    }
    let queries = &edge.hub.queries;
    let life = principal
        .query
        .as_ref()
        .and_then(|query| queries.life_of(query));
    let request_of_query = life.as_ref().map(Life::request);
    normalise_accept(&parts.method, &mut parts.headers);
    let named = session_of(&parts.headers);
    let session = named.and_then(|id| edge.mcp.sessions.of(realm, id));
    let is_end = parts.method == Method::DELETE;
    // rmcp calls the end of a session that is not there its own failure.
    if is_end && named.is_some() && session.is_none() {
        let message = "there is no such MCP session: it has ended, or belongs to another token";
        return Problem::new(ErrorCode::SessionNotFound, message).into_response();
    }
    if let Some(nothing) = nothing_to_resume(edge, &parts, session.as_deref()) {
        return nothing;
    }
    let ends_at = principal.ends_at().filter(|_| asked.stands());
    let mut opened = None;
    if let Asked::Message(method) = &asked {
        if method == "initialize" && named.is_none() {
            match place_for_session(edge, realm).await {
                Ok(place) => opened = Some(Arc::new(Session::new(realm, place))),
                Err(problem) => return problem.into_response(),
            }
        }
        let json = HeaderValue::from_static("application/json");
        parts.headers.insert(CONTENT_TYPE, json);
    }
    parts.extensions.insert(principal);
    let large = Large::default();
    parts.extensions.insert(large.clone());
    if let Some(session) = &opened {
        parts.extensions.insert(Arc::clone(session));
    }
    // The session that opens is not idle before its first answer has been read.
    let open = session.as_ref().or(opened.as_ref()).map(Session::open);
    let request = Request::from_parts(parts, Full::new(body));
    let served = OPENED.scope(Cell::new(opened), edge.mcp.service.handle(request));
    let response = REALM.scope(realm, served).await;
    let response = response.map(|body| Encoding::new(body, large, open));
    if is_end && response.status() == StatusCode::ACCEPTED {
        return StatusCode::NO_CONTENT.into_response();
    }
    if let (Some(life), Some(held)) = (life, request_of_query) {
        if let Some(session) = session_of(response.headers()).filter(|_| opens) {
            edge.mcp.end_with_query(edge, life, session);
        }
        let held = move |_: &_| {
            let _ = &held;
        };
        return response.map(|body| Body::from_stream(body.into_data_stream().inspect(held)));
    }
    match ends_at {
        Some(ends_at) => response.map(|body| until(ends_at, body)),
        None => response.map(Body::new),
    }
}

/// The answer to a client that comes back to a stream of which nothing is left: its call was
/// cancelled, or what was kept had to go. Clients take 405 for a server without such a stream, and
/// ask no more; an open stream without events would stand as long as their session.
fn nothing_to_resume(edge: &Edge, parts: &Parts, session: Option<&Session>) -> Option<Response> {
    let last = parts.headers.get(LAST_EVENT)?.to_str().ok()?;
    let id = session?.id()?;
    let events = edge.mcp.sessions.events();
    if parts.method != Method::GET || last == FIRST_EVENT || events.is_of(id, last) {
        return None;
    }
    let message = "nothing follows this event: its call was cancelled, or what was kept had to go";
    let problem = Problem::new(ErrorCode::HandleNotFound, message);
    Some((StatusCode::METHOD_NOT_ALLOWED, problem).into_response())
}

/// An agent hears of no changes: what it is answered is all that it gets.
fn not_for_queries(asked: &Asked) -> Response {
    let message = "the token of a query is good for tools/list and tools/call only";
    let problem = Problem::new(ErrorCode::InsufficientScope, message);
    match asked {
        // Clients take this for a server without such a stream.
        Asked::Stream => (StatusCode::METHOD_NOT_ALLOWED, problem).into_response(),
        _ => problem.into_response(),
    }
}

/// A stream that ends with the token that opened it.
fn until<B>(ends_at: Instant, body: B) -> Body
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    let end = tokio::time::sleep_until(ends_at);
    Body::from_stream(body.into_data_stream().take_until(end))
}

/// rmcp answers 406 to anything but the exact pair that the specification names; `*/*`, or
/// nothing, means the same to everyone else.
fn normalise_accept(method: &Method, headers: &mut http::HeaderMap) {
    let accept = headers
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .unwrap_or("*/*");
    let (wanted, value) = match *method {
        Method::GET => (accept.contains("*/*"), "text/event-stream"),
        _ => (
            accept.contains("*/*")
                || accept.contains("application/json") != accept.contains("text/event-stream"),
            "application/json, text/event-stream",
        ),
    };
    if wanted {
        headers.insert(ACCEPT, HeaderValue::from_static(value));
    }
}

/// The method of a JSON-RPC message, or the refusal of what is none. Responses have no method.
fn peek(body: &Bytes) -> Result<String, Refusal> {
    #[derive(Deserialize)]
    struct Message {
        #[serde(default)]
        method: Option<String>,
    }
    let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
    match (serde_json::from_slice::<Message>(body), first) {
        (Ok(message), Some(b'{')) => Ok(message.method.unwrap_or_default()),
        (_, Some(b'[')) if serde_json::from_slice::<IgnoredAny>(body).is_ok() => Err(
            Refusal::InvalidRequest("batches left MCP with 2025-06-18: send messages singly"),
        ),
        (Err(error), _) if error.is_syntax() || error.is_eof() => Err(Refusal::ParseError(error)),
        _ => Err(Refusal::InvalidRequest(
            "the body is not a JSON-RPC message",
        )),
    }
}

/// A body that is no message (JSON-RPC 2.0 section 5.1).
enum Refusal {
    ParseError(serde_json::Error),
    InvalidRequest(&'static str),
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (code, message) = match self {
            Refusal::ParseError(error) => (-32700, format!("the body is not JSON: {error}")),
            Refusal::InvalidRequest(why) => (-32600, why.to_owned()),
        };
        let error = json!({ "code": code, "message": message });
        let body = json!({ "jsonrpc": "2.0", "id": null, "error": error });
        (StatusCode::BAD_REQUEST, axum::Json(body)).into_response()
    }
}

/// As rmcp reads it: a header that is no text names no session.
pub(super) fn session_of(headers: &http::HeaderMap) -> Option<&str> {
    headers.get(SESSION_HEADER)?.to_str().ok()
}

/// A place for one more MCP session. Where there is none, the session of the same token that has been
/// idle for longest makes room.
async fn place_for_session(edge: &Edge, realm: RealmId) -> Result<OwnedSemaphorePermit, Problem> {
    let config = &edge.hub.config;
    loop {
        let clients = edge.hub.read(realm, |realm| realm.client_count());
        let is_full = clients.unwrap_or(0) >= config.max_clients;
        let place = edge.mcp.sessions.place();
        let (count, setting) = match place {
            None => (config.max_mcp_sessions, "max_mcp_sessions"),
            Some(_) if is_full => (config.max_clients, "max_clients"),
            Some(place) => return Ok(place),
        };
        drop(place);
        if edge.mcp.sessions.evict_idle(realm).await {
            continue;
        }
        let message = format!(
            "{count} MCP sessions are open, which is the limit, and none of this token is idle: \
             close some clients, or raise `{setting}`"
        );
        return Err(Problem::new(ErrorCode::SessionLimitExceeded, message));
    }
}
