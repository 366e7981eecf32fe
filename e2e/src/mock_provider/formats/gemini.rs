//! Gemini's `streamGenerateContent`.
//!
//! Streams: <https://ai.google.dev/api/generate-content> (`GenerateContentResponse`,
//! `FinishReason`) and <https://ai.google.dev/gemini-api/docs/text-generation>, section "Streaming
//! responses". Calls: <https://ai.google.dev/gemini-api/docs/function-calling>. Errors:
//! <https://ai.google.dev/gemini-api/docs/troubleshooting> and, for their shape,
//! <https://cloud.google.com/apis/design/errors>.

pub(super) mod request;

use serde_json::{Value, json};

use super::provider_request::ProviderError;
use super::turn_frames::{TurnContext, TurnFrames};
use crate::mock_provider::script::{Fault, Step, StopReason};

/// A stand-in for a signature, which only the provider can verify.
pub(super) const SIGNATURE: &str = "CiQB0e2Kb6WlqTbJ0vVDWzKHWYmLbJrLkPYFRl0kUeUMZb0K";

/// Encodes a turn as the events of a stream.
pub(super) fn encode(context: &TurnContext<'_>) -> TurnFrames {
    let step = |step: &Step| match part(context.number, step) {
        Some(part) => vec![chunk(context, part, None)],
        // A call is sent at once, with its arguments.
        None => Vec::new(),
    };
    let finish_reason = match context.turn.stop {
        _ if context.fault == Some(&Fault::ArgumentsCutOff) => "MALFORMED_FUNCTION_CALL",
        StopReason::Natural => "STOP",
        StopReason::Length => "MAX_TOKENS",
        StopReason::Refusal => "SAFETY",
    };
    TurnFrames {
        opening: Vec::new(),
        steps: context.steps.iter().map(step).collect(),
        closing: vec![chunk(context, json!({ "text": "" }), Some(finish_reason))],
    }
}

fn part(turn: usize, step: &Step) -> Option<Value> {
    match step {
        Step::Thinking(text) => Some(json!({ "text": text, "thought": true })),
        Step::Text(text) => Some(json!({ "text": text })),
        Step::Arguments {
            call,
            whole: Some((tool, arguments)),
            ..
        } => {
            let id = call_id(turn, *call);
            let function_call = json!({ "name": tool, "args": arguments, "id": id });
            let mut part = json!({ "functionCall": function_call });
            // Only the first of parallel calls has a signature.
            if *call == 0 {
                part["thoughtSignature"] = SIGNATURE.into();
            }
            Some(part)
        }
        Step::Call { .. } | Step::Arguments { .. } => None,
    }
}

fn chunk(context: &TurnContext<'_>, part: Value, finish_reason: Option<&str>) -> String {
    let tokens = context.turn.usage;
    let mut candidate = json!({
        "content": { "parts": [part], "role": "model" },
        "index": 0,
    });
    if let Some(reason) = finish_reason {
        candidate["finishReason"] = reason.into();
    }
    event(&json!({
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": tokens.input,
            "candidatesTokenCount": tokens.output,
            "totalTokenCount": tokens.input + tokens.output,
        },
        "modelVersion": context.request.model(),
        "responseId": format!("mock{:04}", context.number),
    }))
}

/// Returns the id of a call; it is the same in the same turn of every query.
pub(super) fn call_id(turn: usize, call: usize) -> String {
    format!("mock{turn:04}{call:04}")
}

/// Returns an event; Google ends lines with CR LF.
fn event(data: &Value) -> String {
    format!("data: {data}\r\n\r\n")
}

pub(super) fn stream_error() -> String {
    event(&error_response(503, None).body)
}

pub(super) fn error_response(status: u16, message: Option<String>) -> ProviderError {
    let (kind, usual) = match status {
        401 => (
            "UNAUTHENTICATED",
            "Request had invalid authentication credentials.",
        ),
        403 => (
            "PERMISSION_DENIED",
            "Method doesn't allow unregistered callers (callers without established identity). \
             Please use API Key or other form of API consumer identity to call this API.",
        ),
        404 => ("NOT_FOUND", "models/no-such-model is not found."),
        429 => (
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota, please check your plan and billing details.",
        ),
        503 | 529 => (
            "UNAVAILABLE",
            "The model is overloaded. Please try again later.",
        ),
        504 => (
            "DEADLINE_EXCEEDED",
            "Deadline expired before operation could complete.",
        ),
        500.. => (
            "INTERNAL",
            "An internal error has occurred. Please retry or report in \
             https://developers.generativeai.google/guide/troubleshooting",
        ),
        _ => ("INVALID_ARGUMENT", "Request contains an invalid argument."),
    };
    let message = message.unwrap_or_else(|| usual.to_owned());
    ProviderError {
        status,
        body: json!({ "error": { "code": status, "message": message, "status": kind } }),
    }
}

/// Returns the error for an unknown key, which has status 400 instead of 401.
fn unknown_key() -> ProviderError {
    let mut error = error_response(
        400,
        Some("API key not valid. Please pass a valid API key.".to_owned()),
    );
    error.body["error"]["details"] = json!([{
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "API_KEY_INVALID",
        "domain": "googleapis.com",
    }]);
    error
}
