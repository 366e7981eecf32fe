//! The cost of the keywords of one subschema for one value, in steps.

use serde_json::{Map, Value};

use super::patterns;

/// Looking up a name is faster than applying a subschema.
const NAMES_PER_STEP: u64 = 4;

/// The validator compares arrays of up to 15 items pairwise, and hashes the items of longer ones.
const UNIQUE_ITEMS_COST: u64 = 8;

/// `format` reads the whole text, and some formats read it byte by byte.
const FORMAT_COST: u64 = 4;

/// The validator divides decimal fractions exactly, which is slow.
const MULTIPLE_OF_COST: u64 = 50;

/// The steps that one subschema takes for one value, without the subschemas that it applies.
pub fn subschema_cost(fields: &Map<String, Value>) -> u64 {
    1 + fields
        .iter()
        .map(|(keyword, value)| keyword_cost(keyword, value))
        .sum::<u64>()
}

fn keyword_cost(keyword: &str, value: &Value) -> u64 {
    match (keyword, value) {
        ("enum", Value::Array(choices)) if choices.iter().all(is_hashed) => 1,
        ("enum" | "const", _) => count_values(value),
        ("required" | "properties" | "dependentRequired" | "dependentSchemas", _) => {
            count_top_values(value) / NAMES_PER_STEP
        }
        ("pattern", Value::String(pattern)) => patterns::state_count(pattern),
        ("patternProperties", Value::Object(named)) => named
            .keys()
            .map(|pattern| patterns::state_count(pattern))
            .sum(),
        ("uniqueItems", Value::Bool(true)) => UNIQUE_ITEMS_COST,
        ("format", _) => FORMAT_COST,
        ("multipleOf", Value::Number(divisor)) if divisor.is_f64() => MULTIPLE_OF_COST,
        _ => 0,
    }
}

/// Whether the validator finds values of this type in an enumeration by lookup. It compares other
/// values one by one.
fn is_hashed(choice: &Value) -> bool {
    choice.is_string() || choice.is_null()
}

fn count_values(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.iter().map(count_values).sum::<u64>(),
        Value::Object(fields) => 1 + fields.values().map(count_values).sum::<u64>(),
        _ => 1,
    }
}

fn count_top_values(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.len() as u64,
        Value::Object(fields) => fields
            .values()
            .map(|inner| 1 + count_top_values(inner))
            .sum(),
        _ => 0,
    }
}
