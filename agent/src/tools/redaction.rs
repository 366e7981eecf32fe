//! Arguments of calls as logs have them: without secrets, and short.

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

/// The maximum size of the arguments in a log, in bytes.
const MAX_ARGUMENT_BYTES: usize = 2048;

/// What a log has in place of a secret.
const REDACTED: &str = "[redacted]";

/// Parts of the names of arguments that are secrets, whatever their schema says.
const SECRET_NAMES: [&str; 8] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "authorization",
    "credential",
];

/// How deep the schema of arguments is followed.
const MAX_DEPTH: usize = 16;

/// Returns arguments as JSON without what their schema marks as secret (`writeOnly`, or the format
/// `password`), and without what is named like a secret.
pub(super) fn arguments_text(arguments: &Map<String, Value>, schema: &Value) -> String {
    Value::Object(redact_object(arguments, Some(schema), 0)).to_string()
}

/// Returns the JSON of arguments for a log: of long ones a text with its beginning.
pub(super) fn shorten_arguments(text: String) -> Box<RawValue> {
    if text.len() <= MAX_ARGUMENT_BYTES {
        return RawValue::from_string(text).unwrap_or_default();
    }
    let end = text.floor_char_boundary(MAX_ARGUMENT_BYTES);
    to_raw_value(&format!("{}…", &text[..end])).unwrap_or_default()
}

fn redact_object(
    fields: &Map<String, Value>,
    schema: Option<&Value>,
    depth: usize,
) -> Map<String, Value> {
    let properties = schema.and_then(|schema| schema.get("properties"));
    let redact = |(name, value): (&String, &Value)| {
        let schema = properties.and_then(|properties| properties.get(name));
        let value = if is_secret_name(name) {
            REDACTED.into()
        } else {
            redact_value(value, schema, depth + 1)
        };
        (name.clone(), value)
    };
    fields.iter().map(redact).collect()
}

fn redact_value(value: &Value, schema: Option<&Value>, depth: usize) -> Value {
    if depth > MAX_DEPTH || schema.is_some_and(is_secret_schema) {
        return REDACTED.into();
    }
    match value {
        Value::Object(fields) => Value::Object(redact_object(fields, schema, depth)),
        Value::Array(items) => {
            let schema = schema.and_then(|schema| schema.get("items"));
            let items = items.iter();
            items
                .map(|it| redact_value(it, schema, depth + 1))
                .collect()
        }
        other => other.clone(),
    }
}

fn is_secret_schema(schema: &Value) -> bool {
    schema.get("writeOnly") == Some(&Value::Bool(true))
        || schema
            .get("format")
            .is_some_and(|format| format == "password")
}

fn is_secret_name(name: &str) -> bool {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let letters: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    // `maxTokens` and `tokens` are numbers, and tell nothing.
    SECRET_NAMES.iter().any(|part| letters.contains(part)) && !letters.ends_with("tokens")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn redacted(arguments: Value, schema: Value) -> Value {
        let text = arguments_text(arguments.as_object().unwrap(), &schema);
        let text = shorten_arguments(text);
        serde_json::from_str(text.get()).unwrap()
    }

    #[test]
    fn what_a_schema_or_a_name_marks_as_secret_is_redacted() {
        let schema = json!({ "properties": {
            "pin": { "type": "string", "writeOnly": true },
            "user": { "properties": { "word": { "format": "password" }, "name": {} } },
            "keys": { "items": { "writeOnly": true } },
        } });
        let arguments = json!({ "pin": "1234", "user": { "word": "w", "name": "ada" },
            "keys": ["a", "b"], "apiKey": "k", "access_token": { "a": 1 }, "maxTokens": 5,
            "list": [{ "Password": "p", "x": 1 }] });
        let expected = json!({ "pin": REDACTED, "user": { "word": REDACTED, "name": "ada" },
            "keys": [REDACTED, REDACTED], "apiKey": REDACTED, "access_token": REDACTED,
            "maxTokens": 5, "list": [{ "Password": REDACTED, "x": 1 }] });
        assert_eq!(redacted(arguments, schema), expected);
    }

    #[test]
    fn what_is_nested_too_deeply_is_redacted() {
        let mut nested = json!("secret");
        for _ in 0..=MAX_DEPTH {
            nested = json!({ "a": nested });
        }
        let text = redacted(nested, json!({})).to_string();
        assert!(
            !text.contains("secret") && text.contains(REDACTED),
            "{text}"
        );
    }

    #[test]
    fn long_arguments_are_the_beginning_of_their_text() {
        let long = json!({ "text": "é".repeat(MAX_ARGUMENT_BYTES) });
        let text = redacted(long, json!({}));
        let text = text.as_str().unwrap();
        assert!(
            text.starts_with(r#"{"text":"é"#) && text.ends_with('…'),
            "{text}"
        );
        assert!(text.len() <= MAX_ARGUMENT_BYTES + "…".len());
    }
}
