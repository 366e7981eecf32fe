//! Traversal of the subschemas of a schema. Data in `enum`, `const`, `default` and `examples` is
//! never mistaken for a schema.

use serde_json::{Map, Value};

const SCHEMA_KEYWORDS: [&str; 13] = [
    "not",
    "if",
    "then",
    "else",
    "items",
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "extends",
];

const SCHEMA_ARRAY_KEYWORDS: [&str; 5] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];

const SCHEMA_MAP_KEYWORDS: [&str; 6] = [
    "properties",
    "patternProperties",
    "dependentSchemas",
    "dependencies",
    "$defs",
    "definitions",
];

/// Visits every subschema that is an object, inner ones first, the root last.
pub fn for_each_subschema(schema: &mut Value, visit: &mut impl FnMut(&mut Map<String, Value>)) {
    let Value::Object(fields) = schema else {
        return;
    };
    for (keyword, value) in fields.iter_mut() {
        let keyword = keyword.as_str();
        match value {
            Value::Object(schemas) if SCHEMA_MAP_KEYWORDS.contains(&keyword) => {
                schemas
                    .values_mut()
                    .for_each(|inner| for_each_subschema(inner, visit));
            }
            Value::Array(schemas) if SCHEMA_ARRAY_KEYWORDS.contains(&keyword) => {
                schemas
                    .iter_mut()
                    .for_each(|inner| for_each_subschema(inner, visit));
            }
            Value::Object(_) if SCHEMA_KEYWORDS.contains(&keyword) => {
                for_each_subschema(value, visit)
            }
            _ => {}
        }
    }
    visit(fields);
}
