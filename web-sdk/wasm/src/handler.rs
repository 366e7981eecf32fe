//! The outcome of a handler as the JavaScript module reports it. The module runs handlers and
//! converts their results to JSON texts, because both are easier in JavaScript.

use wasm_bindgen::prelude::*;

use super::codec::{field, sized_json, string};
use web_sdk_core::{Answer, HandlerOutcome};

/// Parses an outcome: `{ result?, content?, structuredContent?, _meta? }`, or `{ message, code?,
/// data?, content?, _meta? }` when the handler threw an exception. All fields but `message` and `code` are
/// JSON texts.
pub(super) fn parse_outcome(outcome: &JsValue) -> HandlerOutcome<JsValue> {
    let message = string(outcome, "message");
    let mut bytes = 0;
    let mut json = |name| {
        let text = sized_json(field(outcome, name)?.dyn_into().ok()?);
        bytes += text.bytes;
        Some(text.json)
    };
    let answer = Answer {
        result: json(message.as_ref().map_or("result", |_| "data")),
        content: json("content"),
        structured_content: json("structuredContent"),
        meta: json("_meta"),
    };
    match message {
        Some(message) => HandlerOutcome::Threw {
            code: string(outcome, "code"),
            message,
            details: answer,
            bytes,
        },
        None => HandlerOutcome::Returned { answer, bytes },
    }
}

/// Returns the message of an exception.
pub(super) fn error_message(error: &JsValue) -> String {
    string(error, "message")
        .or_else(|| error.as_string())
        .filter(|message| !message.is_empty())
        .unwrap_or_else(|| "it threw something without a message".into())
}
