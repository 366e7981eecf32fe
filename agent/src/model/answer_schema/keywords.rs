//! The values of keywords that can be read in several forms.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// Returns the types that a schema names.
pub(super) fn types(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Returns the names of the properties that a schema requires.
pub(super) fn required(schema: &Map<String, Value>) -> HashSet<&str> {
    let required = schema.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten();
    required.filter_map(Value::as_str).collect()
}
