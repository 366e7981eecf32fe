//! The MCP method `tools/call` on the fast path.

use bridge_results::request_error::CallError;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bridge_auth::RealmId;
use bridge_realm::definition;
use bridge_realm::definition::tool;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use serde_json::value::RawValue;

use super::sse_response;
use crate::calls::builtin_tools;
use crate::calls::{self, Arguments, CallOptions, CallRequest, DETACHED_CLIENT, RoundOutcome};
use crate::cpu_pool::INLINE_LIMIT;
use crate::hub::Hub;
use crate::mcp::convert;
use crate::mcp::fast_path::call_stream::{
    CallStream, CallStreamItem, DetachOnDrop, EncodedResponse,
};
use crate::mcp::fast_path::eligibility::{FastPathRequest, json_string};
use crate::mcp::fast_path::notification_sink::{NotificationBuffer, NotificationSink};
use crate::mcp::session::request_key;
use crate::results::unread::AnswerBody;
use crate::results::work;
use bridge_results::encoded_size;
use bridge_results::tool_result::ToolResult;

/// A response within this time, without a notification before it, is a JSON body. After it the
/// response is a stream, from which the client learns that its call continues and, in an MCP
/// session, how to resume. Little is lost with a connection that breaks so early, and some clients
/// read bodies of any length but no long events. Clients wait at least five seconds for the head of
/// a response.
const INLINE_RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);

/// rmcp's clients read no longer body. The longest event that they read is configurable, so longer
/// responses are events.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// Serves a call, or returns `None` for one that rmcp must serve.
pub(super) async fn serve(request: FastPathRequest<'_>) -> Option<Response> {
    let call = FastPathCall::try_new(&request)?;
    match &request.session {
        Some(_) => serve_in_session(&request, call).await,
        None => Some(serve_stateless(&request, call).await),
    }
}

/// A call on the fast path.
struct FastPathCall {
    hub: Arc<Hub>,
    request: CallRequest<'static>,
    id: Box<RawValue>,
    sink: NotificationSink,
    is_modern: bool,
}

impl FastPathCall {
    fn try_new(request: &FastPathRequest<'_>) -> Option<Self> {
        let hub = &request.mcp.state.hub;
        let tool = json_string(request.params.name?)?;
        let arguments = match request.params.arguments.map(RawValue::get) {
            None | Some("null") => Arguments::default(),
            Some(object) if object.starts_with('{') => {
                Arguments::from_raw(request.params.arguments?.to_owned())
            }
            Some(_) => return None,
        };
        let is_modern = request.is_modern();
        let is_silent = !request.client.accepts_client_requests();
        if !(is_silent || never_asks_client(request, &tool))
            || is_modern && has_header_arguments(request, &tool)
        {
            return None;
        }
        let options = request.options();
        let progress_token = match request.params.meta.progress_token {
            Some(progress_token) => Some(valid_progress_token(progress_token)?.to_owned()),
            None => None,
        };
        let options =
            request
                .client
                .tool_call_options(request.principal, options, &DETACHED_CLIENT);
        Some(Self {
            hub: Arc::clone(hub),
            request: CallRequest {
                caller: options,
                tool: tool.into_owned(),
                arguments,
            },
            id: request.id.to_owned(),
            sink: NotificationSink {
                progress_token,
                uses_input_required: is_modern && is_silent,
                notifications: Arc::default(),
            },
            is_modern,
        })
    }

    fn notifications(&self) -> Arc<NotificationBuffer> {
        Arc::clone(&self.sink.notifications)
    }

    async fn run(self) -> EncodedResponse {
        let realm = self.request.caller.realm;
        let caller = CallOptions {
            client: &self.sink,
            ..self.request.caller
        };
        let request = CallRequest {
            caller,
            ..self.request
        };
        let outcome = calls::call_tool(&self.hub, request).await;
        let (id, is_modern) = (self.id, self.is_modern);
        let response = encode_outcome(&self.hub, realm, &id, outcome, is_modern).await;
        match self.hub.lease_answer(realm, response.json.encoded_len()) {
            Ok(lease) => EncodedResponse { lease, ..response },
            Err(failure) => encode_result(&id, &ToolResult::from_failure(&failure), is_modern),
        }
    }
}

