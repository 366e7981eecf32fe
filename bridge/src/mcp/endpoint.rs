//! `/mcp` (and `/`): authenticates a request, and passes it to what serves its method.

use std::borrow::Cow;
use std::sync::Arc;

use axum::Json;
use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bridge_auth::Principal;
use bridge_edge::ClientAddress;
use bridge_mcp_results::request_error::{INVALID_REQUEST, PARSE_ERROR};
use bridge_protocol::ErrorCode;
use bridge_realm::realm::CallFailure;
use bridge_schema::value_count::{self, MAX_VALUES};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use http_body_util::BodyExt;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::accept_header::{accepts_events, accepts_only_events};
use super::checked_request::{CheckedRequest, Refused, find_session, session_id};
use super::client_questions::Answer;
use super::headers::{LAST_EVENT_ID, SESSION_ID, session_id_header};
use super::http_response::{
    self, single_response, sse_response, until_stopped, until_token_end, with_guard,
};
use super::json_rpc_message::{Message, json_string, request_key};
use super::json_rpc_response::{EncodedResponse, error_without_id, with_request_id};
use super::protocol_version::{reconcile, unknown_version};
use super::request_kind::RequestKind;
use super::rmcp_rejection::with_json_body;
use super::rmcp_services::with_escaped_separators;
use super::service::McpService;
use super::session::McpSession;
use super::{
    cluster_owner, initialize, prompts_and_resources, standalone_stream, tools_call, tools_list,
};
use crate::budget::{AnswerLease, Party, ScanTurn};
use crate::web::body::read_to_end_in_session;
use crate::web::{Problem, client_address};

const TOO_MANY_VALUES: &str =
    "the message has more than 1,000,000 values, which is the limit: send less at once";

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
    let rules = mcp.state.authenticator.generation();
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
    let body = read_to_end_in_session(&mcp.state, body, caller, begin_activity).await;
    if let Err(problem) = mcp.state.check_again(&parts, address, rules).await {
        return problem.into_response();
    }
    let body = match body {
        Ok(body) => body,
        Err(problem) => return problem.into_response(),
    };
    let (body, _guard) = match &mcp.state.cluster {
        Some(cluster) if !cluster.owns(principal.realm) => {
            let found = cluster_owner::find_owner(mcp, cluster, &parts, body, caller);
            match Box::pin(found).await {
                Ok(here) => here,
                Err(elsewhere) => return *elsewhere,
            }
        }
        _ => (body, None),
    };
    route(mcp, parts, body, principal, address).await
}

/// Serves an authenticated request.
async fn route(
    mcp: &McpService,
    mut parts: Parts,
    (body, turn): (Bytes, Option<ScanTurn>),
    principal: Principal,
    address: ClientAddress,
) -> Response {
    // Of a message, which is parsed at once.
    let turn = turn.filter(|_| parts.method == Method::POST);
    let query = principal.query.as_ref();
    let lifetime = query.and_then(|query| mcp.state.agent_queries.lifetime_of(query));
    // The query of an agent tracks each response to its end.
    let request_guard = lifetime.map(|lifetime| lifetime.track_request());
    if parts.method != Method::POST {
        reconcile(&mut parts.headers, None);
    }
    let served = match parts.method {
        Method::POST => {
            let headers = &mut parts.headers;
            serve_post(mcp, headers, (&body, turn), &principal, address).await
        }
        Method::GET => check_kind(&RequestKind::Stream, &principal)
            .map(|()| serve_get(mcp, &parts.headers, &principal, address)),
        Method::DELETE => Ok(serve_delete(mcp, &parts.headers, &principal)),
        _ => Ok(Served::BY_RMCP),
    };
    let response = match served {
        Ok(Served::Response(response)) => response,
        Err(rejection) => *rejection,
        // rmcp's future is large, so it is boxed and created only where it is needed.
        Ok(Served::ByRmcp { session, token_end }) => {
            let served = serve_with_rmcp(mcp, parts, body, principal, address, session);
            until_token_end(Box::pin(served).await, token_end)
        }
    };
    match request_guard {
        Some(guard) => with_guard(response, guard),
        None => response,
    }
}

/// How a request is served.
enum Served {
    Response(Response),
    /// With rmcp, in this session if it belongs to one.
    ByRmcp {
        session: Option<Arc<McpSession>>,
        /// Ends the response, if it is a stream that may outlive the access token.
        token_end: Option<BoxFuture<'static, ()>>,
    },
}

impl Served {
    const BY_RMCP: Self = Self::ByRmcp {
        session: None,
        token_end: None,
    };

