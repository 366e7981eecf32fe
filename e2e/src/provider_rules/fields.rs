//! How the checks read JSON.

use serde_json::{Map, Value};

/// Returns the items of an array, or none of anything else.
pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns a text, or an empty one.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// Returns whether a field is present and not null.
pub(crate) fn has(value: &Value, field: &str) -> bool {
    value.get(field).is_some_and(|value| !value.is_null())
}

/// Returns the first field of an object that is not in the list.
pub(crate) fn unknown_field<'a>(value: &'a Value, known: &[&str]) -> Option<&'a str> {
    let fields = value.as_object()?.keys();
    let mut fields = fields.map(String::as_str);
    fields.find(|field| !known.contains(field))
}

/// Returns whether a text is a name: letters, digits, `_` and `-`, at most 64.
pub(crate) fn is_name(text: &str) -> bool {
    let allowed = |char: char| char.is_ascii_alphanumeric() || "_-".contains(char);
    (1..=64).contains(&text.len()) && text.chars().all(allowed)
}

/// Returns whether a URL holds a picture as base64.
pub(crate) fn is_picture_url(url: &str, types: &[&str]) -> bool {
    let Some((head, data)) = url.split_once(";base64,") else {
        return false;
    };
    let kind = head.strip_prefix("data:").unwrap_or_default();
    types.contains(&kind) && is_base64(data)
}

pub(crate) fn is_base64(data: &str) -> bool {
    let allowed = |char: char| char.is_ascii_alphanumeric() || "+/=".contains(char);
    !data.is_empty() && data.len().is_multiple_of(4) && data.chars().all(allowed)
}

/// Removes a field everywhere in a value.
pub(crate) fn without(value: &Value, field: &str) -> Value {
    match value {
        Value::Object(object) => {
            let fields = object.iter().filter(|(name, _)| *name != field);
            let fields = fields.map(|(name, value)| (name.clone(), without(value, field)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(|item| without(item, field)).collect(),
        other => other.clone(),
    }
}
