//! Schemas of tools in the form that every provider accepts.

use serde_json::{Map, Value, json};

/// The keywords whose value is a schema. `additionalProperties` and `unevaluatedProperties` are not
/// among them: servers accept booleans there.
const SCHEMAS: [&str; 8] = [
    "items",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "contentSchema",
];

/// The keywords whose value is a list of schemas.
const SCHEMA_LISTS: [&str; 4] = ["prefixItems", "anyOf", "oneOf", "allOf"];

/// The keywords whose value is an object with schemas.
const SCHEMA_OBJECTS: [&str; 5] = [
    "properties",
    "patternProperties",
    "dependentSchemas",
    "$defs",
    "definitions",
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
fn replace_booleans(schema: &mut Value) {
    match schema {
        Value::Bool(true) => *schema = json!({}),
        Value::Bool(false) => *schema = json!({ "not": {} }),
        Value::Object(schema) => replace_booleans_within(schema),
        _ => {}
    }
}

fn replace_booleans_within(schema: &mut Map<String, Value>) {
    for (keyword, value) in schema {
        let keyword = keyword.as_str();
        match value {
            Value::Array(schemas) if SCHEMA_LISTS.contains(&keyword) => {
                schemas.iter_mut().for_each(replace_booleans);
            }
            Value::Object(schemas) if SCHEMA_OBJECTS.contains(&keyword) => {
                schemas.values_mut().for_each(replace_booleans);
            }
            Value::Object(schema) if keyword == "additionalProperties" => {
                replace_booleans_within(schema);
            }
            schema if SCHEMAS.contains(&keyword) => replace_booleans(schema),
            _ => {}
        }
    }
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