    /// A request to a session, or one that rmcp refuses.
    fn refused(refused: Refused) -> Self {
        match refused {
            Refused::ByRmcp => Self::BY_RMCP,
            Refused::SessionNotFound => Self::Response(session_not_found()),
            Refused::NotRestored(problem) => (*problem).into(),
        }
    }
}

impl<R: IntoResponse> From<R> for Served {
    fn from(response: R) -> Self {
        Self::Response(response.into_response())
    }
}

/// The response to a request in a session that has ended, or is of another token.
fn session_not_found() -> Response {
    let message = "Not Found: Session not found";
    (
        StatusCode::NOT_FOUND,
        InvalidMessage::InvalidRequest(message.into()).json(),
    )
        .into_response()
}

/// The response to a request that would have to be in an MCP session and is in none. rmcp looks for
/// the session of such a request, or opens one, and responds with 500 because it has none.
fn no_session(headers: &HeaderMap) -> Response {
    let Some(version) = unknown_version(headers) else {
        return session_not_found();
    };
    let message = format!("Bad Request: Unsupported MCP-Protocol-Version: {version}");
    InvalidMessage::InvalidRequest(message.into()).into_response()
}

fn rejected(rejection: impl IntoResponse) -> Box<Response> {
    Box::new(rejection.into_response())
}

/// Checks that the token allows a request of this kind. The error is the rejection.
fn check_kind(kind: &RequestKind<'_>, principal: &Principal) -> Result<(), Box<Response>> {
    if let Some(scope) = kind.required_scope() {
        let scope = principal.require_scope(scope);
        scope.map_err(|insufficient| rejected(Problem::from(insufficient)))?;
    }
    if principal.query.is_some() && !kind.is_allowed_for_query_token() {
        return Err(Box::new(query_token_rejected(kind)));
    }
    Ok(())
}

/// Serves a message. The error is a rejection before it is one.
async fn serve_post(
    mcp: &McpService,
    headers: &mut HeaderMap,
    (body, turn): (&Bytes, Option<ScanTurn>),
    principal: &Principal,
    address: ClientAddress,
) -> Result<Served, Box<Response>> {
    let message = Message::parse(body).ok_or_else(|| peek_method(body));
    let message = match message {
        Ok(message) => message,
        Err(method) => {
            let method = method.map_err(rejected)?;
            check_kind(&RequestKind::Message(&method), principal)?;
            return Ok(Served::BY_RMCP);
        }
    };
    let method = message.method.as_deref();
    let kind = RequestKind::Message(method.unwrap_or_default());
    check_kind(&kind, principal)?;
    // `tools/call` limits the values of its arguments itself.
    if method != Some("tools/call") && turn.is_some() && has_too_many_values(body) {
        return Err(too_many_values());
    }
    drop(turn);
    let has_older_headers = reconcile(headers, Some(&message));
    if method == Some("initialize") {
        forget_closed_session(mcp, headers, principal);
    }
    let headers = &*headers;
    if message.is_malformed() || accepts_only_events(headers).is_none() {
        return Ok(Served::BY_RMCP);
    }
    let (Some(id), Some(method)) = (message.id, message.method.as_deref()) else {
        return Ok(match find_session(mcp, headers, principal, address) {
            Ok(session) => {
                accept_message(&session, &message);
                StatusCode::ACCEPTED.into()
            }
            Err(refused) => Served::refused(refused),
        });
    };
    if method == "initialize" && session_id_header(headers).is_none() {
        let opened = initialize::serve(mcp, headers, id, body, principal, address);
        return Ok(opened.map_or(Served::BY_RMCP, Served::Response));
    }
    let checked = CheckedRequest::try_new(
        mcp,
        headers,
        (id, method),
        &message.params,
        principal,
        address,
        has_older_headers,
    );
    let request = match checked {
        Ok(request) => request,
        Err(refused) => return Ok(Served::refused(refused)),
    };
    request.wait_for_bare_session(method).await;
    let response = match method {
        "tools/call" => tools_call::serve(&request, body).await,
        "tools/list" => Some(tools_list::serve(&request).await),
        "prompts/get" => prompts_and_resources::get_prompt(&request, body).await,
        "resources/read" => prompts_and_resources::read_resource(&request, body).await,
        "completion/complete" => prompts_and_resources::complete(&request, body).await,
        "initialize" if request.session.is_some() => {
            let session = request.session.as_ref();
            let again = session.map(|it| initialize::serve_again(mcp, headers, it, id, body));
            again.map(|response| single_response(response, request.events_only))
        }
        _ => {
            let is_long_lived = method == "subscriptions/listen";
            return Ok(Served::ByRmcp {
                session: request.session,
                token_end: is_long_lived.then(|| mcp.state.token_end(principal)),
            });
        }
    };
    Ok(Served::Response(response.unwrap_or_else(session_not_found)))
}

