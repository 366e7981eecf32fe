//! What the keywords of one subschema cost, in looks at one value.

use serde_json::{Map, Value};

use super::patterns;

/// A name is looked up faster than a subschema is applied.
const NAMES_PER_LOOK: u64 = 4;

/// Up to 15 items are compared with each other, more are hashed.
const UNIQUE_ITEMS: u64 = 8;

/// `format` reads the whole text, some of them byte by byte.
const FORMAT: u64 = 4;

/// Decimal fractions are divided exactly.
const MULTIPLE_OF: u64 = 50;

pub(super) fn of(fields: &Map<String, Value>) -> u64 {
    1 + fields
        .iter()
        .map(|(keyword, value)| keyword_price(keyword, value))
        .sum::<u64>()
}

fn keyword_price(keyword: &str, value: &Value) -> u64 {
    match (keyword, value) {
        ("enum", Value::Array(choices)) if choices.iter().all(is_hashed) => 1,
        ("enum" | "const", _) => values(value),
        ("required" | "properties" | "dependentRequired" | "dependentSchemas", _) => {
            values_at_top(value) / NAMES_PER_LOOK
        }
        ("pattern", Value::String(pattern)) => patterns::states(pattern),
        ("patternProperties", Value::Object(named)) => {
            named.keys().map(|pattern| patterns::states(pattern)).sum()
        }
        ("uniqueItems", Value::Bool(true)) => UNIQUE_ITEMS,
        ("format", _) => FORMAT,
        ("multipleOf", Value::Number(divisor)) if divisor.is_f64() => MULTIPLE_OF,
        _ => 0,
    }
}

/// Enumerations of such values are looked up, not compared one by one.
fn is_hashed(choice: &Value) -> bool {
    choice.is_string() || choice.is_null()
}

fn values(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.iter().map(values).sum::<u64>(),
        Value::Object(fields) => 1 + fields.values().map(values).sum::<u64>(),
        _ => 1,
    }
}

fn values_at_top(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.len() as u64,
        Value::Object(fields) => fields.values().map(|inner| 1 + values_at_top(inner)).sum(),
        _ => 0,
    }
}
