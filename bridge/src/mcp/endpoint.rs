//! `/mcp` (and `/`): authenticates a request, and serves it itself or with rmcp.
//!
//! Where rmcp is stricter than current clients, the request is adapted first.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bridge_auth::{Principal, RealmId};
use bridge_protocol::ErrorCode;
use bridge_realm::realm::CallFailure;
use bridge_schema::value_count::{self, MAX_VALUES};
use bridge_service::ClientAddress;
use bytes::Bytes;
use futures_util::StreamExt;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt, Full};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use tokio::time::Instant;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::accept::accepts_only_events;
use super::checked_request::{CheckedRequest, open_session};
use super::client_questions::{Answer, is_question_id};
use super::message::{Message, json_string};
use super::request_scope::{OPENING_SESSION, REALM};
use super::service::McpService;
use super::session::McpSession;
use super::{tools_call, tools_list};
use crate::agent_queries::QueryLifetime;
use crate::cpu_pool::ScanTurn;
use crate::hub::NO_MEMORY_FOR_NEWCOMERS;
use crate::mcp::headers::{LAST_EVENT_ID, session_id_header};
use crate::mcp::large_body::{BlockingBody, LargeBodyHint, block_in_place};
use crate::mcp::request_kind::RequestKind;
use crate::mcp::rmcp_rejection::with_json_body;
use crate::refusals::RefusalKind;
use crate::results::unread::AnswerLease;
use crate::shares::Party;
use crate::web::body::read_to_end_in_session;
use crate::web::{Problem, client_address};

const TOO_MANY_VALUES: &str =
    "the message has more than 1,000,000 values, which is the limit: send less at once";

/// How many sessions may be evicted for one. Several are needed only if others take their places.
const MAX_EVICTIONS: usize = 8;

/// Serves MCP behind the router.
pub(crate) async fn endpoint(State(mcp): State<McpService>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let address = client_address(&parts.extensions);
    serve(&mcp, parts, body, address).await
}

/// Serves MCP with or without the router, for a request from this address.
pub(crate) async fn serve<B>(
    mcp: &McpService,
    parts: Parts,
    body: B,
    address: ClientAddress,
) -> Response
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<axum::BoxError>,
{
    let principal = match mcp.state.authenticate(&parts, address).await {
        Ok(principal) => principal,
        Err(problem) => return problem.into_response(),
    };
    let begin_activity = || {
        let session = session_id_header(&parts.headers)?;
        let session = mcp.sessions.get(principal.realm, session)?;
        Some(session.begin_activity())
    };
    let caller = Party::new(address, principal.realm);
    match read_to_end_in_session(&mcp.state, body, caller, begin_activity).await {
        Ok(body) => route(mcp, parts, body, principal, address).await,
        Err(problem) => problem.into_response(),
    }
}

/// Polls a future for the first time in this turn: rmcp then parses the whole request. Another
/// thread serves the other sockets meanwhile.
async fn begin_in_turn<F: Future>(mut scan_turn: Option<ScanTurn>, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| match scan_turn.take() {
        Some(_turn) => block_in_place(|| future.as_mut().poll(context)),
        None => future.as_mut().poll(context),
    })
    .await
}

/// Whether parsing a message would take too much memory.
fn has_too_many_values(body: &[u8]) -> bool {
    std::str::from_utf8(body).is_ok_and(|json| value_count::exceeds(json, MAX_VALUES))
}

/// Passes an answer to a request of a page to the call that waits for it. Returns false for any other
/// message.
fn takes_answer(
    mcp: &McpService,
    parts: &Parts,
    message: &Message<'_>,
    principal: &Principal,
) -> bool {
    let take = || {
        let id = json_string(message.id?).filter(|id| is_question_id(id))?;
        let answer = match (message.result, message.error) {
            (Some(result), None) => Answer::Result(result.to_owned()),
            (None, error) => Answer::Error(error?.to_owned()),
            _ => return None,
        };
        accepts_only_events(&parts.headers).filter(|_| !message.is_malformed())?;
        let session = open_session(mcp, &parts.headers, principal)?;
        session.questions.answer(&id, answer);
        Some(session.begin_activity())
    };
    take().is_some()
}

/// Returns the token with which the query of an agent tracks the request.
fn track_request(mcp: &McpService, principal: &Principal) -> Option<TaskTrackerToken> {
    let query = principal.query.as_ref()?;
    let lifetime = mcp.state.agent_queries.lifetime_of(query)?;
    Some(lifetime.track_request())
}

