//! OpenAI's Responses API, which Codex and OpenAI's agent SDKs use.
//!
//! Streams: <https://platform.openai.com/docs/api-reference/responses-streaming>; calls:
//! <https://platform.openai.com/docs/guides/function-calling>. Codex puts the tools of an MCP
//! server into a namespace: a script names one of them `namespace.tool`.

use serde_json::{Value, json};

use super::turn_frames::{TurnContext, TurnFrames, named_event};
use crate::mock_provider::script::{Step, StopReason};
use crate::provider_rules::Issued;

/// Returns how many turns of the model are in the history: the items of one turn are consecutive.
pub(super) fn turns_before(body: &Value) -> usize {
    let is_models = |item: &Value| {
        let kind = item["type"].as_str().unwrap_or_default();
        item["role"] == "assistant" || matches!(kind, "function_call" | "reasoning")
    };
    let items = body["input"].as_array().map_or(&[][..], Vec::as_slice);
    let begins_turn = |(index, item): &(usize, &Value)| {
        is_models(item) && (*index == 0 || !is_models(&items[index - 1]))
    };
    items.iter().enumerate().filter(begins_turn).count()
}

/// Encodes a turn as the events of a stream.
pub(super) fn encode(context: &TurnContext<'_>, issued: &mut Issued) -> TurnFrames {
    let mut encoder = ItemEncoder {
        response: json!({
            "id": format!("resp_mock{:08}", issued.next_number()),
            "object": "response",
            "created_at": 1_694_268_190,
            "status": "in_progress",
            "model": context.request.model(),
            "output": [],
            "parallel_tool_calls": true,
            "tool_choice": "auto",
            "tools": [],
        }),
        context,
        issued,
        sequence: 0,
        output: Vec::new(),
        is_open: false,
    };
    let opening = vec![
        encoder.response_event("response.created"),
        encoder.response_event("response.in_progress"),
    ];
    let mut frames = TurnFrames::new(context, opening, |step| encoder.step(step));
    frames.closing = encoder.closing();
    frames
}

/// Encodes the steps of a turn into output items.
struct ItemEncoder<'a> {
    context: &'a TurnContext<'a>,
    issued: &'a mut Issued,
    response: Value,
    sequence: u64,
    /// The items so far, as clients send them back.
    output: Vec<Value>,
    /// Whether more can be added to the last item.
    is_open: bool,
}

