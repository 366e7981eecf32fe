//! `/mcp` (and `/`): the token, and what rmcp is strict about.

use std::cell::Cell;
use std::sync::Arc;

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bridge_protocol::ErrorCode;
use bytes::Bytes;
use futures_util::StreamExt;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt, Full};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::fast_path;
use super::request_scope::{OPENING_SESSION, REALM};
use super::service::McpService;
use super::session::McpSession;
use crate::agent_queries::QueryLifetime;
use crate::mcp::fast_path::Message;
use crate::mcp::headers::{LAST_EVENT_ID, session_id_header};
use crate::mcp::large_body::{BlockingBody, LargeBodyHint};
use crate::mcp::request_kind::RequestKind;
use crate::mcp::session_manager::PRIMING_EVENT_ID;
use crate::web::Problem;
use crate::web::body::read_to_end_limited;
use bridge_auth::{Principal, RealmId};

pub(crate) async fn endpoint(State(mcp): State<McpService>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    serve(&mcp, parts, body).await
}

/// The same, before the router too.
pub(crate) async fn serve<B>(mcp: &McpService, parts: Parts, body: B) -> Response
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<axum::BoxError>,
{
    let principal = match mcp
        .state
        .authenticate(&parts.headers, parts.uri.query())
        .await
    {
        Ok(principal) => principal,
        Err(problem) => return problem.into_response(),
    };
    match read_to_end_limited(&mcp.state, body).await {
        Ok(body) => route(mcp, parts, body, principal).await,
        Err(problem) => problem.into_response(),
    }
}

/// Answers a request whose token is good and whose body is whole: on the lane, or else by rmcp.
async fn route(mcp: &McpService, parts: Parts, body: Bytes, principal: Principal) -> Response {
    let kind = match parts.method {
        Method::POST => match Message::parse(&body) {
            Some(message) => {
                if let Some(response) = fast_path::serve(mcp, &parts, &message, &principal).await {
                    return response;
                }
                RequestKind::Message(message.method.unwrap_or_default().into_owned())
            }
            None => match peek_method(&body) {
                Ok(method) => RequestKind::Message(method),
                Err(refusal) => return refusal.into_response(),
            },
        },
        Method::GET => RequestKind::Stream,
        _ => RequestKind::Other,
    };
    // rmcp's own future is a large one: only who needs it makes it.
    Box::pin(serve_with_rmcp(mcp, kind, parts, body, principal)).await
}

async fn serve_with_rmcp(
    mcp: &McpService,
    kind: RequestKind,
    mut parts: Parts,
    body: Bytes,
    principal: Principal,
) -> Response {
    let realm = principal.realm;
    if let Err(insufficient) = kind
        .required_scope()
        .map_or(Ok(()), |scope| principal.require_scope(scope))
    {
        return Problem::from(insufficient).into_response();
    }
    let is_initialize = matches!(&kind, RequestKind::Message(method) if method == "initialize");
    if principal.query.is_some() && !kind.is_allowed_for_query_token() {
        return query_token_rejected(&kind);
    }
    let queries = &mcp.state.agent_queries;
    let lifetime = principal
        .query
        .as_ref()
        .and_then(|query| queries.lifetime_of(query));
    let request_of_query = lifetime.as_ref().map(QueryLifetime::track_request);
    normalise_accept(&parts.method, &mut parts.headers);
    let session_id = session_id_header(&parts.headers);
    let session = session_id.and_then(|id| mcp.sessions.get(realm, id));
    let is_end = parts.method == Method::DELETE;
    // rmcp calls the end of a session that is not there its own failure.
    if is_end && session_id.is_some() && session.is_none() {
        let message = "there is no such MCP session: it has ended, or belongs to another token";
        return Problem::new(ErrorCode::SessionNotFound, message).into_response();
    }
    if let Some(rejection) = reject_lost_stream(mcp, &parts, session.as_deref()) {
        return rejection;
    }
    let expires_at = principal.expires_at().filter(|_| kind.is_long_lived());
    let mut opening = None;
    if let RequestKind::Message(method) = &kind {
        if method == "initialize" && session_id.is_none() {
            match acquire_session_slot(mcp, realm).await {
                Ok(permit) => opening = Some(Arc::new(McpSession::new(realm, permit))),
                Err(problem) => return problem.into_response(),
            }
        }
        let json = HeaderValue::from_static("application/json");
        parts.headers.insert(CONTENT_TYPE, json);
    }
    parts.extensions.insert(principal);
    let large_body = LargeBodyHint::default();
    parts.extensions.insert(large_body.clone());
    if let Some(session) = &opening {
        parts.extensions.insert(Arc::clone(session));
    }
    // The session that opens is not idle before its first answer has been read.
    let activity = session
        .as_ref()
        .or(opening.as_ref())
        .map(McpSession::begin_activity);
    let request = Request::from_parts(parts, Full::new(body));
    let handled = OPENING_SESSION.scope(Cell::new(opening), mcp.service.handle(request));
    let response = REALM.scope(realm, handled).await;
    let response = response.map(|body| BlockingBody::new(body, large_body, activity));
    if is_end && response.status() == StatusCode::ACCEPTED {
        return StatusCode::NO_CONTENT.into_response();
    }
    if let (Some(lifetime), Some(request_guard)) = (lifetime, request_of_query) {
        if let Some(session) = session_id_header(response.headers()).filter(|_| is_initialize) {
            mcp.close_session_with_query(lifetime, session);
        }
        let request_guard = move |_: &_| {
            let _ = &request_guard;
        };
        return response
            .map(|body| Body::from_stream(body.into_data_stream().inspect(request_guard)));
    }
    match expires_at {
        Some(expires_at) => response.map(|body| until_expiry(expires_at, body)),
        None => response.map(Body::new),
    }
}