/// Removes the id of a session that has ended, or is of another token, from a request that opens one.
/// Clients send the id that they had before the bridge was restarted, and fail at 404.
fn forget_closed_session(mcp: &McpService, headers: &mut HeaderMap, principal: &Principal) {
    let id = session_id_header(headers);
    if id.is_some_and(|id| mcp.sessions.get(principal.realm, id).is_none()) {
        headers.remove(SESSION_ID);
    }
}

/// Takes a notification of the client, or its answer to a request.
fn accept_message(session: &Arc<McpSession>, message: &Message<'_>) {
    let _activity = session.begin_activity();
    match message.method.as_deref() {
        Some("notifications/initialized") => session.set_ready(),
        Some("notifications/cancelled") => {
            if let Some(key) = message.params.request_id.and_then(request_key) {
                session.cancel_request(&key);
            }
        }
        Some(_) => {}
        None => {
            let answer = match (message.result, message.error) {
                (Some(result), _) => Some(Answer::Result(result.to_owned())),
                (None, error) => error.map(|error| Answer::Error(error.to_owned())),
            };
            if let Some(id) = message.id.and_then(json_string)
                && let Some(answer) = answer
            {
                session.questions.answer(&id, answer);
            }
        }
    }
}

/// Opens or resumes a stream of a session.
fn serve_get(
    mcp: &McpService,
    headers: &HeaderMap,
    principal: &Principal,
    address: ClientAddress,
) -> Served {
    let event_log = mcp.sessions.event_log();
    let last_event_id = headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok());
    let session = find_session(mcp, headers, principal, address);
    let mut lease = None;
    let mut resumed_call = None;
    if let (Some(last_event_id), Ok(session)) = (last_event_id, &session)
        && !standalone_stream::is_event_id(session, last_event_id)
    {
        match lease_replay(mcp, session, address, last_event_id) {
            Ok(leased) => lease = leased,
            Err(rejection) => return Served::Response(*rejection),
        }
        resumed_call = Some(last_event_id);
    }
    if !accepts_events(headers) {
        return Served::BY_RMCP;
    }
    let session = match session {
        Ok(session) => session,
        Err(refused) => return Served::refused(refused),
    };
    let response = match resumed_call {
        Some(last_event_id) => {
            let response = http_response::resumed(event_log, last_event_id, lease);
            with_guard(response, session.begin_activity())
        }
        None => {
            let log = &mcp.state.hub.lifecycle;
            sse_response(standalone_stream::open(&session, last_event_id, log))
        }
    };
    let response = until_stopped(response, &mcp.state.stopping);
    let token_end = mcp.state.token_end(principal);
    Served::Response(until_token_end(response, Some(token_end)))
}

/// Ends a session, which may be one that could be restored.
fn serve_delete(mcp: &McpService, headers: &HeaderMap, principal: &Principal) -> Served {
    let id = match session_id(headers) {
        Ok(id) => id,
        Err(refused) => return Served::refused(refused),
    };
    // First, so that no request restores it afterwards.
    let could_be_restored = mcp.session_ids.end(principal.realm, id);
    let session = mcp.sessions.get(principal.realm, id);
    if let Some(session) = &session {
        mcp.sessions.end(session, "its client ended it");
    }
    if could_be_restored || session.is_some() {
        return StatusCode::NO_CONTENT.into();
    }
    let message = "there is no such MCP session: it has ended, or belongs to another token";
    Problem::new(ErrorCode::SessionNotFound, message).into()
}

fn too_many_values() -> Box<Response> {
    rejected(InvalidMessage::InvalidRequest(TOO_MANY_VALUES.into()))
}

/// Whether parsing a message would take too much memory.
fn has_too_many_values(body: &[u8]) -> bool {
    std::str::from_utf8(body).is_ok_and(|json| value_count::exceeds(json, MAX_VALUES))
}

