//! Runs a tool's handler: a plain function or an async one, whatever it returns or throws.

use js_sys::{Function, Promise};
use wasm_bindgen::prelude::*;

use super::codec;
use crate::core::{Call, Outcome};

/// Calls the handler with its input and context.
pub(super) fn run(call: &Call<JsValue>, context: &JsValue) -> Promise {
    let handler: &Function = call.handler.unchecked_ref();
    match handler.call2(&JsValue::UNDEFINED, &call.input, context) {
        Ok(value) => Promise::resolve(&value),
        Err(error) => Promise::reject(&error),
    }
}

/// The handler's promise was fulfilled.
pub(super) fn returned(value: JsValue) -> Outcome<JsValue> {
    match codec::stringify(&value) {
        Ok(result) => Outcome::Returned { value, result },
        Err(error) => Outcome::Threw {
            message: ["the result is not JSON: ", &message_of(&error)].concat(),
            data: None,
        },
    }
}

/// The handler's promise was rejected.
pub(super) fn threw(error: &JsValue) -> Outcome<JsValue> {
    Outcome::Threw {
        message: message_of(error),
        data: codec::field(error, "data")
            .and_then(|data| codec::stringify(&data).ok())
            .flatten(),
    }
}

/// What an exception says.
pub(super) fn message_of(error: &JsValue) -> String {
    codec::string(error, "message")
        .or_else(|| error.as_string())
        .filter(|message| !message.is_empty())
        .unwrap_or_else(|| "it threw something without a message".into())
}