/// The answer to a client that comes back to a stream of which nothing is left: its call was
/// cancelled, or what was kept had to go. Clients take 405 for a server without such a stream, and
/// ask no more; an open stream without events would stand as long as their session.
fn reject_lost_stream(
    mcp: &McpService,
    parts: &Parts,
    session: Option<&McpSession>,
) -> Option<Response> {
    let last_event_id = parts.headers.get(LAST_EVENT_ID)?.to_str().ok()?;
    let id = session?.id()?;
    let events = mcp.sessions.event_log();
    if parts.method != Method::GET
        || last_event_id == PRIMING_EVENT_ID
        || events.belongs_to(id, last_event_id)
    {
        return None;
    }
    let message = "nothing follows this event: its call was cancelled, or what was kept had to go";
    let problem = Problem::new(ErrorCode::HandleNotFound, message);
    Some((StatusCode::METHOD_NOT_ALLOWED, problem).into_response())
}

/// An agent hears of no changes: what it is answered is all that it gets.
fn query_token_rejected(kind: &RequestKind) -> Response {
    let message = "the token of a query is good for tools/list and tools/call only";
    let problem = Problem::new(ErrorCode::InsufficientScope, message);
    match kind {
        // Clients take this for a server without such a stream.
        RequestKind::Stream => (StatusCode::METHOD_NOT_ALLOWED, problem).into_response(),
        _ => problem.into_response(),
    }
}

/// A stream that ends with the token that opened it.
fn until_expiry<B>(expires_at: Instant, body: B) -> Body
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    let end = tokio::time::sleep_until(expires_at);
    Body::from_stream(body.into_data_stream().take_until(end))
}

/// rmcp answers 406 to anything but the exact pair that the specification names; `*/*`, or
/// nothing, means the same to everyone else.
fn normalise_accept(method: &Method, headers: &mut http::HeaderMap) {
    let accept = headers
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .unwrap_or("*/*");
    let (must_replace, value) = match *method {
        Method::GET => (accept.contains("*/*"), "text/event-stream"),
        _ => (
            accept.contains("*/*")
                || accept.contains("application/json") != accept.contains("text/event-stream"),
            "application/json, text/event-stream",
        ),
    };
    if must_replace {
        headers.insert(ACCEPT, HeaderValue::from_static(value));
    }
}

/// The method of a JSON-RPC message, or the refusal of what is none. Responses have no method.
fn peek_method(body: &Bytes) -> Result<String, InvalidMessage> {
    #[derive(Deserialize)]
    struct Message {
        #[serde(default)]
        method: Option<String>,
    }
    let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
    match (serde_json::from_slice::<Message>(body), first) {
        (Ok(message), Some(b'{')) => Ok(message.method.unwrap_or_default()),
        (_, Some(b'[')) if serde_json::from_slice::<IgnoredAny>(body).is_ok() => {
            Err(InvalidMessage::InvalidRequest(
                "batches left MCP with 2025-06-18: send messages singly",
            ))
        }
        (Err(error), _) if error.is_syntax() || error.is_eof() => {
            Err(InvalidMessage::ParseError(error))
        }
        _ => Err(InvalidMessage::InvalidRequest(
            "the body is not a JSON-RPC message",
        )),
    }
}

/// A body that is no message (JSON-RPC 2.0 section 5.1).
enum InvalidMessage {
    ParseError(serde_json::Error),
    InvalidRequest(&'static str),
}

impl IntoResponse for InvalidMessage {
    fn into_response(self) -> Response {
        let (code, message) = match self {
            InvalidMessage::ParseError(error) => (-32700, format!("the body is not JSON: {error}")),
            InvalidMessage::InvalidRequest(why) => (-32600, why.to_owned()),
        };
        let error = json!({ "code": code, "message": message });
        let body = json!({ "jsonrpc": "2.0", "id": null, "error": error });
        (StatusCode::BAD_REQUEST, axum::Json(body)).into_response()
    }
}

/// A place for one more MCP session. Where there is none, the session of the same token that has been
/// idle for longest makes room.
async fn acquire_session_slot(
    mcp: &McpService,
    realm: RealmId,
) -> Result<OwnedSemaphorePermit, Problem> {
    let config = &mcp.state.hub.config;
    loop {
        let clients = mcp
            .state
            .hub
            .with_realm(realm, |realm| realm.client_count());
        let is_full = clients.unwrap_or(0) >= config.max_clients;
        let permit = mcp.sessions.try_acquire_slot();
        let (count, setting) = match permit {
            None => (config.max_mcp_sessions, "max_mcp_sessions"),
            Some(_) if is_full => (config.max_clients, "max_clients"),
            Some(permit) => return Ok(permit),
        };
        drop(permit);
        if mcp.sessions.evict_idle(realm).await {
            continue;
        }
        let message = format!(
            "{count} MCP sessions are open, which is the limit, and none of this token is idle: \
             close some clients, or raise `{setting}`"
        );
        return Err(Problem::new(ErrorCode::SessionLimitExceeded, message));
    }
}
