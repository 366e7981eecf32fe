//! Requests of a handler to the client of its call: elicitation, sampling and roots.
//!
//! Requests and responses are stored by key until the call ends: a page that has reconnected
//! repeats its requests and gets the same responses.

use std::collections::HashMap;
use std::time::Duration;
use web_time::Instant;

use bridge_protocol::{ClientError, ClientRequest, ClientResponse, ErrorCode};
use indexmap::IndexMap;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

/// The maximum number of unanswered requests of one call.
pub(crate) const MAX_PENDING_REQUESTS: usize = 16;

/// The maximum number of requests of one call during its lifetime, including repeated ones.
pub const MAX_REQUESTS_PER_CALL: usize = 256;

/// The maximum size of all unanswered requests of one call, in bytes of JSON.
pub(crate) const MAX_PENDING_REQUEST_BYTES: usize = 4 * 1024 * 1024;

/// The maximum size of all responses to one call, in bytes of JSON. Repeated responses count again.
pub(crate) const MAX_CLIENT_RESPONSE_BYTES: usize = 16 * 1024 * 1024;

/// The maximum length of the key of a request in bytes.
pub const MAX_REQUEST_KEY_BYTES: usize = 256;

const ELICITATION_CREATE: &str = "elicitation/create";
const SAMPLING_CREATE_MESSAGE: &str = "sampling/createMessage";
const ROOTS_LIST: &str = "roots/list";

/// The requests of one call and their responses.
#[derive(Debug, Default)]
pub(super) struct PendingClientRequests {
    pending: IndexMap<String, PendingClientRequest>,
    answers: HashMap<String, ClientResponse>,
    /// Since when there are unanswered requests. The timeout of the call is paused from then on.
    waiting_since: Option<Instant>,
    /// The number of requests so far.
    request_count: usize,
    answer_bytes: usize,
}

#[derive(Debug)]
struct PendingClientRequest {
    request: ClientRequest,
    /// Whether the transport has taken the request.
    sent: bool,
}

impl PendingClientRequests {
    /// Starts with responses that were sent together with the call.
    pub(super) fn with_responses(answers: Vec<ClientResponse>) -> Self {
        let answers = answers
            .into_iter()
            .map(|answer| (answer.key.clone(), answer))
            .collect();
        Self {
            answers,
            ..Self::default()
        }
    }

    pub(super) fn waiting_since(&self) -> Option<Instant> {
        self.waiting_since
    }

    /// Moves the beginning of the wait by a time in which the bridge itself did not run.
    pub(super) fn extend_wait(&mut self, by: Duration) {
        self.waiting_since = self.waiting_since.map(|since| since + by);
    }

    /// Whether there are unanswered requests.
    pub(super) fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Adds a request. Returns the response if it is known already or if the request is refused.
    pub(super) fn request(
        &mut self,
        request: ClientRequest,
        declared: &Value,
        now: Instant,
    ) -> Option<ClientResponse> {
        let key = &request.key;
        if self.pending.contains_key(key) {
            return None;
        }
        if key.len() > MAX_REQUEST_KEY_BYTES {
            let message = format!("a key may have {MAX_REQUEST_KEY_BYTES} bytes: shorten this one");
            return Some(error_response(request.key, message));
        }
        self.request_count += 1;
        if self.request_count > MAX_REQUESTS_PER_CALL {
            return Some(error_response(
                request.key,
                format!(
                    "the handler has asked the client {MAX_REQUESTS_PER_CALL} times, which is the limit for \
                     one call: ask for more at once"
                ),
            ));
        }
        if let Some(answer) = self.answers.get(key) {
            let refused_before = answer.error.is_some();
            if refused_before || is_valid_response(&request, answer) {
                let answer = answer.clone();
                return Some(self.deliver(answer));
            }
            // It was sent in advance and does not match this request.
            self.answers.remove(key);
        }
        if self.pending.len() >= MAX_PENDING_REQUESTS {
            return Some(error_response(
                request.key,
                format!(
                    "the handler waits for {MAX_PENDING_REQUESTS} answers of the client, which is the \
                     limit: await some before you ask more"
                ),
            ));
        }
        let open_bytes = self
            .pending
            .values()
            .map(|open| request_bytes(&open.request));
        if open_bytes.sum::<usize>() + request_bytes(&request) > MAX_PENDING_REQUEST_BYTES {
            return Some(error_response(
                request.key,
                format!(
                    "with this request the handler waits for answers to more than \
                     {MAX_PENDING_REQUEST_BYTES} bytes, which is the limit: ask with less, or one after the \
                     other"
                ),
            ));
        }
        if let Some(error) = missing_capability(&request, declared) {
            return Some(ClientResponse {
                key: request.key,
                result: None,
                error: Some(error),
            });
        }
        self.waiting_since.get_or_insert(now);
        let open = PendingClientRequest {
            request,
            sent: false,
        };
        self.pending.insert(open.request.key.clone(), open);
        None
    }

