//! Anthropic's Messages API.
//!
//! Streams: <https://platform.claude.com/docs/en/build-with-claude/streaming>, sections "Event
//! types" and "Full HTTP stream response" (basic, with tool use, with extended thinking). Errors:
//! <https://platform.claude.com/docs/en/api/errors>.

pub(super) mod request;

use serde_json::{Value, json};

use super::provider_request::ProviderError;
use super::turn_frames::{TurnContext, TurnFrames};
use crate::mock_provider::script::{Step, StopReason};

/// A stand-in for a signature, which only the provider can verify.
pub(super) const SIGNATURE: &str = "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds";

/// Encodes a turn as the events of a stream.
pub(super) fn encode(context: &TurnContext<'_>) -> TurnFrames {
    let mut encoder = BlockEncoder {
        number: context.number,
        index: 0,
        open: None,
    };
    let steps = context
        .steps
        .iter()
        .map(|step| encoder.step(step))
        .collect();
    let usage = context.turn.usage;
    let opening = vec![
        event(&json!({
            "type": "message_start",
            "message": {
                "id": format!("msg_01MockMessage{:04}", context.number),
                "type": "message",
                "role": "assistant",
                "model": context.request.model(),
                "content": [],
                "stop_reason": null,
                "stop_sequence": null,
                "usage": { "input_tokens": usage.input, "output_tokens": 1 },
            },
        })),
        event(&json!({ "type": "ping" })),
    ];
    let stop_reason = match context.turn.stop {
        StopReason::Natural if context.turn.calls() > 0 => "tool_use",
        StopReason::Natural => "end_turn",
        StopReason::Length => "max_tokens",
        StopReason::Refusal => "refusal",
    };
    let mut closing = encoder.close();
    closing.push(event(&json!({
        "type": "message_delta",
        "delta": { "stop_reason": stop_reason, "stop_sequence": null },
        "usage": { "output_tokens": usage.output },
    })));
    closing.push(event(&json!({ "type": "message_stop" })));
    TurnFrames {
        opening,
        steps,
        closing,
    }
}

/// Encodes the steps of a turn into content blocks.
struct BlockEncoder {
    number: usize,
    index: usize,
    open: Option<Block>,
}

#[derive(Clone, Copy, PartialEq)]
enum Block {
    Thinking,
    Text,
    Tool,
}

impl BlockEncoder {
    fn step(&mut self, step: &Step) -> Vec<String> {
        match step {
            Step::Thinking(text) => {
                let start = json!({ "type": "thinking", "thinking": "" });
                let mut frames = self.block(Block::Thinking, &start);
                let delta = json!({ "type": "thinking_delta", "thinking": text });
                frames.push(self.delta(&delta));
                frames
            }
            Step::Text(text) => {
                let mut frames = self.block(Block::Text, &json!({ "type": "text", "text": "" }));
                frames.push(self.delta(&json!({ "type": "text_delta", "text": text })));
                frames
            }
            Step::Call { call, tool } => {
                let mut frames = self.close();
                let id = call_id(self.number, *call);
                let start = json!({ "type": "tool_use", "id": id, "name": tool, "input": {} });
                frames.extend(self.block(Block::Tool, &start));
                frames.push(self.arguments(""));
                frames
            }
            Step::Arguments { piece, .. } => vec![self.arguments(piece)],
        }
    }

    fn arguments(&self, piece: &str) -> String {
        self.delta(&json!({ "type": "input_json_delta", "partial_json": piece }))
    }

    /// Starts a block unless one of its kind is open.
    fn block(&mut self, block: Block, start: &Value) -> Vec<String> {
        if self.open == Some(block) {
            return Vec::new();
        }
        let mut frames = self.close();
        self.open = Some(block);
        frames.push(event(&json!({
            "type": "content_block_start",
            "index": self.index,
            "content_block": start,
        })));
        frames
    }

    fn close(&mut self) -> Vec<String> {
        let mut frames = Vec::new();
        if self.open == Some(Block::Thinking) {
            frames.push(self.delta(&json!({ "type": "signature_delta", "signature": SIGNATURE })));
        }
        if self.open.take().is_some() {
            frames.push(event(
                &json!({ "type": "content_block_stop", "index": self.index }),
            ));
            self.index += 1;
        }
        frames
    }

    fn delta(&self, delta: &Value) -> String {
        event(&json!({ "type": "content_block_delta", "index": self.index, "delta": delta }))
    }
}

/// Returns the id of a call; it is the same in the same turn of every query.
pub(super) fn call_id(turn: usize, call: usize) -> String {
    format!("toolu_01Mock{turn:06}Call{call:04}")
}

/// Returns an event that is named after the type of its data.
fn event(data: &Value) -> String {
    let name = data["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}

pub(super) fn stream_error() -> String {
    event(&json!({
        "type": "error",
        "error": { "type": "overloaded_error", "message": "Overloaded" },
    }))
}

pub(super) fn error_response(status: u16, message: Option<String>) -> ProviderError {
    let (kind, usual) = match status {
        401 => ("authentication_error", "invalid x-api-key"),
        403 => (
            "permission_error",
            "Your API key does not have permission to use the specified resource.",
        ),
        404 => ("not_found_error", "model: no-such-model"),
        413 => ("request_too_large", "Request exceeds the maximum size"),
        429 => (
            "rate_limit_error",
            "This request would exceed your account's rate limit. Please try again later.",
        ),
        504 => ("timeout_error", "Your request timed out while processing."),
        529 => ("overloaded_error", "Overloaded"),
        500.. => ("api_error", "Internal server error"),
        _ => ("invalid_request_error", "Invalid request"),
    };
    let message = message.unwrap_or_else(|| usual.to_owned());
    ProviderError {
        status,
        body: json!({
            "type": "error",
            "error": { "type": kind, "message": message },
            "request_id": "req_011CMockRequest",
        }),
    }
}
