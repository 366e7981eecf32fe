//! A part of a content.

use serde_json::{Map, Value, json};

pub(super) const SIGNATURE: &str = "thoughtSignature";

pub(super) fn text_part(text: &str) -> Value {
    json!({ "text": text })
}

pub(super) fn is_thought(part: &Map<String, Value>) -> bool {
    part.get("thought") == Some(&Value::Bool(true))
}
