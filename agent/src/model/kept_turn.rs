//! Turns in the format of their provider, which go back with the next requests: only so can a model
//! continue from its own thoughts.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::api::Api;
use crate::digest::Digest;

/// A turn in the format of its provider, to be sent back with the next request.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeptTurn {
    /// The format of the blocks.
    pub(super) api: Api,
    pub(super) origin: TurnOrigin,
    pub(super) blocks: Vec<Value>,
}

impl KeptTurn {
    /// Returns the size of the blocks as input of a model.
    pub(crate) fn bytes(&self) -> usize {
        let blocks = self.blocks.iter();
        blocks.map(|block| block.to_string().len()).sum()
    }

    /// Returns whether the blocks have more than text and calls of the turn: thoughts, signatures, the
    /// phase of a text, or content that is not known.
    pub(crate) fn is_needed(&self) -> bool {
        // Text and calls are written as one text before the calls.
        let has_later_text = !self.blocks.iter().skip(1).all(is_call);
        has_later_text || !self.blocks.iter().all(|block| is_rebuilt(self.api, block))
    }
}

/// Whether a block is a call, in an API with a block for each text or call.
fn is_call(block: &Value) -> bool {
    let kind = block.get("type").and_then(Value::as_str);
    matches!(kind, Some("tool_use" | "function_call")) || block.get("functionCall").is_some()
}

/// Whether a block is also written from text and calls of its turn, without a loss.
fn is_rebuilt(api: Api, block: &Value) -> bool {
    let kind = block.get("type").and_then(Value::as_str);
    let fields: &[&str] = match (api, kind) {
        (Api::Messages, Some("text")) => &["type", "text"],
        (Api::Messages, Some("tool_use")) => &["type", "id", "name", "input", "caller"],
        (Api::Responses, Some("message")) => &["type", "id", "status", "role", "content"],
        (Api::Responses, Some("function_call")) => {
            &["type", "id", "status", "call_id", "name", "arguments"]
        }
        (Api::ChatCompletions, _) => &["role", "content", "tool_calls"],
        (Api::Gemini, _) => &["text", "functionCall"],
        (Api::Messages | Api::Responses, _) => return false,
    };
    // The content of a chat is a list if there are thoughts in it.
    let is_text = |content: &Value| api != Api::ChatCompletions || content.is_string();
    let calls = block.get("tool_calls").and_then(Value::as_array);
    let mut calls = calls.into_iter().flatten();
    has_only(block, fields)
        && block
            .get("content")
            .is_none_or(|it| it.is_null() || is_text(it))
        && calls.all(|call| has_only(call, &["type", "id", "function"]))
}

/// Whether a value is an object that has no other fields than these.
fn has_only(value: &Value, fields: &[&str]) -> bool {
    let is_known = |(name, value): (&String, &Value)| value.is_null() || fields.contains(&&**name);
    let object = value.as_object();
    object.is_some_and(|object| object.iter().all(is_known))
}

/// The issuer of a turn, and the digest of what stood before it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TurnOrigin {
    pub(super) issuer: Issuer,
    /// The digest of everything before the turn, if its model accepts the thoughts only there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) prefix: Option<String>,
}

/// The digest of the server, model and account that issue a turn, as far as its API compares them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Issuer(String);

impl Issuer {
    /// Returns the issuer of the turns of a model.
    pub(super) fn new(
        api: Api,
        is_official: bool,
        url: &str,
        model: &str,
        key: Option<&str>,
    ) -> Self {
        // Anthropic's models read thoughts of some of the others, and ignore those of the rest:
        // https://platform.claude.com/docs/en/build-with-claude/preserved-thinking
        let model = (api != Api::Messages || !is_official).then_some(model);
        // Of these two it is documented that thoughts belong to an account.
        let key = key.filter(|_| matches!(api, Api::Messages | Api::Responses));
        let digest = Digest::new("mcp-web-agent: issuer of a turn, version 1")
            .with(format!("{api:?}"))
            .with(url)
            .with(model.unwrap_or_default())
            .with(key.unwrap_or_default());
        Self(digest.to_hex())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_turn_is_needed_if_it_has_more_than_text_and_calls() {
        use Api::{ChatCompletions as Chat, Gemini, Messages, Responses};

        let chat = |field: &str, value: Value| {
            let call = json!({ "id": "a", "type": "function",
                "function": { "name": "add", "arguments": "{}" } });
            let mut message = json!({ "role": "assistant", "content": "Hi", "tool_calls": [call] });
            match field {
                "extra_content" => message["tool_calls"][0][field] = value,
                _ => message[field] = value,
            }
            json!([message])
        };
        let text = json!({ "type": "text", "text": "Hi", "citations": null });
        let call = json!({ "type": "tool_use", "id": "a", "name": "add", "input": {},
            "caller": { "type": "direct" } });
        let item = json!({ "type": "message", "id": "m", "status": "completed", "role": "assistant",
            "content": [{ "type": "output_text", "text": "Hi", "annotations": [] }] });
        let item_call = json!({ "type": "function_call", "id": "f", "status": "completed",
            "call_id": "a", "name": "add", "arguments": "{}" });
        let mut final_item = item.clone();
        final_item["phase"] = json!("final_answer");
        let part = json!({ "text": "Hi" });
        let part_call = json!({ "functionCall": { "id": "a", "name": "add", "args": {} } });
        for (api, blocks, expected) in [
            (Messages, json!([text, call, call]), false),
            (Messages, json!([call]), false),
            (Messages, json!([call, text]), true),
            (Messages, json!([text, text]), true),
            (
                Messages,
                json!([{ "type": "thinking", "thinking": "" }, text]),
                true,
            ),
            (
                Messages,
                json!([{ "type": "redacted_thinking", "data": "x" }]),
                true,
            ),
            (
                Messages,
                json!([{ "type": "text", "text": "Hi", "citations": [{}] }]),
                true,
            ),
            (Messages, json!([{ "type": "not yet known" }]), true),
            (Responses, json!([item, item_call]), false),
            (Responses, json!([final_item]), true),
            (
                Responses,
                json!([{ "type": "reasoning", "encrypted_content": "x" }, item]),
                true,
            ),
            (Chat, chat("content", json!("Hi")), false),
            (Chat, chat("content", Value::Null), false),
            (
                Chat,
                chat("content", json!([{ "type": "thinking", "thinking": [] }])),
                true,
            ),
            (Chat, chat("reasoning_content", json!("")), true),
            (Chat, chat("reasoning", json!("So")), true),
            (Chat, chat("reasoning_details", json!([{}])), true),
            (Chat, chat("extra_content", json!({})), true),
            (Gemini, json!([part, part_call, part_call]), false),
            (
                Gemini,
                json!([{ "text": "Hi", "thoughtSignature": "x" }]),
                true,
            ),
            (
                Gemini,
                json!([{ "functionCall": {}, "thoughtSignature": "x" }]),
                true,
            ),
            (Gemini, json!([{ "executableCode": {} }]), true),
        ] {
            let kept = KeptTurn {
                api,
                origin: TurnOrigin::default(),
                blocks: blocks.as_array().unwrap().clone(),
            };
            assert_eq!(kept.is_needed(), expected, "{api:?} {blocks}");
        }
    }
}