/// Makes a response keep a guard to its end.
fn with_guard<B>(response: Response<B>, guard: TaskTrackerToken) -> Response
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    let keep = move |_: &_| {
        let _ = &guard;
    };
    response.map(|body| Body::from_stream(body.into_data_stream().inspect(keep)))
}

/// Serves an authenticated request.
async fn route(
    mcp: &McpService,
    parts: Parts,
    body: Bytes,
    principal: Principal,
    address: ClientAddress,
) -> Response {
    let kind = match parts.method {
        Method::POST => {
            let scan_turn = match scan_turn(mcp, &principal, &body).await {
                Ok(scan_turn) => scan_turn,
                Err(problem) => return problem.into_response(),
            };
            let message = Message::parse(&body).ok_or_else(|| peek_method(&body));
            drop(scan_turn);
            match message {
                Ok(message) => {
                    let checked =
                        || CheckedRequest::try_new(mcp, &parts, &message, &principal, address);
                    let request_guard = track_request(mcp, &principal);
                    let served = match message.method.as_deref() {
                        Some("tools/call") => tools_call::serve(checked(), &body).await,
                        Some("tools/list") => tools_list::serve(checked()).await,
                        _ => None,
                    };
                    if let Some(response) = served {
                        return match request_guard {
                            Some(guard) => with_guard(response, guard),
                            None => response,
                        };
                    }
                    if takes_answer(mcp, &parts, &message, &principal) {
                        return StatusCode::ACCEPTED.into_response();
                    }
                    RequestKind::Message(message.method.unwrap_or_default().into_owned())
                }
                Err(Ok(method)) => RequestKind::Message(method),
                Err(Err(invalid)) => return invalid.into_response(),
            }
        }
        Method::GET => RequestKind::Stream,
        _ => RequestKind::Other,
    };
    // rmcp's future is large, so it is boxed and created only where it is needed.
    Box::pin(serve_with_rmcp(mcp, kind, parts, body, principal, address)).await
}

/// Waits until the body of a request may be scanned on this thread.
async fn scan_turn(
    mcp: &McpService,
    principal: &Principal,
    body: &Bytes,
) -> Result<Option<ScanTurn>, Problem> {
    let cpu_pool = &mcp.state.hub.cpu_pool;
    let turn = cpu_pool.scan_turn(principal.realm, body.len()).await;
    turn.map_err(|error| CallFailure::from(error).into())
}

async fn serve_with_rmcp(
    mcp: &McpService,
    kind: RequestKind,
    mut parts: Parts,
    body: Bytes,
    principal: Principal,
    address: ClientAddress,
) -> Response {
    parts.extensions.insert(address);
    match RmcpRequest::plan(mcp, &kind, &parts, &principal, address).await {
        Ok(mut plan) => {
            let scan_turn = match scan_turn(mcp, &principal, &body).await {
                Ok(Some(_)) if has_too_many_values(&body) => {
                    return InvalidMessage::InvalidRequest(TOO_MANY_VALUES).into_response();
                }
                Ok(scan_turn) => scan_turn,
                Err(problem) => return problem.into_response(),
            };
            let response = plan.serve(mcp, parts, body, principal);
            let response = begin_in_turn(scan_turn, response).await;
            with_json_body(plan.wrap(mcp, response)).await
        }
        Err(rejection) => rejection,
    }
}

/// A request that rmcp serves, after the checks that rmcp does not make.
struct RmcpRequest {
    is_initialize: bool,
    /// Whether the body is a JSON-RPC message.
    has_message: bool,
    /// Whether the request ends its session.
    is_end: bool,
    session: Option<Arc<McpSession>>,
    /// The session that the request opens.
    opening: Option<Arc<McpSession>>,
    /// The query whose token the request has, and the token with which it tracks the request.
    query: Option<(QueryLifetime, TaskTrackerToken)>,
    /// When the response ends, if it is a stream that may outlive the access token.
    expires_at: Option<Instant>,
    /// The lease on the bytes that a resumed stream starts with, if they are many.
    replay: Option<AnswerLease>,
}

