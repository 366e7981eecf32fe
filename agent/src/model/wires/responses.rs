//! OpenAI Responses: <https://developers.openai.com/api/docs/api-reference/responses>
//!
//! The input and the output are lists of items: messages, calls, results and reasoning. The request
//! does not use what OpenAI stores, so that each one has the whole conversation. Reasoning is sent back
//! encrypted.

use http::HeaderName;
use http::header::AUTHORIZATION;
use serde_json::{Value, json};

use super::{
    AnswerFormat, CallResult, ModelCall, ModelMessage, ModelRules, ModelTurn, ResponseReader, Wire,
    WireChoice, WireRequest, WireTool, WireTurn, field, media_caption, object, result_text, string,
    truncate_name,
};
use crate::model::{Media, Thinking, UserMessage};

mod item;
mod item_match;
mod reader;

use item::kind;
use reader::Reader;

/// OpenAI refuses less.
const MIN_OUTPUT_TOKENS: u32 = 16;

/// The wire of OpenAI Responses.
#[derive(Debug)]
pub(super) struct Responses;

impl Wire for Responses {
    fn request(&self, turn: &WireTurn<'_>) -> WireRequest {
        let max_output_tokens = turn.max_output_tokens.max(MIN_OUTPUT_TOKENS);
        // OpenAI sends encrypted reasoning by default, and Azure and proxies only on request. A model that
        // does not reason may refuse the field.
        let include = (turn.rules.encrypted_thoughts && reasons(turn.rules))
            .then(|| json!(["reasoning.encrypted_content"]));
        let caches = turn.is_official && turn.rules.cache_marks;
        let cache_key = caches.then(|| truncate_name(turn.cache_group));
        let body = object([
            ("model", turn.model.into()),
            ("max_output_tokens", max_output_tokens.into()),
            ("temperature", turn.temperature.into()),
            ("input", input(turn).into()),
            ("tools", tools(turn.tools)),
            ("tool_choice", tool_choice(turn)),
            ("text", turn.answer.map(text_format).into()),
            // Servers with this API, also those of Azure, store responses by default.
            ("store", false.into()),
            ("include", include.into()),
            ("prompt_cache_key", cache_key.into()),
            ("stream", true.into()),
        ]);
        WireRequest::new("responses", body)
    }

    fn key_header(&self, key: &str) -> (HeaderName, String) {
        (AUTHORIZATION, format!("Bearer {key}"))
    }

    fn reader(&self, _separates_thoughts: bool) -> Box<dyn ResponseReader> {
        Box::<Reader>::default()
    }
}

/// Returns whether the model of these rules reasons. Others refuse items with reasoning.
fn reasons(rules: &ModelRules) -> bool {
    rules.thinking.always || !rules.thinking.fields(Thinking::High).is_empty()
}

fn input(turn: &WireTurn<'_>) -> Vec<Value> {
    let mut items = Vec::new();
    if !turn.system.trim().is_empty() {
        // Not `instructions`: GPT-6.2 appends them after the input, where they are never cached. The
        // templates of models on other servers often know no `developer`.
        let role = if turn.is_official {
            "developer"
        } else {
            "system"
        };
        items.push(message(role, turn.system.into()));
    }
    for message in turn.history {
        match message {
            ModelMessage::User(user) => items.extend(user_item(user)),
            ModelMessage::Model(model_turn) => match turn.kept_blocks(model_turn) {
                Some(blocks) => {
                    let with_thoughts = turn.with_thoughts && reasons(turn.rules);
                    items.extend(kept_items(blocks, with_thoughts));
                }
                None => items.extend(model_items(model_turn, turn)),
            },
            ModelMessage::Results(results) => {
                items.extend(result_items(results, turn.rules.media_in_results));
            }
        }
    }
    items
}

fn message(role: &str, content: Value) -> Value {
    json!({ "role": role, "content": content })
}

fn user_item(user: &UserMessage) -> Option<Value> {
    if user.media.is_empty() {
        let has_text = !user.text.trim().is_empty();
        return has_text.then(|| message("user", user.text.as_str().into()));
    }
    let media = user.media.iter().map(media_part);
    let content: Vec<_> = media.chain(text_part(&user.text)).collect();
    Some(message("user", content.into()))
}

fn text_part(text: &str) -> Option<Value> {
    let has_text = !text.trim().is_empty();
    has_text.then(|| json!({ "type": "input_text", "text": text }))
}

fn media_part(media: &Media) -> Value {
    let url = format!("data:{};base64,{}", media.mime_type, media.data);
    if media.is_picture() {
        json!({ "type": "input_image", "detail": "auto", "image_url": url })
    } else {
        // A file is refused without a name.
        let name = media.name.as_deref().unwrap_or("file");
        json!({ "type": "input_file", "filename": name, "file_data": url })
    }
}