/// Serves a request with rmcp, which may refuse it.
async fn serve_with_rmcp(
    mcp: &McpService,
    mut parts: Parts,
    body: Bytes,
    principal: Principal,
    address: ClientAddress,
    session: Option<Arc<McpSession>>,
) -> Response {
    let cpu_pool = &mcp.state.hub.budgets.cpu_pool;
    let scan_turn = match cpu_pool.scan_turn(principal.realm, body.len()).await {
        Ok(Some(_)) if has_too_many_values(&body) => return *too_many_values(),
        Ok(scan_turn) => scan_turn,
        Err(error) => return Problem::from(CallFailure::from(error)).into_response(),
    };
    let events_only = accepts_only_events(&parts.headers);
    let accepts = match parts.method {
        Method::GET => accepts_events(&parts.headers),
        _ => events_only.is_some(),
    };
    parts.extensions.insert(principal);
    parts.extensions.insert(address);
    let has_session = session.is_some();
    let without_session = (!has_session).then(|| no_session(&parts.headers));
    let _activity = session.as_ref().map(McpSession::begin_activity);
    let served = mcp.rmcp.serve(parts, body, session, accepts, scan_turn);
    let (response, large_body) = served.await;
    if let Some(refusal) = without_session.filter(|_| response.status().is_server_error()) {
        return refusal;
    }
    let is_stream = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|it| it == "text/event-stream");
    if is_stream {
        return response.map(|body| Body::new(with_escaped_separators(body)));
    }
    let (mut head, body) = response.into_parts();
    let body = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(never) => match never {},
    };
    let is_json = head.headers.contains_key(CONTENT_TYPE);
    let body = if is_json {
        head.headers.remove(CONTENT_LENGTH);
        with_request_id(body)
    } else {
        body.into()
    };
    // A client with a session reads 404 as the end of the session, not as an unknown method.
    if head.status == StatusCode::OK || has_session && is_json {
        let lease = large_body.lease();
        let response = EncodedResponse::new(StatusCode::OK, body);
        return single_response(
            EncodedResponse { lease, ..response },
            events_only == Some(true),
        );
    }
    with_json_body(Response::from_parts(head, Body::from(body))).await
}

/// Acquires a lease on what a resumed stream of a call starts with, if it is much. Otherwise a client
/// could resume one stream on many connections, and read none of them.
///
/// A stream whose events are gone is rejected: its call was cancelled, or they were evicted. Clients
/// interpret 405 as a server without such a stream, and do not retry. An open stream without events
/// would last as long as its session.
fn lease_replay(
    mcp: &McpService,
    session: &McpSession,
    address: ClientAddress,
    last_event_id: &str,
) -> Result<Option<AnswerLease>, Box<Response>> {
    let bytes = mcp.sessions.event_log().bytes_after(session, last_event_id);
    let bytes = bytes.ok_or_else(|| {
        let message =
            "nothing follows this event: its call was cancelled, or what was kept had to go";
        let problem = Problem::new(ErrorCode::HandleNotFound, message);
        rejected((StatusCode::METHOD_NOT_ALLOWED, problem))
    })?;
    let lease = mcp.state.hub.lease_answer(session.realm(), address, bytes);
    lease.map_err(|failure| rejected(Problem::from(failure)))
}

/// Returns the rejection of a request that the token of a query does not allow. An agent gets
/// responses only, and no notifications of changes.
fn query_token_rejected(kind: &RequestKind<'_>) -> Response {
    let message = "the token of a query is good for tools/list and tools/call only";
    let problem = Problem::new(ErrorCode::InsufficientScope, message);
    match kind {
        // Clients interpret 405 as a server without such a stream.
        RequestKind::Stream => (StatusCode::METHOD_NOT_ALLOWED, problem).into_response(),
        _ => problem.into_response(),
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
                "batches left MCP with 2025-06-18: send messages singly".into(),
            ))
        }
        (Err(error), _) if error.is_syntax() || error.is_eof() => {
            Err(InvalidMessage::ParseError(error))
        }
        _ => Err(InvalidMessage::InvalidRequest(
            "the body is not a JSON-RPC message".into(),
        )),
    }
}

/// Why a body is not a message (JSON-RPC 2.0 section 5.1).
enum InvalidMessage {
    ParseError(serde_json::Error),
    InvalidRequest(Cow<'static, str>),
}

impl InvalidMessage {
    fn json(self) -> Json<Value> {
        let (code, message) = match self {
            InvalidMessage::ParseError(error) => {
                (PARSE_ERROR, format!("the body is not JSON: {error}"))
            }
            InvalidMessage::InvalidRequest(message) => (INVALID_REQUEST, message.into_owned()),
        };
        Json(error_without_id(code, &message))
    }
}

impl IntoResponse for InvalidMessage {
    fn into_response(self) -> Response {
        (StatusCode::BAD_REQUEST, self.json()).into_response()
    }
}
