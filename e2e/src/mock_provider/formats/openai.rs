//! OpenAI's chat completions API, which compatible servers also support.
//!
//! Streams: <https://platform.openai.com/docs/api-reference/chat-streaming/streaming> ("The chat
//! completion chunk object"), calls in pieces:
//! <https://platform.openai.com/docs/guides/function-calling>, section "Streaming". Errors:
//! <https://platform.openai.com/docs/guides/error-codes/api-errors>. Compatible servers send the
//! model's thinking as `reasoning_content`:
//! <https://docs.vllm.ai/en/latest/features/reasoning_outputs.html>.

pub(super) mod request;

use serde_json::{Value, json};

use super::provider_request::ProviderError;
use super::turn_frames::{TurnContext, TurnFrames};
use crate::mock_provider::script::{Step, StopReason};

/// Encodes a turn as the chunks of a stream.
pub(super) fn encode(context: &TurnContext<'_>) -> TurnFrames {
    let wants_usage = context.request.body["stream_options"]["include_usage"] == true;
    let chunk = |delta: Value, finish_reason: Option<&str>| {
        let choice = json!({
            "index": 0,
            "delta": delta,
            "logprobs": null,
            "finish_reason": finish_reason,
        });
        let mut chunk = chunk(context, json!([choice]));
        if wants_usage {
            chunk["usage"] = Value::Null;
        }
        event(&chunk)
    };
    let finish_reason = match context.turn.stop {
        StopReason::Natural if context.turn.calls() > 0 => "tool_calls",
        StopReason::Natural => "stop",
        StopReason::Length => "length",
        StopReason::Refusal => "content_filter",
    };
    let mut closing = vec![chunk(json!({}), Some(finish_reason))];
    if wants_usage {
        closing.push(event(&usage(context)));
    }
    closing.push("data: [DONE]\n\n".to_owned());
    let step = |step: &Step| vec![chunk(delta(context.number, step), None)];
    TurnFrames {
        opening: vec![chunk(json!({ "role": "assistant", "content": "" }), None)],
        steps: context.steps.iter().map(step).collect(),
        closing,
    }
}

fn delta(turn: usize, step: &Step) -> Value {
    match step {
        Step::Thinking(text) => json!({ "reasoning_content": text }),
        Step::Text(text) => json!({ "content": text }),
        Step::Call { call, tool } => json!({ "tool_calls": [{
            "index": call,
            "id": call_id(turn, *call),
            "type": "function",
            "function": { "name": tool, "arguments": "" },
        }] }),
        Step::Arguments { call, piece, .. } => json!({ "tool_calls": [{
            "index": call,
            "function": { "arguments": piece },
        }] }),
    }
}

fn chunk(context: &TurnContext<'_>, choices: Value) -> Value {
    json!({
        "id": format!("chatcmpl-mock{:04}", context.number),
        "object": "chat.completion.chunk",
        "created": 1_694_268_190,
        "model": context.request.model(),
        "system_fingerprint": "fp_44709d6fcb",
        "choices": choices,
    })
}

fn usage(context: &TurnContext<'_>) -> Value {
    let tokens = context.turn.usage;
    let mut chunk = chunk(context, json!([]));
    chunk["usage"] = json!({
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
    });
    chunk
}

/// Returns the id of a call; it is the same in the same turn of every query.
pub(super) fn call_id(turn: usize, call: usize) -> String {
    format!("call_mock{turn:06}{call:04}")
}

/// Returns an event without a name.
fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

pub(super) fn stream_error() -> String {
    event(&error_response(500, None).body)
}

pub(super) fn error_response(status: u16, message: Option<String>) -> ProviderError {
    let (kind, code, usual) = match status {
        401 => (
            "invalid_request_error",
            Some("invalid_api_key"),
            "Incorrect API key provided. You can find your API key at \
             https://platform.openai.com/account/api-keys.",
        ),
        403 => (
            "invalid_request_error",
            Some("unsupported_country_region_territory"),
            "Country, region, or territory not supported",
        ),
        404 => (
            "invalid_request_error",
            Some("model_not_found"),
            "The model `no-such-model` does not exist or you do not have access to it.",
        ),
        429 => (
            "requests",
            Some("rate_limit_exceeded"),
            "Rate limit reached for requests. Please try again later.",
        ),
        503 => (
            "server_error",
            None,
            "The engine is currently overloaded, please try again later",
        ),
        500.. => (
            "server_error",
            None,
            "The server had an error while processing your request. Sorry about that!",
        ),
        _ => ("invalid_request_error", None, "Invalid request"),
    };
    let message = message.unwrap_or_else(|| usual.to_owned());
    ProviderError {
        status,
        body: json!({
            "error": { "message": message, "type": kind, "param": null, "code": code },
        }),
    }
}
