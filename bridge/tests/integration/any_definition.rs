//! Strategies for values and definitions that a page could register, for property tests. The unit
//! tests of the crate `bridge-realm` include this file as well.

use bridge_protocol::invisible::without_invisible;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::string::{RegexGeneratorStrategy, string_regex};
use serde_json::{Map, Number, Value, json};

/// Any JSON value whose numbers fit into an `f64` or a 64-bit integer.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|n| Number::from_f64(n).map_or(Value::Null, Value::Number)),
        any_string().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((any_string(), inner), 0..5).prop_map(object),
        ]
    })
}

pub(crate) fn any_object() -> impl Strategy<Value = Value> {
    vec((any_string(), any_json()), 0..5).prop_map(object)
}

/// Any text. `any::<String>()` would parse its pattern for each text.
fn any_string() -> RegexGeneratorStrategy<String> {
    matching("\\PC*")
}

fn matching(pattern: &str) -> RegexGeneratorStrategy<String> {
    string_regex(pattern).expect("the pattern is a regular expression")
}

/// Any text that a person sees.
fn any_text() -> impl Strategy<Value = String> {
    any_string().prop_map(|text| without_invisible(&text).into_owned())
}

fn object(fields: Vec<(String, Value)>) -> Value {
    Value::Object(fields.into_iter().collect())
}

/// A schema of 2020-12 that every client accepts, with keywords in any order and some unknown ones.
fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = vec(
        prop_oneof![
            Just(("type".to_owned(), json!("string"))),
            Just(("type".to_owned(), json!(["number", "null"]))),
            (0..99_u32).prop_map(|n| ("minLength".to_owned(), json!(n))),
            Just(("pattern".to_owned(), json!("^(?=.)\\p{L}*$"))),
            Just(("$ref".to_owned(), json!("#/$defs/shared"))),
            any_json().prop_map(|value| ("const".to_owned(), value)),
            any_json().prop_map(|value| ("default".to_owned(), value)),
            vec(any_json(), 1..4).prop_map(|values| ("enum".to_owned(), json!(values))),
            any_text().prop_map(|text| ("description".to_owned(), json!(text))),
            (matching("x-[a-z]{1,9}"), any_json()),
        ],
        0..4,
    )
    .prop_map(object);
    leaf.prop_recursive(3, 20, 4, |inner| {
        let named = vec((any_string(), inner.clone()), 0..4).prop_map(object);
        let keyword = prop_oneof![
            named.prop_map(|schemas| ("properties".to_owned(), schemas)),
            inner
                .clone()
                .prop_map(|schema| ("items".to_owned(), schema)),
            inner.clone().prop_map(|schema| ("not".to_owned(), schema)),
            inner
                .clone()
                .prop_map(|schema| ("additionalProperties".to_owned(), schema)),
            vec(inner.clone(), 1..4).prop_map(|schemas| ("anyOf".to_owned(), json!(schemas))),
            vec(inner, 1..4).prop_map(|schemas| ("prefixItems".to_owned(), json!(schemas))),
        ];
        vec(keyword, 0..4).prop_map(object)
    })
}

fn any_root(argument_names: &'static str) -> impl Strategy<Value = Value> {
    let properties = vec((matching(argument_names), any_schema()), 0..5).prop_map(object);
    (properties, any_schema(), any::<bool>()).prop_map(|(properties, shared, closed)| {
        json!({"type": "object", "properties": properties, "additionalProperties": !closed,
            "$defs": {"shared": {"title": "Shared", "examples": [shared]}}})
    })
}

pub(crate) fn any_tool() -> impl Strategy<Value = Value> {
    let field = prop_oneof![
        any_text().prop_map(|text| ("title".to_owned(), json!(text))),
        any_text().prop_map(|text| ("description".to_owned(), json!(text))),
        any_root("[a-zA-Z0-9_.-]{1,64}").prop_map(|schema| ("outputSchema".to_owned(), schema)),
        any_object().prop_map(|meta| ("_meta".to_owned(), meta)),
        (any::<bool>(), any_text()).prop_map(|(hint, title)| (
            "annotations".to_owned(),
            json!({"readOnlyHint": hint, "title": title})
        )),
        any_string().prop_map(|src| ("icons".to_owned(), json!([{"sizes": ["any"], "src": src}]))),
        (matching("own[a-z]{1,9}"), any_json()),
    ];
    let input = any_root("[a-zA-Z0-9_.-]{1,64}");
    let name = matching("[a-zA-Z0-9_-]{1,64}");
    (vec(field, 0..6), input, name, 0..6_usize).prop_map(|(fields, input, name, index)| {
        let mut tool: Map<String, Value> = fields.into_iter().collect();
        tool.shift_insert(index.min(tool.len()), "inputSchema".to_owned(), input);
        tool.shift_insert(index.min(tool.len()), "name".to_owned(), json!(name));
        Value::Object(tool)
    })
}
