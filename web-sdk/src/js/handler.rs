//! How a handler ended, as the module says it: the module runs handlers and turns what they return into
//! JSON texts, because both are easier in JavaScript.

use wasm_bindgen::prelude::*;

use super::codec::{field, measured, string};
use crate::core::{Answer, Encoded, Outcome};

/// The handler ended like this: `{ result?, content?, structuredContent?, _meta? }`, or
/// `{ message, code?, data?, content? }` when it threw. All but message and code are JSON texts.
pub(super) fn outcome(ended: &JsValue) -> Outcome<JsValue> {
    if let Some(message) = string(ended, "message") {
        return Outcome::Threw {
            code: string(ended, "code"),
            message,
            data: text(ended, "data"),
            content: text(ended, "content"),
        };
    }
    let mut bytes = 0;
    let mut part = |name| {
        let text = text(ended, name)?;
        bytes += text.bytes;
        Some(text.json)
    };
    let answer = Answer {
        result: part("result"),
        content: part("content"),
        structured_content: part("structuredContent"),
        meta: part("_meta"),
    };
    Outcome::Returned { answer, bytes }
}

fn text(object: &JsValue, name: &str) -> Option<Encoded<JsValue>> {
    field(object, name)?.dyn_into().ok().map(measured)
}

/// What an exception says.
pub(super) fn message_of(error: &JsValue) -> String {
    string(error, "message")
        .or_else(|| error.as_string())
        .filter(|message| !message.is_empty())
        .unwrap_or_else(|| "it threw something without a message".into())
}
