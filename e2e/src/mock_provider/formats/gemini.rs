//! Gemini's `streamGenerateContent`.
//!
//! Streams: <https://ai.google.dev/api/generate-content> (`GenerateContentResponse`,
//! `FinishReason`) and <https://ai.google.dev/gemini-api/docs/text-generation>, section "Streaming
//! responses". Calls: <https://ai.google.dev/gemini-api/docs/function-calling>. Errors:
//! <https://ai.google.dev/gemini-api/docs/troubleshooting> and, for their shape,
//! <https://cloud.google.com/apis/design/errors>.

use serde_json::{Value, json};

use super::turn_frames::{TurnContext, TurnFrames};
use crate::mock_provider::script::{Fault, Step, StopReason, TurnPart};
use crate::provider_rules::{Issued, gemini::has_signatures};

/// Encodes a turn as the events of a stream.
pub(super) fn encode(context: &TurnContext<'_>, issued: &mut Issued) -> TurnFrames {
    let finish_reason = match context.turn.stop {
        _ if context.fault == Some(&Fault::ArgumentsCutOff) => "MALFORMED_FUNCTION_CALL",
        StopReason::Natural => "STOP",
        StopReason::Length => "MAX_TOKENS",
        StopReason::Refusal => "SAFETY",
    };
    let mut encoder = PartEncoder {
        context,
        response: format!("mock{:08}", issued.next_number()),
        issued,
        is_signed: false,
    };
    let mut frames = TurnFrames::new(context, Vec::new(), |step| match encoder.part(step) {
        Some(part) => vec![encoder.chunk(&part, None)],
        // A call is sent at once, with its arguments.
        None => Vec::new(),
    });
    let mut last = json!({ "text": "" });
    let is_text = |part: &TurnPart| matches!(part, TurnPart::Text(_));
    if context.turn.calls() == 0 && context.turn.pieces.iter().any(is_text) {
        encoder.sign(&mut last);
    }
    frames.closing = vec![encoder.chunk(&last, Some(finish_reason))];
    frames
}

/// Encodes the steps of a turn into parts.
struct PartEncoder<'a> {
    context: &'a TurnContext<'a>,
    issued: &'a mut Issued,
    response: String,
    is_signed: bool,
}

impl PartEncoder<'_> {
    fn part(&mut self, step: &Step) -> Option<Value> {
        match step {
            Step::Thinking(text) if self.context.accepted.shows_thinking => {
                Some(json!({ "text": text, "thought": true }))
            }
            Step::Text(text) => Some(json!({ "text": text })),
            Step::Arguments {
                whole: Some((tool, arguments)),
                ..
            } => {
                let mut call = json!({ "name": tool });
                // Calls without arguments have no field for them.
                if arguments != &json!({}) {
                    call["args"] = arguments.clone();
                }
                if has_signatures(self.context.request.model()) {
                    call["id"] = json!(format!("mock{:08}", self.issued.next_number()));
                }
                let mut part = json!({ "functionCall": call });
                let config = &self.context.request.body["toolConfig"]["functionCallingConfig"];
                // A forced call may have no signature.
                if config["mode"] != "ANY" {
                    self.sign(&mut part);
                }
                Some(part)
            }
            Step::Thinking(_) | Step::Call { .. } | Step::Arguments { .. } => None,
        }
    }

    /// Adds a signature to a part if the model thinks: only the first of parallel calls has one.
    fn sign(&mut self, part: &mut Value) {
        if self.context.accepted.thinks && !std::mem::replace(&mut self.is_signed, true) {
            let signature = format!("c2lnbmF0dXJl{:08}", self.issued.next_number());
            self.issued.gemini.add(&signature);
            part["thoughtSignature"] = json!(signature);
        }
    }

    fn chunk(&self, part: &Value, finish_reason: Option<&str>) -> String {
        let tokens = self.context.turn.usage;
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
                "cachedContentTokenCount": tokens.cached,
                "candidatesTokenCount": tokens.output - tokens.thinking,
                "thoughtsTokenCount": tokens.thinking,
                "totalTokenCount": tokens.input + tokens.output,
            },
            "modelVersion": self.context.request.model(),
            "responseId": self.response,
        }))
    }
}

/// Returns an event; Google ends lines with CR LF.
pub(super) fn event(data: &Value) -> String {
    format!("data: {data}\r\n\r\n")
}

/// Returns the kind, the code and the message of the error with this status.
pub(super) fn usual_error(status: u16) -> (&'static str, Option<&'static str>, &'static str) {
    let (kind, message) = match status {
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
    (kind, None, message)
}

/// Changes the usual error with status 400 into the one for an unknown key.
pub(super) fn describe_unknown_key(error: &mut Value) {
    error["message"] = json!("API key not valid. Please pass a valid API key.");
    error["details"] = json!([{
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "API_KEY_INVALID",
        "domain": "googleapis.com",
    }]);
}
