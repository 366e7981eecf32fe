//! Schemas of tools in the form that every provider accepts.

use bridge_schema::walk;
use serde_json::{Map, Value, json};

/// The keywords at which servers accept booleans.
const BOOLEANS_ACCEPTED: [&str; 4] = [
    "additionalItems",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Completes a schema: providers require an object with properties, even if there are none, and
/// llama.cpp refuses a request whose schemas contain booleans as schemas.
pub(super) fn normalize(schema: &Value) -> Value {
    let mut schema = match schema {
        Value::Object(schema) => schema.clone(),
        _ => Map::new(),
    };
    schema.entry("type").or_insert_with(|| "object".into());
    schema.entry("properties").or_insert_with(|| json!({}));
    replace_booleans_within(&mut schema);
    Value::Object(schema)
}

/// Replaces schemas that are booleans by objects with the same meaning.
fn replace_booleans_within(schema: &mut Map<String, Value>) {
    walk::for_each_direct_subschema(schema, &mut |keyword, inner| match inner {
        Value::Object(schema) => replace_booleans_within(schema),
        Value::Bool(_) if BOOLEANS_ACCEPTED.contains(&keyword) => {}
        Value::Bool(true) => *inner = json!({}),
        Value::Bool(false) => *inner = json!({ "not": {} }),
        _ => {}
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_an_object_with_properties() {
        let empty = json!({ "type": "object", "properties": {} });
        for schema in [Value::Null, json!({}), json!(true)] {
            assert_eq!(normalize(&schema), empty, "{schema}");
        }
    }

    #[test]
    fn booleans_are_replaced_where_they_are_schemas() {
        let schema = json!({
            "type": "object",
            "properties": {
                "any": true,
                "pair": { "type": "array", "prefixItems": [true, { "anyOf": [false] }], "items": false },
                "items": { "const": { "items": true } },
                "map": { "additionalProperties": { "properties": { "none": false } } },
            },
            "additionalProperties": false,
            "$defs": { "any": true },
            "default": { "properties": { "any": true } },
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "any": {},
                "pair": { "type": "array", "prefixItems": [{}, { "anyOf": [{ "not": {} }] }], "items": { "not": {} } },
                "items": { "const": { "items": true } },
                "map": { "additionalProperties": { "properties": { "none": { "not": {} } } } },
            },
            "additionalProperties": false,
            "$defs": { "any": {} },
            "default": { "properties": { "any": true } },
        });
        assert_eq!(normalize(&schema), expected);
    }
}
