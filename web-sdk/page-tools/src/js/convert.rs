//! Converts JavaScript values in both directions. The browser handles JSON texts.

use js_sys::{Array, JsString, Object, Reflect};
use wasm_bindgen::{JsCast, JsValue};

use crate::value::Value;

/// Maximum depth of a value, so that a page cannot exhaust the stack.
const MAX_DEPTH: usize = 1000;

/// Converts a value from JavaScript. Values that JSON cannot express become `null`; members that
/// are `undefined` are left out.
pub(super) fn from_js(value: &JsValue) -> Value {
    from_js_within(value, MAX_DEPTH)
}

fn from_js_within(value: &JsValue, depth: usize) -> Value {
    if let Some(text) = value.as_string() {
        return Value::String(text);
    }
    if let Some(number) = value.as_f64() {
        return Value::Number(number);
    }
    if let Some(value) = value.as_bool() {
        return Value::Bool(value);
    }
    if depth == 0 || !value.is_object() {
        return Value::Null;
    }
    if let Some(items) = value.dyn_ref::<Array>() {
        let items = items.iter().map(|item| from_js_within(&item, depth - 1));
        return Value::Array(items.collect());
    }
    let object: &Object = value.unchecked_ref();
    let entries = Object::entries(object).into_iter().filter_map(|entry| {
        let entry: Array = entry.unchecked_into();
        let member = entry.get(1);
        let name = entry.get(0).as_string()?;
        (!member.is_undefined()).then(|| (name, from_js_within(&member, depth - 1)))
    });
    Value::Object(entries.collect())
}

/// Converts a value to JavaScript.
pub(super) fn to_js(value: &Value) -> JsValue {
    match value {
        Value::Null => JsValue::NULL,
        Value::Bool(value) => JsValue::from_bool(*value),
        Value::Number(number) => JsValue::from_f64(*number),
        Value::String(text) => JsValue::from_str(text),
        Value::Array(items) => items.iter().map(to_js).collect::<Array>().into(),
        Value::Object(members) => {
            let object = Object::new();
            for (name, member) in members {
                // A plain object accepts any member.
                let _ = Reflect::set(&object, &JsValue::from_str(name), &to_js(member));
            }
            object.into()
        }
    }
}

/// Returns the text in lower case, by the tables of the browser: those of the standard library would
/// add 3 KB to the wasm.
pub(crate) fn lowercase(text: &str) -> String {
    JsString::from(text).to_lower_case().into()
}
