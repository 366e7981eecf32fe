//! OpenAI's Responses API, which Codex and OpenAI's agent SDKs use.
//!
//! Streams: <https://platform.openai.com/docs/api-reference/responses-streaming>; calls:
//! <https://platform.openai.com/docs/guides/function-calling>. Codex puts the tools of an MCP
//! server into a namespace: a script names one of them `namespace.tool`.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::openai::{call_id, error_response, request::check_root};
use super::provider_request::{KEY, ProviderError, ProviderRequest, array, text};
use super::turn_frames::{TurnContext, TurnFrames};
use crate::mock_provider::script::{Step, StopReason};

pub(super) fn validate(request: &ProviderRequest<'_>) -> Result<(), ProviderError> {
    let bad_request = |message: &str| Err(error_response(400, Some(message.to_owned())));
    let key = request.header("authorization").unwrap_or_default();
    if key.strip_prefix("Bearer ") != Some(KEY) {
        return Err(error_response(401, None));
    }
    let body = request.body;
    if text(&body["model"]).is_none() {
        return bad_request("Missing required parameter: 'model'.");
    }
    if body["stream"] != true {
        return bad_request("this provider only streams: `stream` must be true");
    }
    // A namespace contains tools.
    let groups = array(&body["tools"]).iter();
    for tool in groups.flat_map(|tool| [std::slice::from_ref(tool), array(&tool["tools"])].concat())
    {
        check_root(text(&tool["name"]).unwrap_or_default(), &tool["parameters"])?;
    }
    let items = array(&body["input"]);
    if items.is_empty() && text(&body["input"]).is_none() {
        return bad_request("Missing required parameter: 'input'.");
    }
    let mut calls = HashSet::new();
    for item in items {
        let id = item["call_id"].as_str().unwrap_or_default();
        match item["type"].as_str() {
            Some("function_call") => {
                calls.insert(id);
            }
            Some("function_call_output") if !calls.remove(id) => {
                return bad_request(&format!(
                    "No tool call found for function call output with call_id {id}."
                ));
            }
            _ => {}
        }
    }
    match calls.iter().next() {
        None => Ok(()),
        Some(call) => bad_request(&format!("No tool output found for function call {call}.")),
    }
}

/// Returns how many turns of the model are in the history: the items of one turn are consecutive.
pub(super) fn turns_before(request: &ProviderRequest<'_>) -> usize {
    let is_models = |item: &Value| {
        let kind = item["type"].as_str().unwrap_or_default();
        item["role"] == "assistant" || matches!(kind, "function_call" | "reasoning")
    };
    let items = array(&request.body["input"]);
    let begins_turn = |(index, item): &(usize, &Value)| {
        is_models(item) && (*index == 0 || !is_models(&items[index - 1]))
    };
    items.iter().enumerate().filter(begins_turn).count()
}

/// Encodes a turn as the events of a stream.
pub(super) fn encode(context: &TurnContext<'_>) -> TurnFrames {
    let mut encoder = ItemEncoder {
        context,
        sequence: 0,
        output: Vec::new(),
    };
    let opening = vec![encoder.event(
        "response.created",
        json!({ "response": encoder.response("in_progress") }),
    )];
    let steps = context
        .steps
        .iter()
        .map(|step| encoder.step(step))
        .collect();
    let closing = encoder.closing();
    TurnFrames {
        opening,
        steps,
        closing,
    }
}

/// Encodes the steps of a turn into output items.
struct ItemEncoder<'a> {
    context: &'a TurnContext<'a>,
    sequence: u64,
    /// The items that have been sent.
    output: Vec<Value>,
}

