//! The rules for one model of Anthropic, and the check of fields that it does not know.

use serde_json::Value;

use super::super::fields::unknown_field;
use super::super::table::{AnthropicModel, Check, Rules};

/// The rules, and the model of a request.
pub(super) type Rule<'a> = (&'static Rules, &'a AnthropicModel);

/// Checks that an object has no other fields.
pub(super) fn extra(value: &Value, path: &str, known: &[&str], rules: &'static Rules) -> Check {
    let Some(field) = unknown_field(value, known) else {
        return Ok(());
    };
    let path = format!("{path}{field}");
    Err(rules.refuse("anthropic.extra", &[("path", &path)]))
}
