//! The MCP method `tools/call`.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use bridge_auth::RealmId;
use bridge_protocol::ClientResponse;
use bridge_results::encoded_size;
use bridge_results::request_error::CallError;
use bridge_results::tool_result::ToolResult;
use bytes::Bytes;
use rmcp::ErrorData;
use serde_json::value::RawValue;

use super::answer::{
    EncodedResponse, encode_call_error, encode_error, encode_result, encode_tool_result,
};
use super::call_client::{CallClient, MessageBuffer};
use super::call_stream::{CallStream, CallStreamItem, DetachOnDrop};
use super::checked_request::CheckedRequest;
use super::http_response::single_response;
use super::input_required::RequestStateSealer;
use super::message::{json_string, request_key};
use super::request_digest::RequestDigest;
use super::{http_response, param_headers};
use crate::calls::{
    self, Arguments, CallOptions, CallRequest, DETACHED_CLIENT, ResumeToken, RoundOutcome,
};
use crate::cpu_pool::{INLINE_LIMIT, WorkOrder};
use crate::hub::Hub;
use crate::results::work;

/// A response within this time, without a message before it, is a JSON body. After it the response is
/// a stream, from which the client learns that its call continues and, in an MCP session, how to
/// resume. Little is lost with a connection that breaks so early, and some clients read bodies of any
/// length but no long events. Clients wait at least five seconds for the head of a response.
const INLINE_RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Serves a call with this body. Returns `None` for one that rmcp must refuse, as that of a session
/// that has ended meanwhile.
pub(super) async fn serve(request: Option<CheckedRequest<'_>>, body: &Bytes) -> Option<Response> {
    let request = request?;
    let call = match ToolCall::new(&request, body).await {
        Ok(call) => call,
        Err(error) => {
            let response = encode_error(request.id, &error, request.is_modern);
            return Some(single_response(response, request.events_only));
        }
    };
    match &request.session {
        Some(_) => serve_in_session(&request, call).await,
        None => Some(serve_stateless(&request, call).await),
    }
}

/// A call of a tool, as its request describes it.
struct ToolCall {
    hub: Arc<Hub>,
    sealer: Arc<RequestStateSealer>,
    request: CallRequest<'static>,
    id: Box<RawValue>,
    client: CallClient,
    input: RoundInput,
}

/// What binds a call to its next round.
struct RoundInput {
    tool: String,
    /// The arguments as they were sent, which are part of the body.
    arguments: Bytes,
    request_state: Option<String>,
}

impl ToolCall {
    async fn new(request: &CheckedRequest<'_>, body: &Bytes) -> Result<Self, ErrorData> {
        let params = request.params;
        let invalid = |message: &'static str| ErrorData::invalid_params(message, None);
        if params.has_duplicates {
            return Err(invalid("a member of `params` occurs twice: send each once"));
        }
        let tool = params.name.and_then(json_string).ok_or_else(|| {
            invalid("`params.name` is missing or not a string: it must be the name of a tool")
        })?;
        param_headers::check(request, &tool).await?;
        let (arguments, text) = match params.arguments {
            Some(object) if object.get().starts_with('{') => (
                Arguments::from_raw(object.to_owned()),
                body.slice_ref(object.get().as_bytes()),
            ),
            None => (Arguments::default(), Bytes::new()),
            Some(null) if null.get() == "null" => (Arguments::default(), Bytes::new()),
            Some(_) => return Err(invalid("`params.arguments` must be an object")),
        };
        let request_state = match params.request_state.filter(|state| state.get() != "null") {
            Some(state) => {
                let state = json_string(state)
                    .ok_or_else(|| invalid("`params.requestState` must be a string"))?;
                Some(state.into_owned())
            }
            None => None,
        };
        let client_responses = client_responses(params.input_responses)
            .ok_or_else(|| invalid("`params.inputResponses` must be an object"))?;
        let options = request.options()?;
        let options =
            request
                .client
                .tool_call_options(request.principal, options, &DETACHED_CLIENT);
        Ok(Self {
            hub: Arc::clone(&request.mcp.state.hub),
            sealer: Arc::clone(&request.mcp.sealer),
            input: RoundInput {
                tool: tool.clone().into_owned(),
                arguments: text,
                request_state,
            },
            request: CallRequest {
                caller: CallOptions {
                    client_responses,
                    ..options
                },
                tool: tool.into_owned(),
                arguments,
            },
            id: request.id.to_owned(),
            client: CallClient {
                progress_token: request.progress_token().map(ToOwned::to_owned),
                questions: request.session.as_ref().map(|it| Arc::clone(&it.questions)),
                is_modern: request.is_modern,
                messages: Arc::default(),
            },
        })
    }

    fn messages(&self) -> Arc<MessageBuffer> {
        Arc::clone(&self.client.messages)
    }

