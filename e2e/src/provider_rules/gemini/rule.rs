//! The rules for one model of Gemini, and the check of fields that it does not know.

use serde_json::Value;

use super::super::fields::unknown_field;
use super::super::table::{Check, GeminiModel, Rules};

/// The rules, and the model of a request.
pub(super) type Rule<'a> = (&'static Rules, &'a GeminiModel);

/// Checks that an object has no other fields.
pub(super) fn known(value: &Value, path: &str, fields: &[&str], rules: &'static Rules) -> Check {
    match unknown_field(value, fields) {
        Some(name) => Err(rules.refuse("gemini.unknown", &[("name", name), ("path", path)])),
        None => Ok(()),
    }
}