impl ItemEncoder<'_> {
    fn event(&mut self, kind: &str, mut fields: Value) -> String {
        fields["type"] = json!(kind);
        fields["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        named_event(&fields)
    }

    fn response_event(&mut self, kind: &str) -> String {
        let response = json!({ "response": self.response });
        self.event(kind, response)
    }

    /// Returns an event of the item that is open.
    fn item_event(&mut self, kind: &str, mut fields: Value) -> String {
        fields["output_index"] = json!(self.output.len() - 1);
        fields["item_id"] = self.last()["id"].clone();
        self.event(kind, fields)
    }

    fn last(&mut self) -> &mut Value {
        self.output.last_mut().expect("an item is open")
    }

    fn step(&mut self, step: &Step) -> Vec<String> {
        let accepted = self.context.accepted;
        match step {
            Step::Thinking(_) if !accepted.thinks => Vec::new(),
            Step::Thinking(text) => {
                let mut frames = self.open("reasoning", json!({ "summary": [] }));
                if accepted.shows_thinking {
                    frames.extend(self.summary(text));
                }
                frames
            }
            Step::Text(text) => {
                let phase = match self.context.turn.calls() {
                    0 => "final_answer",
                    _ => "commentary",
                };
                let start = json!({
                    "status": "in_progress", "role": "assistant", "phase": phase, "content": [],
                });
                let mut frames = self.open("message", start);
                frames.extend(self.text(text));
                frames
            }
            Step::Call { tool, .. } => {
                let mut frames = self.close();
                let (namespace, name) = match tool.rsplit_once('.') {
                    Some((namespace, name)) => (Some(namespace), name),
                    None => (None, tool.as_str()),
                };
                let mut start = json!({
                    "call_id": format!("call_mock{:08}", self.issued.next_number()),
                    "name": name, "arguments": "", "status": "in_progress",
                });
                if let Some(namespace) = namespace {
                    start["namespace"] = json!(namespace);
                }
                frames.extend(self.open("function_call", start));
                frames
            }
            Step::Arguments { piece, .. } => {
                append(&mut self.last()["arguments"], piece);
                let delta = json!({ "delta": piece });
                vec![self.item_event("response.function_call_arguments.delta", delta)]
            }
        }
    }

    fn summary(&mut self, text: &str) -> Vec<String> {
        let mut frames = Vec::new();
        if self.last()["summary"] == json!([]) {
            let part = json!({ "type": "summary_text", "text": "" });
            self.last()["summary"] = json!([part]);
            let added = json!({ "summary_index": 0, "part": part });
            frames.push(self.item_event("response.reasoning_summary_part.added", added));
        }
        append(&mut self.last()["summary"][0]["text"], text);
        let delta = json!({ "summary_index": 0, "delta": text });
        frames.push(self.item_event("response.reasoning_summary_text.delta", delta));
        frames
    }

    fn text(&mut self, text: &str) -> Vec<String> {
        let mut frames = Vec::new();
        if self.last()["content"] == json!([]) {
            let part =
                json!({ "type": "output_text", "text": "", "annotations": [], "logprobs": [] });
            self.last()["content"] = json!([part]);
            let added = json!({ "content_index": 0, "part": part });
            frames.push(self.item_event("response.content_part.added", added));
        }
        append(&mut self.last()["content"][0]["text"], text);
        let delta = json!({ "content_index": 0, "delta": text, "logprobs": [] });
        frames.push(self.item_event("response.output_text.delta", delta));
        frames
    }

    /// Begins an item unless one of its kind is open.
    fn open(&mut self, kind: &str, mut start: Value) -> Vec<String> {
        if self.is_open && self.last()["type"] == kind {
            return Vec::new();
        }
        let mut frames = self.close();
        let prefix = match kind {
            "reasoning" => "rs",
            "message" => "msg",
            _ => "fc",
        };
        start["type"] = json!(kind);
        start["id"] = json!(format!("{prefix}_mock{:08}", self.issued.next_number()));
        self.is_open = true;
        let added = json!({ "output_index": self.output.len(), "item": start });
        self.output.push(start);
        frames.push(self.event("response.output_item.added", added));
        frames
    }

    /// Ends the item that is open.
    fn close(&mut self) -> Vec<String> {
        if !std::mem::take(&mut self.is_open) {
            return Vec::new();
        }
        let mut frames = Vec::new();
        match self.last()["type"].as_str() {
            Some("reasoning") => {
                let number = self.issued.next_number();
                self.last()["encrypted_content"] = json!(format!("gAAAAAmock{number:08}"));
                if let Some(part) = self.last()["summary"].get(0).cloned() {
                    let text = json!({ "summary_index": 0, "text": part["text"] });
                    let part = json!({ "summary_index": 0, "part": part });
                    frames.push(self.item_event("response.reasoning_summary_text.done", text));
                    frames.push(self.item_event("response.reasoning_summary_part.done", part));
                }
            }
            Some("message") => {
                self.last()["status"] = json!("completed");
                let part = self.last()["content"][0].clone();
                let text = json!({ "content_index": 0, "text": part["text"], "logprobs": [] });
                let part = json!({ "content_index": 0, "part": part });
                frames.push(self.item_event("response.output_text.done", text));
                frames.push(self.item_event("response.content_part.done", part));
            }
            _ => {
                self.last()["status"] = json!("completed");
                let arguments = json!({ "arguments": self.last()["arguments"] });
                frames.push(self.item_event("response.function_call_arguments.done", arguments));
            }
        }
        let issued = &mut self.issued.responses;
        issued.add(self.context.request.body, &self.output);
        let index = self.output.len() - 1;
        let done = json!({ "output_index": index, "item": self.output[index] });
        frames.push(self.event("response.output_item.done", done));
        frames
    }

    fn closing(&mut self) -> Vec<String> {
        let mut frames = self.close();
        let tokens = self.context.turn.usage;
        let reason = match self.context.turn.stop {
            StopReason::Natural => None,
            StopReason::Length => Some("max_output_tokens"),
            StopReason::Refusal => Some("content_filter"),
        };
        let status = match reason {
            None => "completed",
            Some(_) => "incomplete",
        };
        self.response["status"] = json!(status);
        self.response["output"] = json!(self.output);
        self.response["usage"] = json!({
            "input_tokens": tokens.input,
            "input_tokens_details": { "cached_tokens": tokens.cached, "cache_write_tokens": 0 },
            "output_tokens": tokens.output,
            "output_tokens_details": { "reasoning_tokens": tokens.thinking },
            "total_tokens": tokens.input + tokens.output,
        });
        if let Some(reason) = reason {
            self.response["incomplete_details"] = json!({ "reason": reason });
        }
        frames.push(self.response_event(&format!("response.{status}")));
        frames
    }
}

/// Adds a piece to a text.
fn append(text: &mut Value, piece: &str) {
    let before = text.as_str().unwrap_or_default();
    *text = json!(format!("{before}{piece}"));
}

pub(super) fn stream_error() -> String {
    named_event(
        &json!({ "type": "error", "code": "server_error", "param": null,
        "message": "The server had an error while processing your request. Sorry about that!" }),
    )
}