/// Returns the items of a turn as OpenAI has sent them. An item names the reasoning before it by its
/// id, so that without reasoning the ids are left out.
fn kept_items(blocks: &[Value], with_thoughts: bool) -> Vec<Value> {
    let is_reasoning = |block: &Value| kind(block) == "reasoning";
    // Reasoning that is not encrypted is found only if OpenAI has stored it.
    let is_encrypted = |block: &Value| !string(block, "encrypted_content").is_empty();
    let mut reasoning = blocks.iter().filter(|block| is_reasoning(block));
    if with_thoughts && reasoning.all(is_encrypted) {
        // Reasoning without an item after it is refused.
        let last = blocks.iter().rposition(|block| !is_reasoning(block));
        return blocks[..last.map_or(0, |last| last + 1)].to_vec();
    }
    let others = blocks.iter().filter(|block| !is_reasoning(block));
    others.map(without_id).collect()
}

/// Returns an item without its id. A message without one has another form.
fn without_id(block: &Value) -> Value {
    if kind(block) == "message" {
        let parts = field(block, "content").as_array().into_iter().flatten();
        let text: String = parts.map(|part| string(part, "text")).collect();
        let mut item = message("assistant", text.into());
        if let phase @ Value::String(_) = field(block, "phase") {
            item["phase"] = phase.clone();
        }
        return item;
    }
    let mut block = block.clone();
    if let Some(fields) = block.as_object_mut() {
        fields.shift_remove("id");
    }
    block
}

/// Returns the items of a turn of which there are only text and calls.
fn model_items(model_turn: &ModelTurn, turn: &WireTurn<'_>) -> Vec<Value> {
    let text = model_turn.text.as_str();
    let text = (!text.trim().is_empty()).then(|| message("assistant", text.into()));
    let call_item = |call: &ModelCall| {
        json!({
            "type": "function_call",
            "call_id": call.id,
            "name": turn.sent_name(&call.tool),
            "arguments": Value::Object(call.arguments.clone()).to_string(),
        })
    };
    let calls = WireTurn::calls(model_turn).map(call_item);
    text.into_iter().chain(calls).collect()
}

fn result_items(results: &[CallResult], with_media: bool) -> Vec<Value> {
    let (results, rejected) = WireTurn::results(results);
    let outputs = results.iter().map(|result| result_item(result, with_media));
    let mut items: Vec<_> = outputs.collect();
    if !with_media {
        items.extend(media_message(&results));
    }
    let rejected = rejected.into_iter();
    items.extend(rejected.map(|answer| message("user", result_text(answer).into())));
    items
}

fn result_item(result: &CallResult, with_media: bool) -> Value {
    let text = result_text(result);
    let output: Value = if with_media && !result.media.is_empty() {
        let media = result.media.iter().map(media_part);
        text_part(&text).into_iter().chain(media).collect()
    } else {
        text.into_owned().into()
    };
    json!({ "type": "function_call_output", "call_id": result.id, "output": output })
}

fn media_message(results: &[&CallResult]) -> Option<Value> {
    let results = results.iter().filter(|result| !result.media.is_empty());
    let parts = results.flat_map(|result| {
        let media = result.media.iter().map(media_part);
        text_part(&media_caption(result)).into_iter().chain(media)
    });
    let parts: Vec<_> = parts.collect();
    (!parts.is_empty()).then(|| message("user", parts.into()))
}

fn tools(tools: &[WireTool]) -> Value {
    let tool = |tool: &WireTool| {
        json!({
            "type": "function",
            "name": tool.sent_name,
            "description": tool.description,
            "parameters": tool.schema,
            // Without it, OpenAI makes each property required.
            "strict": false,
        })
    };
    match tools {
        [] => Value::Null,
        _ => tools.iter().map(tool).collect(),
    }
}

fn tool_choice(turn: &WireTurn<'_>) -> Value {
    match turn.choice {
        // A choice without tools is refused.
        _ if turn.tools.is_empty() => Value::Null,
        WireChoice::Auto => Value::Null,
        WireChoice::None => "none".into(),
        WireChoice::Required => "required".into(),
        WireChoice::Only(name) => json!({ "type": "function", "name": name }),
    }
}

fn text_format(answer: &AnswerFormat) -> Value {
    let accepted = |letter: char| match letter {
        'A'..='Z' | 'a'..='z' | '0'..='9' | '_' | '-' => letter,
        _ => '_',
    };
    let name: String = answer.tool.chars().map(accepted).collect();
    json!({ "format": {
        "type": "json_schema",
        "name": truncate_name(&name),
        "schema": answer.schema,
        "strict": answer.is_strict,
    } })
}

#[cfg(test)]
mod tests;
