//! Results without stored secrets, and arguments of calls for logs: without secrets, and short.

use std::borrow::Cow;

use agent_secrets::SecretStore;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

/// The maximum size of the arguments in a log, in bytes.
const MAX_ARGUMENT_BYTES: usize = 2048;

/// Placeholder of a secret in a log.
const REDACTED: &str = "[redacted]";

/// Parts of the names of arguments that are secrets regardless of their schema.
const SECRET_NAMES: [&str; 12] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "authorization",
    "credential",
    "pwd",
    "privatekey",
    "cookie",
    "accesskey",
];

/// Maximum depth to which the schema of arguments is followed.
const MAX_DEPTH: usize = 16;

/// Maximum number of schemas that are followed for one value: unions may refer to each other.
const MAX_SCHEMAS: usize = 64;

/// Replaces the values of stored secrets in a text.
pub(super) fn without_secrets(text: String, secrets: Option<&SecretStore>) -> String {
    let Some(secrets) = secrets else {
        return text;
    };
    match secrets.redactor() {
        Ok(redactor) => match redactor.redact(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(redacted) => redacted,
        },
        // Without the secrets it is not known what to hide.
        Err(error) => {
            tracing::error!(%error, "a result is left out, because it may have secrets");
            "[left out: the stored secrets cannot be read]".to_owned()
        }
    }
}

/// Returns arguments as JSON without what their schema marks as secret (`writeOnly`, or the format
/// `password`), and without what is named like a secret.
pub(super) fn arguments_text(arguments: &Map<String, Value>, schema: &Value) -> String {
    let redaction = Redaction { root: schema };
    Value::Object(redaction.object(arguments, &[schema], 0)).to_string()
}

/// Returns the JSON of arguments for a log: of long ones a text with its beginning.
pub(super) fn shorten_arguments(text: String) -> Box<RawValue> {
    if text.len() <= MAX_ARGUMENT_BYTES {
        return RawValue::from_string(text).unwrap_or_default();
    }
    let end = text.floor_char_boundary(MAX_ARGUMENT_BYTES);
    to_raw_value(&format!("{}…", &text[..end])).unwrap_or_default()
}

/// The redaction of arguments with a schema.
struct Redaction<'a> {
    root: &'a Value,
}

impl<'a> Redaction<'a> {
    /// Redacts the fields of an object, to which all of these schemas may apply.
    fn object(
        &self,
        fields: &Map<String, Value>,
        schemas: &[&'a Value],
        depth: usize,
    ) -> Map<String, Value> {
        let redact = |(name, value): (&String, &Value)| {
            let value = if is_secret_name(name, value) {
                REDACTED.into()
            } else {
                let of_field = schemas
                    .iter()
                    .filter_map(|schema| field_schema(schema, name));
                self.value(value, of_field.collect(), depth + 1)
            };
            (name.clone(), value)
        };
        fields.iter().map(redact).collect()
    }

    fn value(&self, value: &Value, schemas: Vec<&'a Value>, depth: usize) -> Value {
        let schemas = self.applicable(schemas);
        if depth > MAX_DEPTH || schemas.iter().any(|schema| is_secret_schema(schema)) {
            return REDACTED.into();
        }
        match value {
            Value::Object(fields) => Value::Object(self.object(fields, &schemas, depth)),
            Value::Array(items) => {
                let redact = |(index, item): (usize, &Value)| {
                    let of_item = schemas
                        .iter()
                        .flat_map(|schema| item_schemas(schema, index));
                    self.value(item, of_item.collect(), depth + 1)
                };
                items.iter().enumerate().map(redact).collect()
            }
            other => other.clone(),
        }
    }

    /// Returns schemas with those that they refer to and consist of.
    fn applicable(&self, mut schemas: Vec<&'a Value>) -> Vec<&'a Value> {
        let mut index = 0;
        while let Some(schema) = schemas.get(index).copied()
            && schemas.len() < MAX_SCHEMAS
        {
            let reference = schema.get("$ref").and_then(Value::as_str);
            let target = reference.and_then(|it| self.root.pointer(it.strip_prefix('#')?));
            let parts = ["anyOf", "oneOf", "allOf"].iter();
            let parts = parts
                .filter_map(|key| schema.get(key)?.as_array())
                .flatten();
            let more: Vec<_> = target.into_iter().chain(parts).collect();
            schemas.extend(more.into_iter().filter(|it| it.is_object()));
            index += 1;
        }
        schemas
    }
}

fn field_schema<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    let property = schema.get("properties").and_then(|it| it.get(name));
    property.or_else(|| schema.get("additionalProperties"))
}

fn item_schemas(schema: &Value, index: usize) -> impl Iterator<Item = &Value> {
    let prefix = schema.get("prefixItems").and_then(|it| it.get(index));
    prefix.into_iter().chain(schema.get("items"))
}

fn is_secret_schema(schema: &Value) -> bool {
    let format = schema.get("format");
    schema.get("writeOnly") == Some(&Value::Bool(true)) || format.is_some_and(|it| it == "password")
}

fn is_secret_name(name: &str, value: &Value) -> bool {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let letters: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    // `maxTokens` is a number, and reveals nothing.
    SECRET_NAMES.iter().any(|part| letters.contains(part)) && !value.is_number()
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
    fn arguments_that_a_schema_or_a_name_marks_as_secret_are_redacted() {
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
    fn secrets_are_found_behind_references_and_in_unions() {
        let schema = json!({
            "$defs": { "secret": { "type": "string", "writeOnly": true },
                "loop": { "anyOf": [{ "$ref": "#/$defs/loop" }, { "$ref": "#/$defs/loop" }] } },
            "properties": {
                "a": { "anyOf": [{ "$ref": "#/$defs/secret" }, { "type": "null" }] },
                "b": { "allOf": [{ "format": "password" }] },
                "c": { "prefixItems": [{}, { "writeOnly": true }] },
                "d": { "additionalProperties": { "$ref": "#/$defs/secret" } },
                "e": { "$ref": "#/$defs/loop" },
            },
        });
        let arguments = json!({ "a": "1", "b": "2", "c": ["x", "3"], "d": { "y": "4" }, "e": "z",
            "accessTokens": ["5"], "pwd": "6", "Cookie": "7", "max_tokens": 8 });
        let expected = json!({ "a": REDACTED, "b": REDACTED, "c": ["x", REDACTED],
            "d": { "y": REDACTED }, "e": "z", "accessTokens": REDACTED, "pwd": REDACTED,
            "Cookie": REDACTED, "max_tokens": 8 });
        assert_eq!(redacted(arguments, schema), expected);
    }

    #[test]
    fn arguments_that_are_nested_too_deeply_are_redacted() {
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
