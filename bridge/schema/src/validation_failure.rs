//! The reasons why a value was not accepted, and their texts.

use std::fmt;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use crate::cost::MAX_COST;
use crate::value_count::MAX_VALUES;

/// The maximum length of each path, rule and message.
const MAX_TEXT_CHARS: usize = 240;

/// Longer strings are not searched for JSON.
const MAX_ARGUMENT_BYTES: usize = 64 * 1024;

/// The reason why a value was not accepted.
#[derive(Debug)]
pub enum ValidationFailure {
    /// The schema itself is not valid.
    InvalidSchema(String),
    /// The text cannot be parsed. The reason is the parser's.
    Unreadable(String),
    /// The text has more than [`MAX_VALUES`] values.
    TooManyValues,
    /// The value is too large or nested too deeply to be validated against this schema.
    TooCostly,
    /// The value violates the schema. The list is empty if collecting the violations would cost too
    /// much.
    InvalidValue {
        violations: Vec<Violation>,
        /// Whether there are more violations than are listed.
        has_more: bool,
    },
}

/// A violation: the value at `path` violates `rule` (both are JSON pointers).
#[derive(Debug)]
pub struct Violation {
    pub path: String,
    pub rule: String,
    pub message: String,
}

impl From<ValidationError<'_>> for Violation {
    fn from(error: ValidationError<'_>) -> Self {
        let message = match type_in_string(&error) {
            Some(kind) => format!(
                "the value is a string that contains JSON: pass the {kind} itself, without quotes \
                 around it"
            ),
            None => error.masked_with("the value").to_string(),
        };
        Self {
            path: truncate(&pointer_or_root(&error.instance_path().to_string())),
            rule: truncate(&error.schema_path().to_string()),
            message: truncate(&message),
        }
    }
}

/// The type of the value that a string contains as JSON, if that type is the expected one. Models
/// sometimes encode a value twice.
fn type_in_string(error: &ValidationError<'_>) -> Option<JsonType> {
    let has_type_rule = matches!(
        error.kind(),
        ValidationErrorKind::Type { .. }
            | ValidationErrorKind::AnyOf { .. }
            | ValidationErrorKind::OneOfNotValid { .. }
    );
    let json = match error.instance().as_ref() {
        Value::String(json) if has_type_rule => json,
        _ => return None,
    };
    // Once: a union may have as many branches as the text has values.
    type_of_json(json).filter(|found| expects_type(error, *found))
}

/// Whether the value would be of an expected type if it were of this one. All branches of a union
/// see the same value.
fn expects_type(error: &ValidationError<'_>, found: JsonType) -> bool {
    let branches = match error.kind() {
        ValidationErrorKind::Type { kind } => {
            let expected = match kind {
                TypeKind::Single(expected) => (*expected).into(),
                TypeKind::Multiple(expected) => *expected,
            };
            let is_number = found == JsonType::Integer && expected.contains(JsonType::Number);
            return is_number || expected.contains(found);
        }
        ValidationErrorKind::AnyOf { context } => context,
        ValidationErrorKind::OneOfNotValid { context } => context,
        _ => return false,
    };
    let mut causes = branches.iter().flatten();
    causes.any(|cause| expects_type(cause, found))
}

/// The type of the value in a JSON text that may be an argument by itself.
fn type_of_json(json: &str) -> Option<JsonType> {
    if json.len() > MAX_ARGUMENT_BYTES {
        return None;
    }
    match serde_json::from_str(json).ok()? {
        Value::Bool(_) => Some(JsonType::Boolean),
        Value::Number(number) if number.is_f64() => Some(JsonType::Number),
        Value::Number(_) => Some(JsonType::Integer),
        Value::Array(_) => Some(JsonType::Array),
        Value::Object(_) => Some(JsonType::Object),
        Value::Null | Value::String(_) => None,
    }
}

impl fmt::Display for ValidationFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValidationFailure::InvalidSchema(error) => {
                write!(f, "the tool's schema is not valid: {error}")
            }
            ValidationFailure::Unreadable(error) => write!(f, "it cannot be read: {error}"),
            ValidationFailure::TooManyValues => write!(
                f,
                "the value has more than {MAX_VALUES} values in it, which are too many to be \
                 checked: make it smaller"
            ),
            ValidationFailure::TooCostly => write!(
                f,
                "the value is too large or nested too deeply to be checked against this schema \
                 (more than {MAX_COST} steps): make it smaller"
            ),
            ValidationFailure::InvalidValue {
                violations,
                has_more,
            } => {
                if violations.is_empty() {
                    return write!(f, "it is too large to say where: try with less data");
                }
                for (n, violation) in violations.iter().enumerate() {
                    let separator = if n == 0 { "" } else { "; " };
                    write!(f, "{separator}{violation}")?;
                }
                write!(f, "{}", if *has_more { "; and more" } else { "" })
            }
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            rule,
            message,
        } = self;
        write!(f, "at {path}: {message} (rule {rule})")
    }
}

fn pointer_or_root(pointer: &str) -> String {
    if pointer.is_empty() {
        "/".to_owned()
    } else {
        pointer.to_owned()
    }
}

/// Truncates a text, because schemas may have long names and lists.
pub(crate) fn truncate(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
