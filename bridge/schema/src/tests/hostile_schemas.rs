//! Schemas that are meant to overload the bridge, each with a value that is expensive to validate.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::cost::MAX_COST;
use crate::effort::Effort;
use crate::tests::keyword_table::validator;
use crate::validation_failure::ValidationFailure;

/// Each schema with a value that is expensive to validate.
fn hostile_cases() -> Vec<(&'static str, Value, Value)> {
    let ints = |n: usize| json!((0..n).collect::<Vec<_>>());
    let keys = |n: usize| Value::Object((0..n).map(|n| (format!("key-{n}"), json!(n))).collect());
    let nested = (0..10).fold(json!({}), |inner, n| json!({"allOf": [inner, {"properties": {format!("p{n}"): {}}}], "unevaluatedProperties": {"type": "integer"}}));
    vec![
        (
            "unique objects",
            json!({"uniqueItems": true}),
            json!((0..100_000).map(|n| json!({"n": n})).collect::<Vec<_>>()),
        ),
        (
            "unique at each level",
            (0..100).fold(
                json!({}),
                |inner, _| json!({"uniqueItems": true, "items": inner}),
            ),
            (0..100).fold(ints(5_000), |inner, _| json!([inner])),
        ),
        (
            "contains",
            json!({"allOf": vec![json!({"contains": {"const": -1}}); 300]}),
            ints(100_000),
        ),
        (
            "enum",
            json!({"items": {"enum": (200_000..210_000).collect::<Vec<_>>()}}),
            ints(100_000),
        ),
        (
            "names against patterns",
            json!({"patternProperties": (0..200).map(|n| (format!("^(x|y|{n})*[a-z]{{1,20}}$"), json!({}))).collect::<Map<_, _>>()}),
            keys(20_000),
        ),
        (
            "deep allOf",
            (0..55).fold(
                json!({"items": {"type": "integer"}}),
                |inner, _| json!({"allOf": [inner]}),
            ),
            ints(100_000),
        ),
        (
            "many allOf",
            json!({"items": {"allOf": vec![json!({"minimum": 0}); 40_000]}}),
            ints(30_000),
        ),
        ("marking", nested, keys(300)),
        (
            "pattern over long text",
            json!({"pattern": "^(.{1,99}x){1,9}$"}),
            json!("a".repeat(3_000_000)),
        ),
        (
            "multipleOf tiny",
            json!({"items": {"multipleOf": 1e-300}}),
            json!(vec![1e300; 50_000]),
        ),
        (
            "many errors",
            json!({"items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}),
            ints(300_000),
        ),
        (
            "doubling with depth",
            json!({"$ref": "#/$defs/t", "$defs": {"t": {"type": "object", "properties": {"a": {"anyOf": [{"$ref": "#/$defs/t"}, {"$ref": "#/$defs/t"}]}}}}}),
            (0..100).fold(json!(1), |inner, _| json!({"a": inner})),
        ),
        (
            "format",
            json!({"items": {"format": "email"}}),
            json!(vec!["a@".to_owned() + &"b.".repeat(1_000); 1_000]),
        ),
    ]
}

/// The cost limit bounds the time of a validation to a few seconds, for every schema and value.
#[test]
fn hostile_schemas_end_in_time() {
    const MAX_DURATION: Duration = Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 6 });
    for (name, schema, value) in hostile_cases() {
        let validator = validator(schema);
        let value = json!({ "v": value });
        let is_refused = validator.cost_model.cost(&value, MAX_COST).is_none();
        assert!(
            validator.try_validate(&value, Effort::Inline).is_none(),
            "{name}"
        );
        let start = Instant::now();
        let outcome = validator.validate(&value);
        assert!(
            start.elapsed() < MAX_DURATION,
            "{name}: {:?}",
            start.elapsed()
        );
        let is_told = matches!(outcome, Err(ValidationFailure::TooCostly));
        assert_eq!(is_told, is_refused, "{name}: {outcome:?}");
    }
}

/// Within a union, each branch has a copy of the value that it refuses, and a text that may contain
/// JSON would be parsed for each: more than 2 GB and many seconds, on the thread that serves the
/// socket.
#[test]
fn the_branches_of_a_union_do_not_multiply_a_large_value() {
    const MAX_DURATION: Duration = Duration::from_secs(10);
    let text = json!(format!("[{}1]", "1,".repeat(30_000)));
    let items = json!(vec![1; 10_000]);
    let (too_large, named) = ("too large to say where", "contains JSON: pass the array");
    for (value, branches, kind, expected) in [
        (&text, 40_000, "array", too_large),
        (&text, 300, "array", named),
        (&text, 300, "object", "not valid under any"),
        (&items, 40_000, "object", too_large),
        (&items, 40, "object", "not valid under any"),
    ] {
        for keyword in ["anyOf", "oneOf"] {
            let mut schemas = vec![json!({"type": "integer"}); branches];
            schemas.push(json!({"type": kind, "minItems": 100_000}));
            let validator = validator(json!({ keyword: schemas }));
            let value = json!({ "v": value });
            let start = Instant::now();
            let failure = validator.validate(&value).unwrap_err().to_string();
            assert!(start.elapsed() < MAX_DURATION, "{:?}", start.elapsed());
            assert!(failure.contains(expected), "{keyword}: {failure}");
        }
    }
}
