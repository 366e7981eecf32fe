//! Anthropic's Messages API.
//!
//! Streams: <https://platform.claude.com/docs/en/build-with-claude/streaming>, sections "Event
//! types" and "Full HTTP stream response" (basic, with tool use, with extended thinking). Errors:
//! <https://platform.claude.com/docs/en/api/errors>.

use serde_json::{Value, json};

use super::turn_frames::{TurnContext, TurnFrames, named_event};
use crate::mock_provider::script::{Step, StopReason};
use crate::provider_rules::Issued;

/// Encodes a turn as the events of a stream.
pub(super) fn encode(context: &TurnContext<'_>, issued: &mut Issued) -> TurnFrames {
    let usage = context.turn.usage;
    let opening = vec![
        named_event(&json!({
            "type": "message_start",
            "message": {
                "id": format!("msg_01Mock{:08}", issued.next_number()),
                "type": "message",
                "role": "assistant",
                "model": context.request.model(),
                "content": [],
                "stop_reason": null,
                "stop_sequence": null,
                "usage": {
                    "input_tokens": usage.input - usage.cached,
                    "cache_creation_input_tokens": 0,
                    "cache_read_input_tokens": usage.cached,
                    "output_tokens": 1,
                },
            },
        })),
        named_event(&json!({ "type": "ping" })),
    ];
    let stop_reason = match context.turn.stop {
        StopReason::Natural if context.turn.calls() > 0 => "tool_use",
        StopReason::Natural => "end_turn",
        StopReason::Length => "max_tokens",
        StopReason::Refusal => "refusal",
    };
    let mut encoder = BlockEncoder {
        context,
        issued,
        content: Vec::new(),
        is_open: false,
    };
    let mut frames = TurnFrames::new(context, opening, |step| encoder.step(step));
    frames.closing = encoder.close();
    frames.closing.push(named_event(&json!({
        "type": "message_delta",
        "delta": { "stop_reason": stop_reason, "stop_sequence": null },
        "usage": {
            "output_tokens": usage.output,
            "output_tokens_details": { "thinking_tokens": usage.thinking },
        },
    })));
    frames
        .closing
        .push(named_event(&json!({ "type": "message_stop" })));
    frames
}

/// Encodes the steps of a turn into content blocks.
struct BlockEncoder<'a> {
    context: &'a TurnContext<'a>,
    issued: &'a mut Issued,
    /// The blocks so far, as clients send them back.
    content: Vec<Value>,
    /// Whether more can be added to the last block.
    is_open: bool,
}

impl BlockEncoder<'_> {
    fn step(&mut self, step: &Step) -> Vec<String> {
        let accepted = self.context.accepted;
        match step {
            Step::Thinking(_) if !accepted.thinks => Vec::new(),
            Step::Thinking(text) => {
                let mut frames = self.block(json!({ "type": "thinking", "thinking": "" }));
                if accepted.shows_thinking {
                    self.append("thinking", text);
                    frames.push(self.delta(&json!({ "type": "thinking_delta", "thinking": text })));
                }
                frames
            }
            Step::Text(text) => {
                let mut frames = self.block(json!({ "type": "text", "text": "" }));
                self.append("text", text);
                frames.push(self.delta(&json!({ "type": "text_delta", "text": text })));
                frames
            }
            Step::Call {
                tool, arguments, ..
            } => {
                let mut frames = self.close();
                let id = format!("toolu_01Mock{:08}", self.issued.next_number());
                let start = json!({ "type": "tool_use", "id": id, "name": tool, "input": {} });
                frames.extend(self.block(start));
                frames.push(self.arguments(""));
                self.last()["input"] = arguments.clone();
                frames
            }
            // Nothing is written for a call without arguments.
            Step::Arguments { .. } if self.last()["input"] == json!({}) => Vec::new(),
            Step::Arguments { piece, .. } => vec![self.arguments(piece)],
        }
    }

    fn arguments(&self, piece: &str) -> String {
        self.delta(&json!({ "type": "input_json_delta", "partial_json": piece }))
    }

    fn last(&mut self) -> &mut Value {
        self.content.last_mut().expect("a block is open")
    }

    fn append(&mut self, field: &str, text: &str) {
        let before = self.last()[field].as_str().unwrap_or_default();
        let whole = format!("{before}{text}");
        self.last()[field] = json!(whole);
    }

    /// Starts a block unless one of its kind is open.
    fn block(&mut self, start: Value) -> Vec<String> {
        if self.is_open && self.last()["type"] == start["type"] {
            return Vec::new();
        }
        let mut frames = self.close();
        self.is_open = true;
        let index = self.content.len();
        frames.push(named_event(&json!({
            "type": "content_block_start",
            "index": index,
            "content_block": start,
        })));
        self.content.push(start);
        frames
    }

    fn close(&mut self) -> Vec<String> {
        if !std::mem::take(&mut self.is_open) {
            return Vec::new();
        }
        let mut frames = Vec::new();
        if self.last()["type"] == "thinking" {
            let signature = format!("EqQBMock{:08}", self.issued.next_number());
            self.last()["signature"] = json!(signature);
            let (block, before) = self.content.split_last().expect("a block was open");
            let thinking = block["thinking"].as_str().unwrap_or_default();
            let issued = &mut self.issued.anthropic;
            issued.add(self.context.request.body, before, thinking, &signature);
            let delta = json!({ "type": "signature_delta", "signature": signature });
            frames.push(self.delta(&delta));
        }
        let index = self.content.len() - 1;
        frames.push(named_event(
            &json!({ "type": "content_block_stop", "index": index }),
        ));
        frames
    }

    fn delta(&self, delta: &Value) -> String {
        let index = self.content.len() - 1;
        named_event(&json!({ "type": "content_block_delta", "index": index, "delta": delta }))
    }
}

/// Returns the kind, the code and the message of the error with this status.
pub(super) fn usual_error(status: u16) -> (&'static str, Option<&'static str>, &'static str) {
    let (kind, message) = match status {
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
    (kind, None, message)
}