    /// Returns the response, or an error if the responses exceed the maximum size.
    fn deliver(&mut self, answer: ClientResponse) -> ClientResponse {
        let bytes = answer.result.as_ref().map_or(0, |raw| raw.get().len());
        if self.answer_bytes + bytes > MAX_CLIENT_RESPONSE_BYTES {
            return error_response(
                answer.key,
                format!(
                    "the client's answers to this call have more than {MAX_CLIENT_RESPONSE_BYTES} bytes \
                     together, which is the limit: ask for less"
                ),
            );
        }
        self.answer_bytes += bytes;
        answer
    }

    /// Returns the requests that the transport has not taken yet.
    pub(super) fn take_unsent(&mut self) -> Vec<ClientRequest> {
        let untaken = self.pending.values_mut().filter(|open| !open.sent);
        untaken
            .map(|open| {
                open.sent = true;
                open.request.clone()
            })
            .collect()
    }

    /// All unanswered requests.
    pub(super) fn pending(&self) -> Vec<ClientRequest> {
        let open = self.pending.values();
        open.map(|open| open.request.clone()).collect()
    }

    /// Resolves a request. Returns `None` if there is no such request or the response does not
    /// match it.
    pub(super) fn resolve(&mut self, response: ClientResponse) -> Option<ClientResponse> {
        let pending = self.pending.get(&response.key)?;
        if response.error.is_none() && !is_valid_response(&pending.request, &response) {
            return None;
        }
        self.pending.shift_remove(&response.key);
        let delivered = self.deliver(response);
        self.answers
            .insert(delivered.key.clone(), delivered.clone());
        Some(delivered)
    }

    /// Resolves a request. A response that does not match the request fails it.
    pub(super) fn resolve_or_fail(&mut self, response: ClientResponse) -> Option<ClientResponse> {
        let request = &self.pending.get(&response.key)?.request;
        if response.error.is_some() || is_valid_response(request, &response) {
            return self.resolve(response);
        }
        let message = format!(
            "the client's answer to `{}` is not as MCP has it",
            request.method
        );
        self.resolve(error_response(response.key, message))
    }

    /// The time that the call has waited for the client; `None` while there are unanswered
    /// requests.
    pub(super) fn take_wait_time(&mut self, now: Instant) -> Option<Duration> {
        if !self.pending.is_empty() {
            return None;
        }
        Some(now - self.waiting_since.take()?)
    }

    /// Drops all requests and responses, because another document continues the call. Its handler
    /// may send other requests under the same keys.
    pub(super) fn abandon(&mut self) {
        self.pending.clear();
        self.answers.clear();
    }

    /// Fails all unanswered requests.
    pub(super) fn expire(&mut self, timeout: Duration) -> Vec<ClientResponse> {
        let error = ClientError {
            code: ErrorCode::ClientRequestFailed,
            message: format!(
                "the client did not answer within {} s: retry, or raise `input_timeout`",
                timeout.as_secs_f32()
            ),
            data: None,
        };
        let keys: Vec<_> = self.pending.keys().cloned().collect();
        let failed = keys.into_iter().map(|key| ClientResponse {
            key,
            result: None,
            error: Some(error.clone()),
        });
        let failed: Vec<_> = failed.collect();
        failed
            .into_iter()
            .filter_map(|response| self.resolve(response))
            .collect()
    }
}

