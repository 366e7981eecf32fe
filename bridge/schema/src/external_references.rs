//! References of a schema to other documents.

use jsonschema::{Draft, Registry};
use serde_json::Value;

use crate::subschemas::META_SCHEMA_PREFIX;

/// The address of a schema that does not name its own.
const DEFAULT_ADDRESS: &str = "json-schema:///";

/// Refuses a schema that the validator could not compile because of an address in it: a `$ref` to
/// another document, or an `$id` that is not a URI. The validator follows every reference, also one
/// that no value can reach.
pub(crate) fn refuse(schema: &Value) -> Result<(), String> {
    if !has_addresses(schema) {
        return Ok(());
    }
    let draft = Draft::Draft202012;
    let address = schema.get("$id").and_then(Value::as_str);
    let registry = Registry::new()
        .draft(draft)
        .add(
            address.unwrap_or(DEFAULT_ADDRESS),
            draft.create_resource_ref(schema),
        )
        .and_then(|registry| registry.prepare());
    match registry {
        Ok(_) => Ok(()),
        Err(error) => Err(format!(
            "a `$ref` or `$id` in it cannot be used, refer to `#/$defs/…`: {error}"
        )),
    }
}

/// Whether there may be an address of another document. Most schemas have none, and need no
/// further check.
fn has_addresses(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(name, value)| match value {
            Value::String(text) => match name.as_str() {
                "$id" => true,
                "$ref" | "$schema" => {
                    !text.starts_with('#') && !text.starts_with(META_SCHEMA_PREFIX)
                }
                _ => false,
            },
            _ => has_addresses(value),
        }),
        Value::Array(items) => items.iter().any(has_addresses),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::Validator;

    /// Each would be registered, and then fail every call.
    #[test]
    fn an_address_that_cannot_be_used_is_refused_even_where_no_value_reaches_it() {
        for unused in [
            json!({"$ref": "https://example.com/address.json"}),
            json!({"anyOf": [{"$ref": "not a URI"}]}),
            json!({"$id": "not a URI"}),
        ] {
            for keyword in ["$defs", "definitions"] {
                let schema = json!({"type": "object", keyword: {"unused": unused}});
                let error = Validator::new(schema).unwrap_err();
                assert!(error.contains("#/$defs/"), "{error}");
            }
        }
    }

    #[test]
    fn addresses_within_a_schema_and_those_of_meta_schemas_are_used() {
        let schema = json!({"$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": "https://example.com/tool", "type": "object",
            "properties": {"a": {"$ref": "text"}, "b": {"$ref": "#/$defs/t"}},
            "$defs": {"t": {"$id": "text", "type": "string"},
                "unused": {"$ref": "https://json-schema.org/draft/2020-12/schema"}},
            "default": {"$ref": "no reference"}});
        let validator = Validator::new(schema).unwrap();
        assert!(validator.validate(&json!({"a": "x", "b": "x"})).is_ok());
        assert!(validator.validate(&json!({"a": 1})).is_err());
        assert!(validator.validate(&json!({"b": 1})).is_err());
    }
}
