//! Small conversions between JSON and text.

use std::borrow::Cow;

use serde::Serialize;

/// Decodes a JSON string; `None` if the JSON is not a string.
pub(crate) fn decode_string(json: &str) -> Option<Cow<'_, str>> {
    let inside = json.strip_prefix('"')?.strip_suffix('"')?;
    if !inside.contains('\\') {
        Some(Cow::Borrowed(inside))
    } else {
        serde_json::from_str(json).ok()
    }
}

/// Writes a value as JSON. The values that are passed here can always be encoded.
pub(crate) fn write_json(value: &impl Serialize, out: &mut Vec<u8>) {
    let _ = serde_json::to_writer(out, value);
}
