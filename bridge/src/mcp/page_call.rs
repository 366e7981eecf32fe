//! A call of a page: the requests that a page answers, which may ask the client before they do. The
//! response is a JSON body or the stream of the call.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use bridge_auth::RealmId;
use bridge_edge::ClientAddress;
use bridge_mcp_results::request_error::RequestError;
use bridge_realm::realm::CallFailure;
use http::StatusCode;
use rmcp::ErrorData;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::call_client::{CallClient, MessageBuffer};
use super::call_input::CallInput;
use super::call_stream::{CallFuture, CallStream, CallStreamItem, DetachOnDrop};
use super::checked_request::CheckedRequest;
use super::http_response::{self, single_response};
use super::input_required::RequestStateSealer;
use super::json_rpc_message::request_key;
use super::json_rpc_response::{
    EncodedResponse, encode_call_error, encode_error, encode_members, encode_result,
};
use super::response_limit::ResponseLimit;
use crate::calls::{CallOptions, RoundOutcome};
use crate::counters::CountedEnd;
use crate::hub::Hub;

/// A response within this time, without a message before it, is a JSON body. After it the response is
/// a stream, from which the client learns that its call continues and, in an MCP session, how to
/// resume. Little is lost with a connection that breaks so early, and some clients read bodies of any
/// length but no long events. Clients wait at least five seconds for the head of a response.
const INLINE_RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The context of a running call, besides its parameters.
pub(super) struct PageCall {
    pub(super) hub: Arc<Hub>,
    pub(super) realm: RealmId,
    address: ClientAddress,
    pub(super) id: Box<RawValue>,
    pub(super) client: CallClient,
    sealer: Arc<RequestStateSealer>,
}

impl PageCall {
    pub(super) fn new(request: &CheckedRequest<'_>) -> Self {
        let session = request.session.as_ref();
        Self {
            hub: Arc::clone(&request.mcp.state.hub),
            realm: request.principal.realm,
            address: request.address,
            id: request.id.to_owned(),
            client: CallClient {
                progress_token: request.progress_token().map(ToOwned::to_owned),
                questions: session.map(|session| Arc::clone(&session.questions)),
                is_modern: request.is_modern,
                messages: Arc::default(),
                max_message_bytes: request.client.max_message_bytes(),
            },
            sealer: Arc::clone(&request.mcp.sealer),
        }
    }

    /// Connects a call with its client, and with the earlier round that it resumes.
    pub(super) async fn options<'a>(
        &'a self,
        options: CallOptions<'static>,
        input: &mut CallInput,
    ) -> Result<CallOptions<'a>, EncodedResponse> {
        let resume_token = input.unseal(&self.hub, &self.sealer, self.realm).await;
        Ok(CallOptions {
            client: &self.client,
            resume_token: resume_token.map_err(|error| self.encode_error(&error))?,
            client_responses: std::mem::take(&mut input.client_responses),
            ..options
        })
    }

    /// Encodes the outcome of a round that is not complete. The outer result is the complete one.
    pub(super) async fn encode_incomplete<T>(
        &self,
        input: &CallInput,
        outcome: Result<RoundOutcome<T>, RequestError>,
    ) -> Result<T, EncodedResponse> {
        let (token, requests) = match outcome {
            Ok(RoundOutcome::Complete(result)) => return Ok(result),
            Ok(RoundOutcome::InputRequired {
                resume_token,
                requests,
            }) => (resume_token, requests),
            Err(error) => return Err(self.encode_call_error(error)),
        };
        let digest = input.digest(&self.hub, self.realm).await;
        let sealed = digest.and_then(|digest| {
            self.sealer
                .input_required(self.realm, &digest, &token, requests)
        });
        Err(match sealed {
            Ok(result) => encode_result(&self.id, &result).ending(CountedEnd::InputRequired),
            Err(error) => self.encode_error(&error),
        })
    }

    /// Encodes a result that is an object. `is_cacheable` means that MCP 2026-07-28 has a hint for it.
    pub(super) fn encode_object(
        &self,
        result: &Map<String, Value>,
        is_cacheable: bool,
    ) -> EncodedResponse {
        // A page can change what it has at any time.
        let hints = match (self.client.is_modern, is_cacheable) {
            (true, true) => r#""resultType":"complete","ttlMs":0,"cacheScope":"private""#,
            (true, false) => r#""resultType":"complete""#,
            (false, _) => "",
        };
        let json = encode_members(&self.id, hints, result);
        EncodedResponse::new(StatusCode::OK, json)
    }

    pub(super) fn encode_call_error(&self, error: RequestError) -> EncodedResponse {
        encode_call_error(&self.id, error, self.client.is_modern)
    }

    pub(super) fn encode_error(&self, error: &ErrorData) -> EncodedResponse {
        encode_error(&self.id, error, self.client.is_modern)
    }

    /// Acquires a lease on the bytes of a response, or replaces it.
    pub(super) fn with_lease(
        &self,
        response: EncodedResponse,
        replacement: impl FnOnce(CallFailure) -> EncodedResponse,
    ) -> EncodedResponse {
        let bytes = response.json.encoded_len();
        match self.hub.lease_answer(self.realm, self.address, bytes) {
            Ok(lease) => EncodedResponse { lease, ..response },
            Err(failure) => replacement(failure),
        }
    }
}

