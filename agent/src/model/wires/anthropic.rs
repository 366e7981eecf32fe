//! Anthropic Messages: <https://platform.claude.com/docs/en/api/messages>.
//!
//! A turn goes back as the list of blocks that the provider has sent, because newer models check
//! that nothing before a signed thought has changed:
//! <https://platform.claude.com/docs/en/build-with-claude/preserved-thinking>.

use std::borrow::Cow;

use http::HeaderName;
use serde_json::{Value, json};

use super::{
    ResponseReader, Wire, WireChoice, WireRequest, WireTool, WireTurn, media_caption, object,
    result_text, string,
};
use crate::model::{CallResult, Media, ModelMessage, ModelTurn, UserMessage};

mod reader;

/// The version of the API. Compatible servers may not know the one of 2026-10-21, which only removes
/// fields.
const VERSION: &str = "2023-06-01";

/// The text of a result without any. The API refuses an error without content.
const NO_TEXT: &str = "(no text)";

const USER: &str = "user";
const ASSISTANT: &str = "assistant";

/// The wire of the API.
#[derive(Debug)]
pub(super) struct Messages;

impl Wire for Messages {
    fn request(&self, turn: &WireTurn<'_>) -> WireRequest {
        let stop_sequences = turn.stop_sequences.iter().map(|it| it.as_str().into());
        let format = turn.answer.map(|answer| {
            let format = json!({ "type": "json_schema", "schema": answer.schema });
            json!({ "format": format })
        });
        let body = object([
            ("model", turn.model.into()),
            ("max_tokens", turn.max_output_tokens.into()),
            ("temperature", turn.temperature.into()),
            ("stop_sequences", unless_empty(stop_sequences.collect())),
            ("system", system(turn)),
            ("messages", messages(turn).into()),
            ("tools", tools(turn)),
            ("tool_choice", tool_choice(turn)),
            ("output_config", format.into()),
            ("stream", true.into()),
        ]);
        WireRequest::new("messages", body).with_header("anthropic-version", VERSION)
    }

    fn key_header(&self, key: &str) -> (HeaderName, String) {
        (HeaderName::from_static("x-api-key"), key.to_owned())
    }

    fn reader(&self, _separates_thoughts: bool) -> Box<dyn ResponseReader> {
        Box::<reader::Reader>::default()
    }
}

fn unless_empty(values: Vec<Value>) -> Value {
    if values.is_empty() {
        Value::Null
    } else {
        values.into()
    }
}

fn system(turn: &WireTurn<'_>) -> Value {
    if turn.system.trim().is_empty() {
        return Value::Null;
    }
    if !has_cache_marks(turn) {
        return turn.system.into();
    }
    let mut block = text_block(turn.system);
    mark_for_cache(&mut block);
    vec![block].into()
}

fn tools(turn: &WireTurn<'_>) -> Value {
    let mut tools: Vec<Value> = turn.tools.iter().map(tool).collect();
    if has_cache_marks(turn)
        && let Some(last) = tools.last_mut()
    {
        mark_for_cache(last);
    }
    unless_empty(tools)
}

fn tool(tool: &WireTool) -> Value {
    json!({
        "name": tool.sent_name,
        "description": tool.description,
        "input_schema": tool.schema,
    })
}

fn tool_choice(turn: &WireTurn<'_>) -> Value {
    if turn.tools.is_empty() {
        return Value::Null;
    }
    match turn.choice {
        WireChoice::Auto => Value::Null,
        WireChoice::None => json!({ "type": "none" }),
        WireChoice::Required => json!({ "type": "any" }),
        WireChoice::Only(name) => json!({ "type": "tool", "name": name }),
    }
}

/// Writes the history. Neighbours of the same role become one message: the API treats them as one turn,
/// and other servers want the roles to alternate.
fn messages(turn: &WireTurn<'_>) -> Vec<Value> {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in turn.history {
        let (role, content) = match message {
            ModelMessage::User(message) => (USER, user_content(message)),
            ModelMessage::Model(model_turn) => (ASSISTANT, model_content(turn, model_turn)),
            ModelMessage::Results(results) => (USER, results_content(turn, results)),
        };
        match messages.last_mut() {
            _ if content.is_empty() => {}
            Some((last, blocks)) if *last == role => blocks.extend(content),
            _ => messages.push((role, content)),
        }
    }
    for (role, blocks) in &mut messages {
        if *role == USER {
            // Results that follow anything else are refused.
            blocks.sort_by_key(|block| block_type(block) != "tool_result");
        }
    }
    if has_cache_marks(turn) {
        // The next request begins with all messages of this one. The request before has ended where the
        // newest turn of the model begins, which may have more blocks than the provider looks back.
        let newest_turn = messages.iter().rposition(|(role, _)| *role == ASSISTANT);
        let former_end = newest_turn.and_then(|at| at.checked_sub(1));
        for end in former_end.into_iter().chain(messages.len().checked_sub(1)) {
            let blocks = &mut messages[end].1;
            if let Some(last) = blocks.iter_mut().rfind(|block| is_cacheable(block)) {
                mark_for_cache(last);
            }
        }
    }
    let messages = messages.into_iter();
    messages
        .map(|(role, content)| json!({ "role": role, "content": content }))
        .collect()
}

