//! The thoughts of a turn, as a server sends them and needs them back: under the name under which they
//! came. Others refuse that name, or ignore what it has.

use serde_json::{Map, Value, json};

use super::super::{ReadError, text_of};
use super::message::assistant_message;
use crate::model::turn_builder::TurnBuilder;

/// The fields with the text of thoughts. Of two in one delta, they have the same text: the first counts.
const TEXT_FIELDS: [&str; 2] = [REASONING_CONTENT, "reasoning"];

/// DeepSeek, llama.cpp, SGLang, xAI. DeepSeek refuses calls without it, even if it is empty:
/// <https://api-docs.deepseek.com/guides/thinking_mode>
const REASONING_CONTENT: &str = "reasoning_content";

/// OpenRouter, with signatures: <https://openrouter.ai/docs/guides/best-practices/reasoning-tokens>
const DETAILS: &str = "reasoning_details";

/// The thoughts of a turn that is being received.
#[derive(Debug, Default)]
pub(super) struct Thoughts {
    text: String,
    /// The name of the field, of [`TEXT_FIELDS`].
    field: Option<&'static str>,
    details: Vec<Map<String, Value>>,
}

impl Thoughts {
    /// Reads the thoughts in a delta.
    pub(super) fn read(&mut self, delta: &Value, turn: &mut TurnBuilder) -> Result<(), ReadError> {
        let text = |field: &&'static str| Some((*field, delta.get(*field)?.as_str()?));
        let mut texts: Vec<_> = TEXT_FIELDS.iter().filter_map(text).collect();
        texts.sort_by_key(|(_, text)| text.is_empty());
        let text = texts.first().map(|(field, text)| {
            if self.text.is_empty() && (self.field.is_none() || !text.is_empty()) {
                self.field = Some(*field);
            }
            self.text.push_str(text);
            turn.thinking(text);
            *text
        });
        let details = delta.get(DETAILS).and_then(Value::as_array);
        for detail in details.into_iter().flatten().filter_map(Value::as_object) {
            if text.is_none_or(str::is_empty) {
                let words = detail.get("text").or_else(|| detail.get("summary"));
                turn.thinking(text_of(words));
            }
            self.add_detail(detail, turn)?;
        }
        Ok(())
    }

    /// Adds a detail, or a piece of the last one.
    fn add_detail(
        &mut self,
        detail: &Map<String, Value>,
        turn: &mut TurnBuilder,
    ) -> Result<(), ReadError> {
        let is_encrypted = detail.get("data").is_some();
        let is_same = |last: &Map<String, Value>| {
            let equal = |field| match (value(last, field), value(detail, field)) {
                (Some(one), Some(other)) => one == other,
                _ => true,
            };
            // The signature is the end of a block.
            ["type", "index", "id", "signature"].into_iter().all(equal)
                && (value(last, "signature").is_none() || value(detail, "text").is_none())
        };
        // A server may send encrypted thoughts once more with each call.
        if is_encrypted && self.details.contains(detail) {
            return Ok(());
        }
        match self.details.last_mut() {
            Some(last) if !is_encrypted && is_same(last) => {
                merge(last, detail, &["text", "summary"]);
            }
            _ => {
                turn.begin_block()?;
                self.details.push(detail.clone());
            }
        }
        Ok(())
    }

    /// Adds the thoughts to the message in which they are sent back.
    pub(super) fn add_to(self, message: &mut Map<String, Value>) {
        let has_calls = message.contains_key("tool_calls");
        let is_needed = |field| !self.text.is_empty() || (field == REASONING_CONTENT && has_calls);
        if let Some(field) = self.field.filter(|field| is_needed(*field)) {
            message.insert(field.to_owned(), json!(self.text));
        }
        if !self.details.is_empty() {
            message.insert(DETAILS.to_owned(), json!(self.details));
        }
    }
}

fn value<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

/// Adds a piece to an object: to the end of these texts, while other fields are set if they have no
/// value yet.
pub(super) fn merge(target: &mut Map<String, Value>, piece: &Map<String, Value>, texts: &[&str]) {
    for (name, value) in piece {
        match (target.get_mut(name), value) {
            (Some(Value::String(text)), Value::String(more)) if texts.contains(&name.as_str()) => {
                text.push_str(more);
            }
            (None | Some(Value::Null), _) => {
                target.insert(name.clone(), value.clone());
            }
            _ => {}
        }
    }
}

/// Returns a message of the model without thoughts and signatures, unless it would be empty.
pub(super) fn remove(message: &Map<String, Value>) -> Option<Map<String, Value>> {
    let content = match message.get("content") {
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            Value::String(texts.collect())
        }
        Some(Value::String(text)) => json!(text),
        _ => json!(""),
    };
    let calls = message.get("tool_calls").and_then(Value::as_array);
    let mut calls = calls.cloned().unwrap_or_default();
    for call in calls.iter_mut().filter_map(Value::as_object_mut) {
        call.shift_remove("extra_content");
    }
    assistant_message(content, calls)
}

/// Adds empty thoughts to the calls of other turns, if the server requires thoughts in each message with
/// calls, or has sent some in the field of servers that do. The turns may be of another model, or
/// without thinking.
pub(super) fn complete(messages: &mut [Value], are_required: bool) {
    let with_thoughts = |message: &Value| message.get(REASONING_CONTENT).is_some();
    if !are_required && !messages.iter().any(with_thoughts) {
        return;
    }
    for message in messages.iter_mut().filter_map(Value::as_object_mut) {
        if message.contains_key("tool_calls") && !message.contains_key(REASONING_CONTENT) {
            message.insert(REASONING_CONTENT.to_owned(), json!(""));
        }
    }
}
