//! Thinking blocks that come back: each must be one that was issued, and for the same prefix.

use serde_json::{Value, json};

use super::super::fields::{items, text, without};
use super::super::table::Check;
use super::rule::Rule;

/// The thinking blocks that the provider has issued.
#[derive(Debug, Default)]
pub(crate) struct IssuedThinking {
    blocks: Vec<ThinkingBlock>,
}

/// A thinking block, and the prefix for which it was issued.
#[derive(Debug)]
struct ThinkingBlock {
    signature: String,
    thinking: String,
    model: String,
    prefix: Prefix,
    /// Signatures of the thinking blocks before it, in order.
    thinking_before: Vec<String>,
}

/// Everything that a thinking block is bound to.
#[derive(Clone, Debug, PartialEq)]
struct Prefix {
    system: Value,
    /// Sorted by name: the document names the set of tools.
    tools: Vec<Value>,
    /// All blocks before it except thinking, with their roles.
    blocks: Vec<(String, Value)>,
}

impl IssuedThinking {
    /// Adds a block of the answer to a request, which follows these other blocks of the answer.
    pub(crate) fn add(&mut self, body: &Value, before: &[Value], thinking: &str, signature: &str) {
        let mut body = body.clone();
        let model = text(&body, "model").to_owned();
        let answer = json!({ "role": "assistant", "content": before });
        let messages = body["messages"].as_array_mut().expect("it was checked");
        messages.push(answer);
        let blocks = messages.iter().flat_map(|it| items(&it["content"]));
        let signatures = blocks
            .filter(|block| block["type"] == "thinking")
            .map(|block| text(block, "signature").to_owned());
        // Blocks of other models are not part of the prefix.
        let is_own = |signature: &String| {
            let mut issued = self.blocks.iter();
            issued.any(|block| block.signature == *signature && block.model == model)
        };
        let thinking_before = signatures.filter(is_own).collect();
        let position = messages.len() - 1;
        self.blocks.push(ThinkingBlock {
            prefix: prefix(&body, position, before.len()),
            signature: signature.to_owned(),
            thinking: thinking.to_owned(),
            thinking_before,
            model,
        });
    }

    /// Checks the thinking blocks of a request.
    pub(super) fn check(
        &self,
        body: &Value,
        (rules, model): Rule<'_>,
        effects: &mut Vec<&'static str>,
    ) -> Check {
        let messages = items(&body["messages"]);
        let latest = messages
            .iter()
            .rposition(|message| message["role"] == "assistant");
        let mut before = Vec::new();
        for (index, message) in messages.iter().enumerate() {
            for (place, block) in items(&message["content"]).iter().enumerate() {
                if block["type"] != "thinking" {
                    continue;
                }
                let (index_text, place_text) = (index.to_string(), place.to_string());
                let values = [("index", &*index_text), ("block", &*place_text)];
                let signature = text(block, "signature");
                let mut all = self.blocks.iter();
                let issued = all.find(|issued| issued.signature == signature);
                let issued = issued.ok_or_else(|| rules.refuse("anthropic.signature", &values))?;
                if text(block, "thinking") != issued.thinking {
                    let id = if Some(index) == latest {
                        "anthropic.thinking_modified"
                    } else {
                        "anthropic.signature"
                    };
                    return Err(rules.refuse(id, &values));
                }
                if issued.model != text(body, "model") {
                    effects.push(rules.effect("anthropic.thinking_foreign"));
                    continue;
                }
                if model.prefix_check {
                    let prefix = prefix(body, index, place);
                    let detail = difference(&issued.prefix, &prefix);
                    // Blocks may be removed from the start, but neither from the middle nor put back.
                    let is_suffix = issued.thinking_before.ends_with(&before);
                    let detail = detail.or_else(|| {
                        (!is_suffix).then(|| {
                            "A thinking block before it was removed or put back.".to_owned()
                        })
                    });
                    let binding = &body["thinking"]["block_binding"];
                    let drops = binding["prefix_mismatch_behavior"] == "drop_block";
                    if drops && detail.is_some() {
                        effects.push(rules.effect("anthropic.thinking_dropped"));
                        return Ok(());
                    }
                    if let Some(detail) = detail {
                        let values = [values[0], values[1], ("detail", &*detail)];
                        return Err(rules.refuse("anthropic.prefix", &values));
                    }
                }
                before.push(signature.to_owned());
            }
        }
        Ok(())
    }
}

/// Returns everything before a block.
fn prefix(body: &Value, message: usize, block: usize) -> Prefix {
    let system = match &body["system"] {
        Value::String(text) => json!([{ "type": "text", "text": text }]),
        other => without(other, "cache_control"),
    };
    let mut tools: Vec<_> = items(&body["tools"])
        .iter()
        .map(|tool| without(tool, "cache_control"))
        .collect();
    tools.sort_by_key(|tool| text(tool, "name").to_owned());
    let mut blocks = Vec::new();
    for (index, turn) in items(&body["messages"])
        .iter()
        .enumerate()
        .take(message + 1)
    {
        let content = match &turn["content"] {
            Value::String(text) => vec![json!({ "type": "text", "text": text })],
            other => items(other).to_vec(),
        };
        let end = if index == message {
            block
        } else {
            content.len()
        };
        for block in content.iter().take(end) {
            if !["thinking", "redacted_thinking"].contains(&text(block, "type")) {
                blocks.push((text(turn, "role").to_owned(), normalised(block)));
            }
        }
    }
    Prefix {
        system,
        tools,
        blocks,
    }
}

/// Returns a block without what does not change its meaning.
fn normalised(block: &Value) -> Value {
    let mut block = without(block, "cache_control");
    if block["type"] == "tool_result" {
        if block["is_error"] == false {
            block.as_object_mut().unwrap().shift_remove("is_error");
        }
        if let Some(text) = block["content"].as_str() {
            block["content"] = json!([{ "type": "text", "text": text }]);
        }
    }
    if let Some(object) = block.as_object_mut() {
        object.shift_remove("caller");
    }
    block
}

/// Returns a sentence that names what changed.
fn difference(issued: &Prefix, sent: &Prefix) -> Option<String> {
    if issued.system != sent.system {
        return Some("`system` changed.".to_owned());
    }
    if issued.tools != sent.tools {
        return Some("`tools` changed.".to_owned());
    }
    if issued.blocks == sent.blocks {
        return None;
    }
    let mut pairs = issued.blocks.iter().zip(&sent.blocks);
    let changed = pairs.position(|(issued, sent)| issued != sent);
    Some(match changed {
        Some(place) => format!(
            "Block {place} of the messages changed from {:?} to {:?}.",
            issued.blocks[place], sent.blocks[place]
        ),
        None => format!(
            "{} blocks became {}.",
            issued.blocks.len(),
            sent.blocks.len()
        ),
    })
}
