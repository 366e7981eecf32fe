//! Invisible characters in the definitions of pages.

use std::borrow::Cow;

use bridge_protocol::ErrorCode;
use bridge_protocol::invisible::{visible_line, without_invisible};
use serde_json::{Map, Value};

use super::definition_error::DefinitionError;

/// The fields of definitions, and of the schemas in them, that people and models read.
const TEXTS: [&str; 2] = ["title", "description"];

/// Removes invisible characters from the texts of a definition, at any depth.
pub(super) fn clean_texts(fields: &mut Map<String, Value>) {
    for (name, value) in fields {
        match value {
            Value::String(text) if TEXTS.contains(&name.as_str()) => clean(text),
            Value::Object(fields) => clean_texts(fields),
            Value::Array(items) => {
                let objects = items.iter_mut().filter_map(Value::as_object_mut);
                objects.for_each(clean_texts);
            }
            _ => {}
        }
    }
}

/// Removes invisible characters from a text.
pub(super) fn clean(text: &mut String) {
    if let Cow::Owned(clean) = without_invisible(text) {
        *text = clean;
    }
}

/// Refuses a name with invisible characters that is published unchanged: a person could take it for
/// another one.
pub(super) fn check_name(field: &str, name: &str) -> Result<(), DefinitionError> {
    if without_invisible(name) == name {
        return Ok(());
    }
    let name = visible_line(name);
    let message = format!("`{field}` has invisible characters: write `{name}` without them");
    Err((ErrorCode::DefinitionInvalid, message))
}