/// Responds to a request with an error.
pub(super) fn refuse(request: &CheckedRequest<'_>, error: &ErrorData) -> Response {
    let response = encode_error(request.id, error, request.is_modern);
    single_response(response, request.events_only)
}

/// Runs a call, whose messages are in the buffer. Returns `None` if its session has ended meanwhile.
pub(super) async fn serve(
    request: &CheckedRequest<'_>,
    messages: Arc<MessageBuffer>,
    run: CallFuture,
) -> Option<Response> {
    let stream = CallStream::new(run, Arc::clone(&messages));
    let stream = match request.client.max_message_bytes() {
        Some(bytes) => stream.with_limit(ResponseLimit::new(bytes, request.id, request.is_modern)),
        None => stream,
    };
    match &request.session {
        Some(session) => {
            let guard = session.begin_call(&request_key(request.id)?)?;
            let stream = stream.with_guard(guard);
            Some(serve_in_session(request, &messages, stream).await)
        }
        None => Some(serve_stateless(request, &messages, stream).await),
    }
}

/// Serves a call without a session, which ends with its connection.
async fn serve_stateless(
    request: &CheckedRequest<'_>,
    messages: &MessageBuffer,
    mut stream: CallStream,
) -> Response {
    let events_only = request.events_only;
    match first_item(messages, stream.next(), events_only).await {
        None => http_response::ephemeral(None, stream),
        Some(CallStreamItem::Message(first)) => http_response::ephemeral(Some(first), stream),
        Some(CallStreamItem::Response(response)) => single_response(response, events_only),
        Some(CallStreamItem::Cancelled) => http_response::empty(),
    }
}

/// Runs a call of plain HTTP whose client accepts only events, and whose messages are in the buffer. An
/// early failure is not an event: it has an HTTP status.
pub(crate) async fn serve_events(messages: Arc<MessageBuffer>, run: CallFuture) -> Response {
    let mut stream = CallStream::new(run, Arc::clone(&messages));
    match first_item(&messages, stream.next(), false).await {
        Some(CallStreamItem::Response(response)) => single_response(response, true),
        Some(CallStreamItem::Message(first)) => http_response::ephemeral(Some(first), stream),
        None | Some(CallStreamItem::Cancelled) => http_response::ephemeral(None, stream),
    }
}

/// Serves a call of an MCP session, which outlives its connection.
async fn serve_in_session(
    request: &CheckedRequest<'_>,
    messages: &MessageBuffer,
    stream: CallStream,
) -> Response {
    let hub = &request.mcp.state.hub;
    let mut stream = DetachOnDrop::new(stream, hub);
    let first = match first_item(messages, stream.next(), request.events_only).await {
        Some(CallStreamItem::Response(response)) => {
            stream.into_inner();
            return single_response(response, false);
        }
        Some(CallStreamItem::Cancelled) => {
            stream.into_inner();
            return http_response::empty();
        }
        Some(CallStreamItem::Message(first)) => Some(first),
        None => None,
    };
    let events = request.mcp.sessions.event_log();
    let sends_priming_event = request.client.supports_priming_events();
    http_response::resumable(first, stream, events, hub, sends_priming_event)
}

/// Waits for the first item of a call. Returns `None` when the time in which a response may be a
/// JSON body has passed. From then on every item is an event.
async fn first_item(
    messages: &MessageBuffer,
    next: impl Future<Output = CallStreamItem>,
    events_only: bool,
) -> Option<CallStreamItem> {
    if events_only {
        messages.commit_to_stream();
        return None;
    }
    let mut next = pin!(next);
    let first = match tokio::time::timeout(INLINE_RESPONSE_TIMEOUT, &mut next).await {
        Ok(first) => first,
        Err(_) if messages.commit_to_stream() => return None,
        // The response is being encoded as a body.
        Err(_) => next.await,
    };
    if let CallStreamItem::Message(_) = first {
        messages.commit_to_stream();
    }
    Some(first)
}
