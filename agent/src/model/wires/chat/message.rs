//! A message of the model, and the calls in it.

use serde_json::{Map, Value, json};

pub(super) fn call_value(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

/// Creates a message of the model, unless it would be empty.
pub(super) fn assistant_message(content: Value, calls: Vec<Value>) -> Option<Map<String, Value>> {
    let is_blank = content.as_str().is_some_and(|text| text.trim().is_empty());
    if is_blank && calls.is_empty() {
        return None;
    }
    // Ollama accepts `null` only beside calls, and proxies of Anthropic refuse a blank text.
    let content = if is_blank { Value::Null } else { content };
    let mut message = Map::new();
    message.insert("role".to_owned(), json!("assistant"));
    message.insert("content".to_owned(), content);
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    Some(message)
}