fn error_response(key: String, message: String) -> ClientResponse {
    ClientResponse {
        key,
        result: None,
        error: Some(ClientError {
            code: ErrorCode::ClientRequestFailed,
            message,
            data: None,
        }),
    }
}

fn request_bytes(request: &ClientRequest) -> usize {
    request.key.len() + request.method.len() + request.params.get().len()
}

/// Parses the capabilities of a client, once for all requests of a message.
pub(super) fn parse_capabilities(capabilities: Option<&RawValue>) -> Value {
    capabilities
        .and_then(|declared| serde_json::from_str(declared.get()).ok())
        .unwrap_or_default()
}

/// Whether the result of a response has the shape that MCP's schema defines for this request.
fn is_valid_response(request: &ClientRequest, response: &ClientResponse) -> bool {
    let result = response.result.as_deref().map(RawValue::get);
    if result.is_some_and(|result| result.len() > MAX_CLIENT_RESPONSE_BYTES) {
        // The size is refused, without parsing it.
        return true;
    }
    let Some(Ok(result)) = result.map(serde_json::from_str::<Map<String, Value>>) else {
        return false;
    };
    match request.method.as_str() {
        ELICITATION_CREATE => {
            let action = result.get("action").and_then(Value::as_str);
            let content = result.get("content");
            action.is_some_and(|action| ["accept", "decline", "cancel"].contains(&action))
                && content.is_none_or(|content| content.is_object() || content.is_null())
        }
        SAMPLING_CREATE_MESSAGE => {
            result.get("role").is_some_and(Value::is_string) && result.contains_key("content")
        }
        _ => result.get("roots").is_some_and(Value::is_array),
    }
}

/// The error for a request whose capability the client has not declared.
fn missing_capability(request: &ClientRequest, declared: &Value) -> Option<ClientError> {
    let params: Value = serde_json::from_str(request.params.get()).unwrap_or_default();
    let has = |pointer: &str| {
        declared
            .pointer(pointer)
            .is_some_and(|found| !found.is_null())
    };
    let (is_supported, required, what) = match request.method.as_str() {
        ELICITATION_CREATE if params["mode"] == "url" => (
            has("/elicitation/url"),
            json!({"elicitation": {"url": {}}}),
            "open a URL for the person (elicitation in URL mode)",
        ),
        // Before 2025-11-25 elicitation meant forms only, and forms are still its default.
        ELICITATION_CREATE => (
            has("/elicitation/form") || (has("/elicitation") && !has("/elicitation/url")),
            json!({"elicitation": {}}),
            "ask the person (elicitation)",
        ),
        SAMPLING_CREATE_MESSAGE
            if !params["tools"].is_null() || !params["toolChoice"].is_null() =>
        {
            (
                has("/sampling/tools"),
                json!({"sampling": {"tools": {}}}),
                "sample with tools",
            )
        }
        SAMPLING_CREATE_MESSAGE => (
            has("/sampling"),
            json!({"sampling": {}}),
            "sample its model",
        ),
        ROOTS_LIST => (has("/roots"), json!({"roots": {}}), "list its roots"),
        unknown => {
            let message = format!(
                "a client cannot be asked `{unknown}`: there are {ELICITATION_CREATE}, {SAMPLING_CREATE_MESSAGE} and {ROOTS_LIST}"
            );
            return Some(ClientError {
                code: ErrorCode::UnknownMethod,
                message,
                data: None,
            });
        }
    };
    (!is_supported).then(|| ClientError {
        code: ErrorCode::ClientCapabilityMissing,
        message: format!(
            "the client behind this call cannot {what}: do without, or use another client"
        ),
        data: to_raw_value(&json!({ "requiredCapabilities": required })).ok(),
    })
}
