//! OpenAI's chat completions API, which compatible servers also support.
//!
//! Streams: <https://platform.openai.com/docs/api-reference/chat-streaming/streaming> ("The chat
//! completion chunk object"), calls in pieces:
//! <https://platform.openai.com/docs/guides/function-calling>, section "Streaming". Errors:
//! <https://platform.openai.com/docs/guides/error-codes/api-errors>. Compatible servers send the
//! model's thinking as `reasoning_content`:
//! <https://docs.vllm.ai/en/latest/features/reasoning_outputs.html>.

use serde_json::{Value, json};

use super::turn_frames::{TurnContext, TurnFrames, unnamed_event};
use crate::mock_provider::script::{Step, StopReason};
use crate::provider_rules::{ChatServer, Issued};

/// Encodes a turn as the chunks of a stream.
pub(super) fn encode(context: &TurnContext<'_>, issued: &mut Issued) -> TurnFrames {
    let server = context.server;
    let wants_usage = context.request.body["stream_options"]["include_usage"] == true;
    let id = format!("chatcmpl-mock{:08}", issued.next_number());
    let chunk = |choices: Value| {
        json!({
            "id": id,
            "object": "chat.completion.chunk",
            "created": 1_694_268_190,
            "model": context.request.model(),
            "system_fingerprint": "fp_44709d6fcb",
            "choices": choices,
        })
    };
    let choice = |delta: Value, finish_reason: Option<&str>| {
        let mut chunk = chunk(json!([{
            "index": 0,
            "delta": delta,
            "logprobs": null,
            "finish_reason": finish_reason,
        }]));
        if wants_usage {
            chunk["usage"] = Value::Null;
        }
        chunk
    };
    let finish_reason = match context.turn.stop {
        StopReason::Natural if context.turn.calls() > 0 => "tool_calls",
        StopReason::Natural => "stop",
        StopReason::Length => "length",
        StopReason::Refusal => "content_filter",
    };
    let mut opening = Vec::new();
    if server == ChatServer::DeepSeek {
        opening.push(": keep-alive\n\n".to_owned());
    }
    let role = json!({ "role": "assistant", "content": "" });
    opening.push(unnamed_event(&choice(role, None)));
    let mut encoder = DeltaEncoder {
        context,
        issued,
        reasoning: String::new(),
    };
    let mut frames = TurnFrames::new(context, opening, |step| {
        let delta = encoder.delta(step);
        let chunk = delta.map(|delta| unnamed_event(&choice(delta, None)));
        chunk.into_iter().collect()
    });
    let mut end = choice(json!({}), Some(finish_reason));
    let mut with_usage = chunk(json!([]));
    with_usage["usage"] = usage(context);
    // Mistral counts without being asked, in the chunk with the end.
    if server == ChatServer::Mistral {
        end["usage"] = usage(context);
    }
    frames.closing.push(unnamed_event(&end));
    if wants_usage && server != ChatServer::Mistral {
        frames.closing.push(unnamed_event(&with_usage));
    }
    frames.closing.push("data: [DONE]\n\n".to_owned());
    frames
}

/// Encodes the steps of a turn into deltas.
struct DeltaEncoder<'a> {
    context: &'a TurnContext<'a>,
    issued: &'a mut Issued,
    /// The reasoning so far, which DeepSeek requires again.
    reasoning: String,
}

impl DeltaEncoder<'_> {
    fn delta(&mut self, step: &Step) -> Option<Value> {
        let server = self.context.server;
        // These send a call at once.
        let is_whole = [ChatServer::Ollama, ChatServer::Mistral].contains(&server);
        match step {
            Step::Thinking(text) => {
                let accepted = self.context.accepted;
                let field = match server {
                    ChatServer::Ollama | ChatServer::Vllm => "reasoning",
                    _ => "reasoning_content",
                };
                (accepted.thinks && accepted.shows_thinking).then(|| {
                    self.reasoning.push_str(text);
                    json!({ field: text })
                })
            }
            Step::Text(text) => Some(json!({ "content": text })),
            Step::Call { call, tool, .. } if !is_whole => {
                let function = json!({ "name": tool, "arguments": "" });
                Some(self.call(*call, &function))
            }
            Step::Arguments { call, piece, .. } if !is_whole => {
                let function = json!({ "arguments": piece });
                Some(json!({ "tool_calls": [{ "index": call, "function": function }] }))
            }
            Step::Arguments {
                call,
                whole: Some((tool, arguments)),
                ..
            } => {
                let (index, arguments) = match server {
                    // All parallel calls have the index 0.
                    ChatServer::Ollama => (0, json!(arguments.to_string())),
                    _ => (*call, arguments.clone()),
                };
                let function = json!({ "name": tool, "arguments": arguments });
                Some(self.call(index, &function))
            }
            Step::Call { .. } | Step::Arguments { .. } => None,
        }
    }

    fn call(&mut self, index: usize, function: &Value) -> Value {
        let number = self.issued.next_number();
        let id = match self.context.server {
            ChatServer::Mistral => format!("call{number:05}"),
            _ => format!("call_mock{number:08}"),
        };
        self.issued.chat.add(&id, &self.reasoning);
        json!({ "tool_calls": [{
            "index": index,
            "id": id,
            "type": "function",
            "function": function,
        }] })
    }
}

fn usage(context: &TurnContext<'_>) -> Value {
    let tokens = context.turn.usage;
    let mut usage = json!({
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
    });
    if context.server != ChatServer::Ollama {
        usage["prompt_tokens_details"] = json!({ "cached_tokens": tokens.cached });
        usage["completion_tokens_details"] = json!({ "reasoning_tokens": tokens.thinking });
    }
    usage
}

/// Returns the kind, the code and the message of the error with this status.
pub(super) fn usual_error(status: u16) -> (&'static str, Option<&'static str>, &'static str) {
    match status {
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
    }
}