    async fn run(self) -> EncodedResponse {
        let realm = self.request.caller.realm;
        let (id, is_modern) = (&*self.id, self.client.is_modern);
        let resume_token = match self.input.unseal(&self.hub, &self.sealer, realm).await {
            Ok(resume_token) => resume_token,
            Err(error) => return encode_error(id, &error, is_modern),
        };
        let caller = CallOptions {
            client: &self.client,
            resume_token,
            ..self.request.caller
        };
        let request = CallRequest {
            caller,
            ..self.request
        };
        let outcome = calls::call_tool(&self.hub, request).await;
        let response = match outcome {
            Ok(RoundOutcome::Complete(result)) => {
                encode_complete(&self.hub, realm, id, result, is_modern).await
            }
            Ok(RoundOutcome::InputRequired {
                resume_token: token,
                requests,
            }) => {
                let digest = self.input.digest(&self.hub, realm).await;
                let sealed = digest.and_then(|digest| {
                    self.sealer.input_required(realm, &digest, &token, requests)
                });
                match sealed {
                    Ok(result) => encode_result(id, &result),
                    Err(error) => encode_error(id, &error, is_modern),
                }
            }
            Err(error) => encode_call_error(id, error, is_modern),
        };
        match self.hub.lease_answer(realm, response.json.encoded_len()) {
            Ok(lease) => EncodedResponse { lease, ..response },
            Err(failure) => encode_tool_result(id, &ToolResult::from_failure(&failure), is_modern),
        }
    }
}

impl RoundInput {
    /// Returns the call that the request resumes, if it names one.
    async fn unseal(
        &self,
        hub: &Hub,
        sealer: &RequestStateSealer,
        realm: RealmId,
    ) -> Result<Option<ResumeToken>, ErrorData> {
        let Some(state) = &self.request_state else {
            return Ok(None);
        };
        let digest = self.digest(hub, realm).await?;
        sealer.unseal(realm, &digest, state).map(Some)
    }

    /// Computes the digest of the request. Large arguments are parsed in the CPU pool.
    async fn digest(&self, hub: &Hub, realm: RealmId) -> Result<RequestDigest, ErrorData> {
        let order = (self.arguments.len() > INLINE_LIMIT)
            .then(|| WorkOrder::for_json(realm, self.arguments.len()));
        let (tool, arguments) = (self.tool.clone(), self.arguments.clone());
        let work = move || RequestDigest::of_json("tools/call", &tool, &arguments);
        let digest = hub.run_work_unless_small(order, work).await;
        digest.map_err(|error| super::convert::to_error_data(CallError::Failed(error.into()), true))
    }
}

/// Returns the client's responses to the requests of earlier rounds, or `None` for JSON that is no
/// object.
fn client_responses(responses: Option<&RawValue>) -> Option<Vec<ClientResponse>> {
    let Some(responses) = responses else {
        return Some(Vec::new());
    };
    let responses: Option<BTreeMap<String, Box<RawValue>>> =
        serde_json::from_str(responses.get()).ok()?;
    let responses = responses.unwrap_or_default().into_iter();
    let responses = responses.map(|(key, result)| ClientResponse {
        key,
        result: Some(result),
        error: None,
    });
    Some(responses.collect())
}

/// Encodes the result of a call. A large one is encoded in the CPU pool.
async fn encode_complete(
    hub: &Hub,
    realm: RealmId,
    id: &RawValue,
    result: ToolResult,
    is_modern: bool,
) -> EncodedResponse {
    if result.is_borrowed() || encoded_size::fits_within(&result, INLINE_LIMIT) {
        return encode_tool_result(id, &result, is_modern);
    }
    let order = work::work_on_result(realm, &result);
    let own_id = id.to_owned();
    let work = move || encode_tool_result(&own_id, &result, is_modern);
    let encoded = hub.run_work(order, work).await;
    encoded.unwrap_or_else(|error| {
        let failure = ToolResult::from_failure(&error.after_call());
        encode_tool_result(id, &failure, is_modern)
    })
}

/// Serves a call without a session, which ends with its connection.
async fn serve_stateless(request: &CheckedRequest<'_>, call: ToolCall) -> Response {
    let events_only = request.events_only;
    let messages = call.messages();
    let mut stream = CallStream::new(call.run(), Arc::clone(&messages), None);
    match first_item(&messages, stream.next(), events_only).await {
        None => http_response::ephemeral(None, stream),
        Some(CallStreamItem::Message(first)) => http_response::ephemeral(Some(first), stream),
        Some(CallStreamItem::Response(response)) => single_response(response, events_only),
        Some(CallStreamItem::Cancelled) => http_response::empty(),
    }
}

/// Serves a call of an MCP session, which outlives its connection.
async fn serve_in_session(request: &CheckedRequest<'_>, call: ToolCall) -> Option<Response> {
    let session = request.session.as_ref()?;
    let guard = session.begin_call(&request_key(request.id)?)?;
    let (messages, hub) = (call.messages(), Arc::clone(&call.hub));
    let stream = CallStream::new(call.run(), Arc::clone(&messages), Some(guard));
    let mut stream = DetachOnDrop::new(stream, &hub);
    let first = match first_item(&messages, stream.next(), request.events_only).await {
        Some(CallStreamItem::Response(response)) => {
            stream.into_inner();
            return Some(single_response(response, false));
        }
        Some(CallStreamItem::Cancelled) => {
            stream.into_inner();
            return Some(http_response::empty());
        }
        Some(CallStreamItem::Message(first)) => Some(first),
        None => None,
    };
    let events = request.mcp.sessions.event_log();
    let sends_priming_event = request.client.supports_priming_events();
    Some(http_response::resumable(
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
