//! The places of a schema where schemas stand, so that data in `enum`, `const`, `default` and
//! `examples` is never taken for one.

use serde_json::{Map, Value};

const ONE: [&str; 13] = [
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

const LISTED: [&str; 5] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];

const NAMED: [&str; 6] = [
    "properties",
    "patternProperties",
    "dependentSchemas",
    "dependencies",
    "$defs",
    "definitions",
];

/// Visits every subschema that is an object, inner ones first, the root last.
pub(crate) fn each(schema: &mut Value, visit: &mut impl FnMut(&mut Map<String, Value>)) {
    let Value::Object(fields) = schema else {
        return;
    };
    for (keyword, value) in fields.iter_mut() {
        let keyword = keyword.as_str();
        match value {
            Value::Object(named) if NAMED.contains(&keyword) => {
                named.values_mut().for_each(|inner| each(inner, visit));
            }
            Value::Array(listed) if LISTED.contains(&keyword) => {
                listed.iter_mut().for_each(|inner| each(inner, visit));
            }
            Value::Object(_) if ONE.contains(&keyword) => each(value, visit),
            _ => {}
        }
    }
    visit(fields);
}