impl RmcpRequest {
    /// Makes the checks and finds the session. The error is the response that rejects the request.
    async fn plan(
        mcp: &McpService,
        kind: &RequestKind,
        parts: &Parts,
        principal: &Principal,
        address: ClientAddress,
    ) -> Result<Self, Response> {
        if let Some(scope) = kind.required_scope() {
            principal
                .require_scope(scope)
                .map_err(|insufficient| Problem::from(insufficient).into_response())?;
        }
        if principal.query.is_some() && !kind.is_allowed_for_query_token() {
            return Err(query_token_rejected(kind));
        }
        let queries = &mcp.state.agent_queries;
        let lifetime = principal
            .query
            .as_ref()
            .and_then(|query| queries.lifetime_of(query));
        let query = lifetime.map(|lifetime| {
            let request_guard = lifetime.track_request();
            (lifetime, request_guard)
        });
        let session_id = session_id_header(&parts.headers);
        let session = session_id.and_then(|id| mcp.sessions.get(principal.realm, id));
        let is_end = parts.method == Method::DELETE;
        // rmcp responds to the end of an unknown session with an internal error.
        if is_end && session_id.is_some() && session.is_none() {
            let message = "there is no such MCP session: it has ended, or belongs to another token";
            return Err(Problem::new(ErrorCode::SessionNotFound, message).into_response());
        }
        let replay =
            lease_replay(mcp, parts, session.as_deref()).map_err(|rejection| *rejection)?;
        let has_message = matches!(kind, RequestKind::Message(_));
        let is_initialize = matches!(kind, RequestKind::Message(method) if method == "initialize");
        let opening = if is_initialize && session_id.is_none() {
            if mcp.state.hub.memory.is_scarce() {
                let code = ErrorCode::MemoryLimitExceeded;
                return Err(Problem::new(code, NO_MEMORY_FOR_NEWCOMERS).into_response());
            }
            let party = Party::new(address, principal.realm);
            let session = create_session(mcp, &party).await;
            Some(session.map_err(IntoResponse::into_response)?)
        } else {
            None
        };
        Ok(Self {
            is_initialize,
            has_message,
            is_end,
            session,
            opening,
            query,
            expires_at: principal.expires_at().filter(|_| kind.is_long_lived()),
            replay,
        })
    }

    /// Serves the request with rmcp.
    async fn serve(
        &mut self,
        mcp: &McpService,
        mut parts: Parts,
        body: Bytes,
        principal: Principal,
    ) -> Response<BlockingBody<Infallible>> {
        let realm = principal.realm;
        normalise_accept(&parts.method, &mut parts.headers);
        if self.has_message {
            let json = HeaderValue::from_static("application/json");
            parts.headers.insert(CONTENT_TYPE, json);
        }
        parts.extensions.insert(principal);
        let large_body = self
            .replay
            .take()
            .map_or_else(LargeBodyHint::default, LargeBodyHint::with_lease);
        parts.extensions.insert(large_body.clone());
        let opening = self.opening.take();
        if let Some(session) = &opening {
            parts.extensions.insert(Arc::clone(session));
        }
        // A session is not idle before the client has read its first response.
        let activity = self
            .session
            .as_ref()
            .or(opening.as_ref())
            .map(McpSession::begin_activity);
        let request = Request::from_parts(parts, Full::new(body));
        let handled = OPENING_SESSION.scope(Cell::new(opening), mcp.service.handle(request));
        let response = REALM.scope(realm, handled).await;
        response.map(|body| BlockingBody::new(body, large_body, activity))
    }

    /// Ends the response when the token expires. The query of an agent tracks the response to its
    /// end, and a session that the agent opens ends with the query.
    fn wrap(self, mcp: &McpService, response: Response<BlockingBody<Infallible>>) -> Response {
        if self.is_end && response.status() == StatusCode::ACCEPTED {
            return StatusCode::NO_CONTENT.into_response();
        }
        if let Some((lifetime, request_guard)) = self.query {
            if self.is_initialize
                && let Some(session) = session_id_header(response.headers())
            {
                mcp.close_session_with_query(lifetime, session);
            }
            return with_guard(response, request_guard);
        }
        match self.expires_at {
            Some(expires_at) => response.map(|body| until_expiry(expires_at, body)),
            None => response.map(Body::new),
        }
    }
}

