//! Ollama's chat API.
//!
//! <https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-chat-completion>; calls in
//! streams: <https://ollama.com/blog/streaming-tool>; errors:
//! <https://docs.ollama.com/api/errors>.

use serde_json::{Value, json};

use super::provider_request::{ProviderError, ProviderRequest, array, text};
use super::turn_frames::{TurnContext, TurnFrames};
use crate::mock_provider::script::{Fault, Step, StopReason};

/// Encodes a turn as the lines of a stream.
pub(super) fn encode(context: &TurnContext<'_>) -> TurnFrames {
    let step = |step: &Step| match message(step) {
        Some(message) => vec![line(context, message)],
        // A call is sent at once, with its arguments.
        None => Vec::new(),
    };
    let done_reason = match context.turn.stop {
        _ if context.fault == Some(&Fault::ArgumentsCutOff) => "length",
        StopReason::Length => "length",
        StopReason::Natural | StopReason::Refusal => "stop",
    };
    let tokens = context.turn.usage;
    let last = json!({
        "model": context.request.model(),
        "created_at": "2024-07-22T20:33:28.123648Z",
        "message": { "role": "assistant", "content": "" },
        "done_reason": done_reason,
        "done": true,
        "total_duration": 885_095_291,
        "load_duration": 3_753_500,
        "prompt_eval_count": tokens.input,
        "prompt_eval_duration": 328_493_000,
        "eval_count": tokens.output,
        "eval_duration": 552_222_000,
    });
    TurnFrames {
        opening: Vec::new(),
        steps: context.steps.iter().map(step).collect(),
        closing: vec![format!("{last}\n")],
    }
}

fn message(step: &Step) -> Option<Value> {
    match step {
        Step::Thinking(text) => {
            Some(json!({ "role": "assistant", "content": "", "thinking": text }))
        }
        Step::Text(text) => Some(json!({ "role": "assistant", "content": text })),
        Step::Arguments {
            whole: Some((tool, arguments)),
            ..
        } => Some(json!({
            "role": "assistant",
            "content": "",
            "tool_calls": [{ "function": { "name": tool, "arguments": arguments } }],
        })),
        Step::Call { .. } | Step::Arguments { .. } => None,
    }
}

fn line(context: &TurnContext<'_>, message: Value) -> String {
    let line = json!({
        "model": context.request.model(),
        "created_at": "2024-07-22T20:33:28.123648Z",
        "message": message,
        "done": false,
    });
    format!("{line}\n")
}

/// Rejects a request that Ollama would reject. It accepts nearly everything with the right types.
pub(super) fn validate(request: &ProviderRequest<'_>) -> Result<(), ProviderError> {
    let body = request.body;
    if text(&body["model"]).is_none() {
        return bad_request("model is required");
    }
    if body["stream"] == false {
        return bad_request("this provider only streams: `stream` must not be false");
    }
    for tool in array(&body["tools"]) {
        let properties = tool["function"]["parameters"]["properties"].as_object();
        let mut properties = properties.into_iter().flatten();
        if properties.any(|(_, property)| !property.is_object()) {
            return bad_request(
                "json: cannot unmarshal bool into Go struct field \
                 ToolFunctionParameters.tools.function.parameters.properties of type \
                 api.ToolProperty",
            );
        }
    }
    for message in array(&body["messages"]) {
        let role = text(&message["role"]).unwrap_or_default();
        if !["system", "user", "assistant", "tool"].contains(&role) {
            return bad_request(&format!("invalid role: {role}"));
        }
        if !message["content"].is_string() && !message["content"].is_null() {
            return bad_request(
                "json: cannot unmarshal array into Go struct field ChatRequest.messages.content of \
                 type string",
            );
        }
        let calls = array(&message["tool_calls"]);
        if calls
            .iter()
            .any(|call| !call["function"]["arguments"].is_object())
        {
            return bad_request(
                "json: cannot unmarshal string into Go struct field \
                 ChatRequest.messages.tool_calls.function.arguments of type \
                 api.ToolCallFunctionArguments",
            );
        }
    }
    Ok(())
}

pub(super) fn stream_error() -> String {
    let error = json!({ "error": "an error was encountered while running the model" });
    format!("{error}\n")
}

pub(super) fn error_response(status: u16, message: Option<String>) -> ProviderError {
    let usual = match status {
        401 | 403 => "unauthorized",
        404 => "model 'no-such-model' not found",
        429 => "too many requests",
        502 => "upstream error",
        503 | 529 => "server busy, please try again.  maximum pending requests exceeded",
        500.. => "the model failed to generate a response",
        _ => "invalid request",
    };
    let message = message.unwrap_or_else(|| usual.to_owned());
    ProviderError {
        status,
        body: json!({ "error": message }),
    }
}

fn bad_request(message: &str) -> Result<(), ProviderError> {
    Err(error_response(400, Some(message.to_owned())))
}