/// Encodes the outcome of a call. Large results are encoded in the CPU pool.
async fn encode_outcome(
    hub: &Hub,
    realm: RealmId,
    id: &RawValue,
    outcome: Result<RoundOutcome<ToolResult>, CallError>,
    is_modern: bool,
) -> EncodedResponse {
    match outcome {
        Ok(RoundOutcome::Complete(result))
            if result.is_borrowed() || encoded_size::fits_within(&result, INLINE_LIMIT) =>
        {
            encode_result(id, &result, is_modern)
        }
        Ok(RoundOutcome::Complete(result)) => {
            let order = work::work_on_result(realm, &result);
            let own_id = id.to_owned();
            let work = move || encode_result(&own_id, &result, is_modern);
            let encoded = hub.run_work(order, work).await;
            encoded.unwrap_or_else(|error| {
                encode_result(
                    id,
                    &ToolResult::from_failure(&error.after_call()),
                    is_modern,
                )
            })
        }
        // Cannot happen: a client that declares no capability receives no requests.
        Ok(RoundOutcome::InputRequired { .. }) => {
            let message = "the call waits for input, and the client declared that it has none";
            encode_error(id, &ErrorData::internal_error(message, None), is_modern)
        }
        Err(error) => encode_call_error(id, error, is_modern),
    }
}

/// Serves a call of MCP 2026-07-28, which ends with its connection.
async fn serve_stateless(request: &FastPathRequest<'_>, call: FastPathCall) -> Response {
    let events_only = request.events_only;
    let notifications = call.notifications();
    let mut stream = CallStream::new(call.run(), Arc::clone(&notifications), None);
    match first_item(&notifications, stream.next(), events_only).await {
        None => sse_response::ephemeral(None, stream),
        Some(CallStreamItem::Notification(first)) => sse_response::ephemeral(Some(first), stream),
        Some(CallStreamItem::Response(response)) => single_response(response, events_only),
        Some(CallStreamItem::Cancelled) => sse_response::empty(),
    }
}

/// Serves a call of an MCP session, which outlives its connection.
async fn serve_in_session(request: &FastPathRequest<'_>, call: FastPathCall) -> Option<Response> {
    let session = request.session.as_ref()?;
    let request_key = raw_request_key(request.id)?;
    let guard = session.begin_call(request_key)?;
    let (notifications, hub) = (call.notifications(), Arc::clone(&call.hub));
    let stream = CallStream::new(call.run(), Arc::clone(&notifications), Some(guard));
    let mut stream = DetachOnDrop::new(stream, &hub);
    let first = match first_item(&notifications, stream.next(), request.events_only).await {
        Some(CallStreamItem::Response(response)) => {
            stream.into_inner();
            return Some(single_response(response, false));
        }
        Some(CallStreamItem::Cancelled) => {
            stream.into_inner();
            return Some(sse_response::empty());
        }
        Some(CallStreamItem::Notification(first)) => Some(first),
        None => None,
    };
    let events = request.mcp.sessions.event_log();
    let sends_priming_event = request.client.supports_priming_events();
    Some(sse_response::resumable(
        first,
        stream,
        events,
        &hub,
        sends_priming_event,
    ))
}

/// Waits for the first item of a call. Returns `None` when the time in which a response may be a
/// JSON body has passed. From then on every item is an event.
async fn first_item(
    notifications: &NotificationBuffer,
    next: impl Future<Output = CallStreamItem>,
    events_only: bool,
) -> Option<CallStreamItem> {
    if events_only {
        notifications.commit_to_stream();
        return None;
    }
    let mut next = pin!(next);
    let first = match tokio::time::timeout(INLINE_RESPONSE_TIMEOUT, &mut next).await {
        Ok(first) => first,
        Err(_) if notifications.commit_to_stream() => return None,
        // The response is being encoded as a body.
        Err(_) => next.await,
    };
    if let CallStreamItem::Notification(_) = first {
        notifications.commit_to_stream();
    }
    Some(first)
}

