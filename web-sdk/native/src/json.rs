//! JSON texts.

use serde::Serialize;
use serde_json::Value;
use web_sdk_core::SizedJson;

/// Returns the JSON text of a value that is already JSON, or that consists of strings.
pub(crate) fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| Value::Null.to_string())
}

/// Returns the JSON text and its size.
pub(crate) fn sized(value: &impl Serialize) -> SizedJson<String> {
    let json = text(value);
    SizedJson {
        bytes: json.len(),
        json,
    }
}
