//! Lower case by the tables of the browser: those of the standard library would add 3 KB to the
//! wasm.

use js_sys::JsString;

/// Returns the text in lower case.
pub(crate) fn lowercase(text: &str) -> String {
    JsString::from(text).to_lower_case().into()
}