/// Acquires a lease on what a resumed stream starts with, if it is much. Otherwise a client could
/// resume one stream on many connections, and read none of them.
///
/// A stream whose events are gone is rejected: its call was cancelled, or they were evicted. Clients
/// interpret 405 as a server without such a stream, and do not retry. An open stream without events
/// would last as long as its session.
fn lease_replay(
    mcp: &McpService,
    parts: &Parts,
    session: Option<&McpSession>,
) -> Result<Option<AnswerLease>, Box<Response>> {
    let header = parts.headers.get(LAST_EVENT_ID);
    let resumed = header.filter(|_| parts.method == Method::GET);
    let last_event_id = resumed.and_then(|id| id.to_str().ok());
    let (Some(last_event_id), Some(session)) = (last_event_id, session) else {
        return Ok(None);
    };
    let Some(id) = session.id() else {
        return Ok(None);
    };
    if !mcp.sessions.can_resume(id, last_event_id) {
        let message =
            "nothing follows this event: its call was cancelled, or what was kept had to go";
        let problem = Problem::new(ErrorCode::HandleNotFound, message);
        let rejection = (StatusCode::METHOD_NOT_ALLOWED, problem).into_response();
        return Err(Box::new(rejection));
    }
    let bytes = mcp.sessions.event_log().bytes_after(last_event_id);
    let lease = mcp.state.hub.lease_answer(session.realm, bytes);
    lease.map_err(|failure| Box::new(Problem::from(failure).into_response()))
}

/// Returns the rejection of a request that the token of a query does not allow. An agent gets
/// responses only, and no notifications of changes.
fn query_token_rejected(kind: &RequestKind) -> Response {
    let message = "the token of a query is good for tools/list and tools/call only";
    let problem = Problem::new(ErrorCode::InsufficientScope, message);
    match kind {
        // Clients interpret 405 as a server without such a stream.
        RequestKind::Stream => (StatusCode::METHOD_NOT_ALLOWED, problem).into_response(),
        _ => problem.into_response(),
    }
}

/// Ends a stream when the token that opened it expires.
fn until_expiry<B>(expires_at: Instant, body: B) -> Body
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    let end = tokio::time::sleep_until(expires_at);
    Body::from_stream(body.into_data_stream().take_until(end))
}

/// Replaces an `Accept` that is equivalent to the media types of the specification, such as `*/*`
/// or none: rmcp responds with 406 to anything but those.
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

/// Returns the method of a JSON-RPC message, which is empty for a response.
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

/// Why a body is not a message (JSON-RPC 2.0 section 5.1).
enum InvalidMessage {
    ParseError(serde_json::Error),
    InvalidRequest(&'static str),
}

impl IntoResponse for InvalidMessage {
    fn into_response(self) -> Response {
        let (code, message) = match self {
            InvalidMessage::ParseError(error) => (-32700, format!("the body is not JSON: {error}")),
            InvalidMessage::InvalidRequest(message) => (-32600, message.to_owned()),
        };
        let error = json!({ "code": code, "message": message });
        let body = json!({ "jsonrpc": "2.0", "id": null, "error": error });
        (StatusCode::BAD_REQUEST, axum::Json(body)).into_response()
    }
}

/// Creates the MCP session that a request opens. At the limit of the token, its session that has
/// been idle for longest is evicted, and at the limit of all sessions one of those who have the
/// most.
async fn create_session(
    mcp: &McpService,
    party: &Party<RealmId>,
) -> Result<Arc<McpSession>, Problem> {
    let hub = &mcp.state.hub;
    let too_many =
        |kind, message| Problem::new(ErrorCode::SessionLimitExceeded, message).refusing(kind);
    for _ in 0..MAX_EVICTIONS {
        let clients = hub.with_realm(party.member, |realm| realm.client_count());
        let clients = clients.unwrap_or(0);
        if clients >= hub.config.max_clients {
            if mcp.sessions.evict_idle(party.member).await {
                continue;
            }
            let message = format!(
                "{clients} clients are connected with this token, which is the limit, and none of \
                 them is idle: close some, or raise `max_clients`"
            );
            return Err(too_many(RefusalKind::MaxClients, message));
        }
        if let Some(session) = mcp.sessions.try_create(party) {
            return Ok(session);
        }
        if !mcp.sessions.evict_for(party).await {
            break;
        }
    }
    let used = mcp.sessions.used_by(party);
    let message = format!(
        "{} MCP sessions are open, which is the limit, {} of them from {} and {} with this token; \
         none of those is idle, and nobody has many more: close some clients, or raise \
         `max_mcp_sessions`",
        used.capacity, used.by_address, party.address, used.by_party
    );
    Err(too_many(RefusalKind::MaxMcpSessions, message))
}