impl ItemEncoder<'_> {
    fn event(&mut self, kind: &str, mut fields: Value) -> String {
        fields["type"] = json!(kind);
        fields["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        format!("event: {kind}\ndata: {fields}\n\n")
    }

    fn response(&self, status: &str) -> Value {
        json!({
            "id": format!("resp_mock{:04}", self.context.number),
            "object": "response",
            "created_at": 1_694_268_190,
            "status": status,
            "model": self.context.request.model(),
            "output": [],
            "parallel_tool_calls": true,
            "tool_choice": "auto",
            "tools": [],
        })
    }

    fn step(&mut self, step: &Step) -> Vec<String> {
        match step {
            Step::Thinking(text) => {
                let summary = json!([{ "type": "summary_text", "text": text }]);
                let item =
                    json!({ "type": "reasoning", "id": self.item_id("rs"), "summary": summary });
                self.whole_item(item)
            }
            Step::Text(text) => self.message(text),
            Step::Call { call, tool } => {
                let (namespace, name) = match tool.rsplit_once('.') {
                    Some((namespace, name)) => (Some(namespace), name),
                    None => (None, tool.as_str()),
                };
                let mut item = json!({
                    "type": "function_call",
                    "id": self.item_id("fc"),
                    "call_id": call_id(self.context.number, *call),
                    "name": name,
                    "arguments": "",
                    "status": "in_progress",
                });
                if let Some(namespace) = namespace {
                    item["namespace"] = json!(namespace);
                }
                self.output.push(item.clone());
                let index = self.output.len() - 1;
                let fields = json!({ "output_index": index, "item": item });
                vec![self.event("response.output_item.added", fields)]
            }
            Step::Arguments { piece, .. } => {
                let index = self.output.len() - 1;
                let item = &mut self.output[index];
                let before = item["arguments"].as_str().unwrap_or_default();
                item["arguments"] = json!(format!("{before}{piece}"));
                let fields =
                    json!({ "output_index": index, "item_id": item["id"], "delta": piece });
                vec![self.event("response.function_call_arguments.delta", fields)]
            }
        }
    }

    fn message(&mut self, text: &str) -> Vec<String> {
        let part = json!({ "type": "output_text", "text": text, "annotations": [] });
        let item = json!({
            "type": "message",
            "id": self.item_id("msg"),
            "role": "assistant",
            "status": "completed",
            "content": [part],
        });
        let index = self.output.len();
        let position = json!({ "output_index": index, "item_id": item["id"], "content_index": 0 });
        let with = |key: &str, value: Value| {
            let mut fields = position.clone();
            fields[key] = value;
            fields
        };
        let mut empty = item.clone();
        empty["content"] = json!([]);
        let added = json!({ "output_index": index, "item": empty });
        let done = json!({ "output_index": index, "item": item });
        self.output.push(item);
        vec![
            self.event("response.output_item.added", added),
            self.event(
                "response.content_part.added",
                with(
                    "part",
                    json!({ "type": "output_text", "text": "", "annotations": [] }),
                ),
            ),
            self.event("response.output_text.delta", with("delta", json!(text))),
            self.event("response.output_text.done", with("text", json!(text))),
            self.event("response.content_part.done", with("part", part)),
            self.event("response.output_item.done", done),
        ]
    }

    /// Sends an item at once.
    fn whole_item(&mut self, item: Value) -> Vec<String> {
        let index = self.output.len();
        let fields = json!({ "output_index": index, "item": item });
        self.output.push(item);
        vec![
            self.event("response.output_item.added", fields.clone()),
            self.event("response.output_item.done", fields),
        ]
    }

    fn closing(&mut self) -> Vec<String> {
        let mut frames = Vec::new();
        for index in 0..self.output.len() {
            if self.output[index]["type"] != "function_call" {
                continue;
            }
            self.output[index]["status"] = json!("completed");
            let item = self.output[index].clone();
            let done = json!({ "output_index": index, "item_id": item["id"],
                "arguments": item["arguments"] });
            frames.push(self.event("response.function_call_arguments.done", done));
            let done = json!({ "output_index": index, "item": item });
            frames.push(self.event("response.output_item.done", done));
        }
        let tokens = self.context.turn.usage;
        let (kind, status, reason) = match self.context.turn.stop {
            StopReason::Natural => ("response.completed", "completed", None),
            StopReason::Length => (
                "response.incomplete",
                "incomplete",
                Some("max_output_tokens"),
            ),
            StopReason::Refusal => ("response.incomplete", "incomplete", Some("content_filter")),
        };
        let mut response = self.response(status);
        response["output"] = json!(self.output);
        response["usage"] = json!({
            "input_tokens": tokens.input,
            "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": tokens.output,
            "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": tokens.input + tokens.output,
        });
        if let Some(reason) = reason {
            response["incomplete_details"] = json!({ "reason": reason });
        }
        frames.push(self.event(kind, json!({ "response": response })));
        frames
    }

    fn item_id(&self, prefix: &str) -> String {
        format!(
            "{prefix}_mock{:04}{:04}",
            self.context.number,
            self.output.len()
        )
    }
}

pub(super) fn stream_error() -> String {
    let error = json!({ "type": "error", "code": "server_error", "param": null,
        "message": "The server had an error while processing your request. Sorry about that!" });
    format!("event: error\ndata: {error}\n\n")
}
