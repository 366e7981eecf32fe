//! How a handler ended, as the module says it: the module runs handlers and turns what they return into
//! JSON texts, because both are easier in JavaScript.

use wasm_bindgen::prelude::*;

use super::codec::{field, sized_json, string};
use crate::core::{Answer, HandlerOutcome, SizedJson};

/// The handler ended like this: `{ result?, content?, structuredContent?, _meta? }`, or
/// `{ message, code?, data?, content? }` when it threw. All but message and code are JSON texts.
pub(super) fn parse_outcome(ended: &JsValue) -> HandlerOutcome<JsValue> {
    if let Some(message) = string(ended, "message") {
        return HandlerOutcome::Threw {
            code: string(ended, "code"),
            message,
            data: json_text(ended, "data"),
            content: json_text(ended, "content"),
        };
    }
    let mut bytes = 0;
    let mut part = |name| {
        let text = json_text(ended, name)?;
        bytes += text.bytes;
        Some(text.json)
    };
    let answer = Answer {
        result: part("result"),
        content: part("content"),
        structured_content: part("structuredContent"),
        meta: part("_meta"),
    };
    HandlerOutcome::Returned { answer, bytes }
}

fn json_text(object: &JsValue, name: &str) -> Option<SizedJson<JsValue>> {
    field(object, name)?.dyn_into().ok().map(sized_json)
}

/// What an exception says.
pub(super) fn error_message(error: &JsValue) -> String {
    string(error, "message")
        .or_else(|| error.as_string())
        .filter(|message| !message.is_empty())
        .unwrap_or_else(|| "it threw something without a message".into())
}