/// Whether each page with the tool declares that the tool sends no requests.
fn never_asks_client(request: &FastPathRequest<'_>, tool: &str) -> bool {
    if definition::reserved::is_builtin_tool(tool) {
        return tool != builtin_tools::CALL_SESSION_TOOL;
    }
    any_candidate_tool(request, tool, |tool| tool.asks_client).is_none_or(|asks| !asks)
}

/// Whether arguments of the tool are also in headers (SEP-2243).
fn has_header_arguments(request: &FastPathRequest<'_>, tool: &str) -> bool {
    request.mcp.state.hub.definitions.has_header_arguments()
        && any_candidate_tool(request, tool, |tool| tool.has_header_arguments()).unwrap_or(false)
}

/// Whether a tool that the call may be routed to satisfies the predicate. `None` if the realm does
/// not exist.
fn any_candidate_tool(
    request: &FastPathRequest<'_>,
    name: &str,
    predicate: impl Fn(&tool::Tool) -> bool,
) -> Option<bool> {
    let hub = &request.mcp.state.hub;
    hub.with_realm_mut(request.principal.realm, |realm| {
        realm.any_candidate_tool(name, predicate)
    })
}

/// Returns a progress token that is valid in MCP, which is a string or an integer.
fn valid_progress_token(token: &RawValue) -> Option<&RawValue> {
    let text = token.get();
    (text.starts_with('"') || text.parse::<i64>().is_ok()).then_some(token)
}

/// Returns the key by which a cancellation names the request, as [`request_key`] does. A plain id
/// is used as it is written. Returns `None` for an id that rmcp does not accept.
fn raw_request_key(id: &RawValue) -> Option<Box<str>> {
    let text = id.get();
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() < 18
        || text.starts_with('"') && !text.contains('\\');
    if is_plain {
        return Some(text.into());
    }
    let id: RequestId = serde_json::from_str(text).ok()?;
    Some(request_key(&id))
}

/// Returns the response as a JSON body, or as a stream with one event if the client needs that.
pub(super) fn single_response(response: EncodedResponse, events_only: bool) -> Response {
    let as_events = events_only || response.json.encoded_len() > MAX_BODY_BYTES;
    if as_events && response.status == StatusCode::OK {
        return sse_response::single_event(response);
    }
    let body = AnswerBody::new(response.json, response.lease);
    json_response(response.status, Body::new(body))
}

fn json_response(status: StatusCode, json: impl Into<Body>) -> Response {
    let mut response = Response::new(json.into());
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// Starts a JSON-RPC response, up to its member `result` or `error`.
pub(super) fn begin_response(id: &RawValue, capacity: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(capacity + 128);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.get().as_bytes());
    out
}

fn encode_result(id: &RawValue, result: &ToolResult, is_modern: bool) -> EncodedResponse {
    let mut out = begin_response(id, 1024);
    out.extend_from_slice(b",\"result\":{");
    if is_modern {
        out.extend_from_slice(b"\"resultType\":\"complete\",");
    }
    let tail: &[u8] = if result.is_error() {
        b"}}"
    } else {
        b",\"isError\":false}}"
    };
    EncodedResponse {
        status: StatusCode::OK,
        json: result.encode_body(out, tail),
        lease: None,
    }
}

pub(super) fn encode_call_error(
    id: &RawValue,
    error: CallError,
    is_modern: bool,
) -> EncodedResponse {
    encode_error(id, &convert::to_error_data(error, is_modern), is_modern)
}

fn encode_error(id: &RawValue, error: &ErrorData, is_modern: bool) -> EncodedResponse {
    let mut out = begin_response(id, 256);
    out.extend_from_slice(b",\"error\":");
    // Writing into memory cannot fail.
    let _ = serde_json::to_writer(&mut out, error);
    out.push(b'}');
    let is_bad_request = is_modern && error.code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
    EncodedResponse {
        status: if is_bad_request {
            StatusCode::BAD_REQUEST
        } else {
            StatusCode::OK
        },
        json: out.into(),
        lease: None,
    }
}

#[cfg(test)]
mod tests;
