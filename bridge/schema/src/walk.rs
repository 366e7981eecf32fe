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
    for_each_direct_subschema(fields, &mut |_, inner| for_each_subschema(inner, visit));
    visit(fields);
}

/// Visits every direct subschema of a schema, with the keyword that it belongs to. A subschema is
/// an object or a boolean; values that have no valid form are also visited.
pub fn for_each_direct_subschema(
    schema: &mut Map<String, Value>,
    visit: &mut impl FnMut(&str, &mut Value),
) {
    for (keyword, value) in schema {
        let keyword = keyword.as_str();
        match value {
            Value::Object(schemas) if SCHEMA_MAP_KEYWORDS.contains(&keyword) => {
                schemas.values_mut().for_each(|inner| visit(keyword, inner));
            }
            Value::Array(schemas) if SCHEMA_ARRAY_KEYWORDS.contains(&keyword) => {
                schemas.iter_mut().for_each(|inner| visit(keyword, inner));
            }
            inner if SCHEMA_KEYWORDS.contains(&keyword) => visit(keyword, inner),
            _ => {}
        }
    }
}
