//! Converts JSON values of the crate `page-tools`, which has no JSON library.

use page_tools::Value as PageValue;
use serde_json::{Map, Number, Value};

pub(super) fn to_page(value: &Value) -> PageValue {
    match value {
        Value::Null => PageValue::Null,
        Value::Bool(flag) => PageValue::Bool(*flag),
        Value::Number(number) => PageValue::Number(number.as_f64().unwrap_or_default()),
        Value::String(text) => PageValue::String(text.clone()),
        Value::Array(items) => PageValue::Array(items.iter().map(to_page).collect()),
        Value::Object(members) => {
            let members = members.iter().map(|(name, it)| (name.clone(), to_page(it)));
            PageValue::Object(members.collect())
        }
    }
}

pub(super) fn from_page(value: &PageValue) -> Value {
    match value {
        PageValue::Null => Value::Null,
        PageValue::Bool(flag) => Value::Bool(*flag),
        PageValue::Number(number) => from_number(*number),
        PageValue::String(text) => Value::String(text.clone()),
        PageValue::Array(items) => items.iter().map(from_page).collect(),
        PageValue::Object(members) => {
            let members = members
                .iter()
                .map(|(name, it)| (name.clone(), from_page(it)));
            Value::Object(members.collect::<Map<_, _>>())
        }
    }
}

/// Whole numbers are written without a fraction, as JavaScript does.
fn from_number(number: f64) -> Value {
    const MAX_SAFE: f64 = 9_007_199_254_740_991.0;
    if number.fract() == 0.0 && number.abs() <= MAX_SAFE {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the number is whole and fits"
        )]
        return Value::from(number as i64);
    }
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}