fn user_content(message: &UserMessage) -> Vec<Value> {
    let media = message.media.iter().map(media_block);
    media.chain(unless_blank(&message.text)).collect()
}

fn model_content(turn: &WireTurn<'_>, model_turn: &ModelTurn) -> Vec<Value> {
    if let Some(blocks) = turn.kept_blocks(model_turn) {
        let blocks = blocks.iter();
        let sent = blocks.filter(|block| turn.with_thoughts || !is_thought(block));
        return sent.cloned().collect();
    }
    let calls = WireTurn::calls(model_turn).map(|call| {
        json!({
            "type": "tool_use",
            "id": call_id(turn, &call.id),
            "name": turn.sent_name(&call.tool),
            "input": call.arguments,
        })
    });
    let text = unless_blank(&model_turn.text);
    text.into_iter().chain(calls).collect()
}

fn results_content(turn: &WireTurn<'_>, results: &[CallResult]) -> Vec<Value> {
    let (results, rejected) = WireTurn::results(results);
    let mut content: Vec<Value> = Vec::new();
    content.extend(results.iter().map(|result| result_block(turn, result)));
    for result in results {
        if !turn.rules.media_in_results && !result.media.is_empty() {
            content.push(text_block(&media_caption(result)));
            content.extend(result.media.iter().map(media_block));
        }
    }
    let rejected = rejected.into_iter();
    content.extend(rejected.map(|answer| text_block(&result_text(answer))));
    content
}

fn result_block(turn: &WireTurn<'_>, result: &CallResult) -> Value {
    let has_media = turn.rules.media_in_results && !result.media.is_empty();
    let content: Value = if has_media {
        let text = unless_blank(&result.text).into_iter();
        text.chain(result.media.iter().map(media_block)).collect()
    } else if result.text.trim().is_empty() {
        NO_TEXT.into()
    } else {
        result.text.as_str().into()
    };
    Value::Object(object([
        ("type", "tool_result".into()),
        ("tool_use_id", call_id(turn, &result.id).into()),
        ("content", content),
        ("is_error", result.is_error.then_some(true).into()),
    ]))
}

fn media_block(media: &Media) -> Value {
    let block_type = if media.is_picture() {
        "image"
    } else {
        "document"
    };
    let source = json!({
        "type": "base64",
        "media_type": media.mime_type,
        "data": &*media.data,
    });
    json!({ "type": block_type, "source": source })
}

fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// Returns a block of text. The API refuses blank ones, although models write them.
fn unless_blank(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| text_block(text))
}

/// Returns an id that the provider accepts. A stored conversation may have the ids of another
/// provider, such as `functions.add:0`.
fn call_id<'a>(turn: &WireTurn<'_>, id: &'a str) -> Cow<'a, str> {
    let is_accepted = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
    if turn.is_official && !id.chars().all(is_accepted) {
        Cow::Owned(id.replace(|it: char| !is_accepted(it), "_"))
    } else {
        Cow::Borrowed(id)
    }
}

fn has_cache_marks(turn: &WireTurn<'_>) -> bool {
    turn.is_official && turn.rules.cache_marks
}

/// Marks the end of what the provider caches:
/// <https://platform.claude.com/docs/en/build-with-claude/prompt-caching>
fn mark_for_cache(block: &mut Value) {
    if let Value::Object(block) = block {
        let mark = json!({ "type": "ephemeral" });
        block.insert("cache_control".to_owned(), mark);
    }
}

fn is_cacheable(block: &Value) -> bool {
    let cacheable = ["text", "image", "document", "tool_use", "tool_result"];
    cacheable.contains(&block_type(block))
}

fn is_thought(block: &Value) -> bool {
    matches!(block_type(block), "thinking" | "redacted_thinking")
}

fn block_type(block: &Value) -> &str {
    string(block, "type")
}

#[cfg(test)]
mod tests;
