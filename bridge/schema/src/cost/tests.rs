use serde_json::{Map, Value, json};

use super::*;
use crate::Validator;
use crate::validation_failure::ValidationFailure;

/// A schema with this number of definitions that have this number of properties each. `target`
/// returns the definition that a property of a definition refers to.
fn definitions(count: usize, properties: usize, target: fn(usize, usize) -> usize) -> Value {
    let definition = |n: usize| {
        let properties: Map<_, _> = (0..properties)
            .map(|m| {
                let reference = format!("#/$defs/d{}", target(n, m) % count);
                (format!("p{m}"), json!({ "$ref": reference }))
            })
            .collect();
        json!({"type": "object", "properties": properties})
    };
    let mut definitions: Map<_, _> = (0..count)
        .map(|n| (format!("d{n}"), definition(n)))
        .collect();
    definitions.insert("leaf".to_owned(), json!({}));
    json!({"type": "object", "properties": {"v": {"$ref": "#/$defs/d0"}}, "$defs": definitions})
}

fn steps_of(schema: &Value, value: &Value) -> Option<u64> {
    let cost = CostModel::new(schema).unwrap().cost(value, MAX_COST);
    cost.map(|cost| cost.validate)
}

#[test]
fn analysing_nested_and_recursive_definitions_takes_linear_time() {
    for (name, schema) in [
        ("nested", definitions(5, 64, |n, _| n + 1)),
        ("nested, long", definitions(48, 64, |n, _| n + 1)),
        ("recursive", definitions(5, 64, |n, m| 7 * n + m)),
        ("recursive, long", definitions(48, 64, |n, m| 7 * n + m)),
        ("self", definitions(1, 5_000, |_, _| 0)),
    ] {
        let model = CostModel::new(&schema).unwrap();
        let (steps, bytes) = (model.analysis_steps(), schema.to_string().len() as u64);
        assert!(steps < bytes / 4, "{name}: {steps} steps for {bytes} bytes");
    }
}

#[test]
fn references_into_the_same_data_are_refused_after_a_limit() {
    let schema = |references: usize| {
        let data = (0..60).fold(
            json!(vec![0; 60_000]),
            |inner, _| json!({"x": 1, "const": inner}),
        );
        let references: Vec<_> = (0..references)
            .map(|n| json!({"$ref": format!("#/$defs/a{}", "/const".repeat(n))}))
            .collect();
        json!({"type": "object", "anyOf": references, "$defs": {"a": data}})
    };
    assert!(CostModel::new(&schema(2)).is_ok());
    let error = CostModel::new(&schema(60)).unwrap_err();
    assert!(error.contains("2000000"), "{error}");
}

#[test]
fn the_cost_of_a_value_is_that_of_the_subschemas_that_apply_to_its_parts() {
    let cases = [
        (json!({"type": "object"}), json!({"a": [1, 2, 3]}), 1),
        (
            json!({"properties": {"a": {"type": "integer"}}}),
            json!({"a": 1, "b": 2}),
            // The root with its two members, and `a`.
            4,
        ),
        (
            json!({"properties": {"a": {"items": {"allOf": [{}, true]}}}}),
            json!({"a": [1, 2]}),
            // The root with its member, `a`, and three for each item.
            9,
        ),
        (
            json!({"additionalProperties": {"const": [1, 2]}, "properties": {"a": {}}}),
            json!({"a": 1, "b": 2}),
            // The root with its two members, `a`, and the three values of `const` for `b`.
            8,
        ),
        (json!({"uniqueItems": true}), json!([[1], "a"]), 1 + 8 * 3),
    ];
    for (schema, value, steps) in cases {
        assert_eq!(steps_of(&schema, &value), Some(steps), "{schema}: {value}");
    }
}

/// A table of 10 MB that an honest app returns: 100,000 rows of 12 columns.
#[test]
fn a_large_table_is_below_the_limit_with_room_to_spare() {
    let columns = |n| {
        let column = match n % 3 {
            0 => json!({"type": "integer", "minimum": 0}),
            1 => json!({"type": "string", "maxLength": 40, "description": "A name"}),
            _ => json!({"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}),
        };
        (format!("column{n}"), column)
    };
    let properties: Map<_, _> = (0..12).map(columns).collect();
    let row = json!({"type": "object", "properties": properties, "required": ["column0"],
        "additionalProperties": false});
    let schema = json!({"type": "object", "properties": {"rows": {"type": "array", "items": row}}});
    let cell = |n| match n % 3 {
        0 => json!(123),
        1 => json!("Some name"),
        _ => json!("2026-11-21"),
    };
    let row: Map<_, _> = (0..12).map(|n| (format!("column{n}"), cell(n))).collect();
    let steps = steps_of(&schema, &json!({ "rows": vec![row; 1_000] })).unwrap();
    assert!(100 * steps < MAX_COST / 2, "{steps} steps for 1,000 rows");
}

#[test]
fn counting_stops_at_the_limit() {
    let schema = json!({"items": {"allOf": vec![json!({}); 10_000]}});
    let model = CostModel::new(&schema).unwrap();
    let value = json!(vec![1; 1_000]);
    assert_eq!(model.cost(&value, 10_000_000), None);
    assert_eq!(
        model.cost(&value, 10_001_001),
        Some(Cost::uniform(10_001_001))
    );
}

/// A schema in which each definition has an `$id`, and two definitions of each level refer to both
/// of the next one.
fn resources(levels: usize) -> Value {
    let mut definitions = Map::new();
    for level in 0..levels {
        for side in ["a", "b"] {
            let reference = |to: &str| json!({"$ref": format!("https://e.com/{to}{}", level + 1)});
            let properties = if level + 1 < levels {
                json!({"a": reference("a"), "b": reference("b")})
            } else {
                json!({})
            };
            let id = format!("https://e.com/{side}{level}");
            definitions.insert(
                format!("{side}{level}"),
                json!({"$id": id, "type": "object", "properties": properties}),
            );
        }
    }
    json!({"type": "object", "properties": {"v": {"$ref": "https://e.com/a0"}}, "$defs": definitions})
}

#[test]
fn resources_that_would_be_compiled_exponentially_often_are_refused() {
    let few = Validator::new(resources(6)).unwrap();
    assert!(few.validate(&json!({"v": {"a": {"b": {}}}})).is_ok());
    assert!(few.validate(&json!({"v": {"a": {"b": 1}}})).is_err());
    let error = Validator::new(resources(40)).unwrap_err();
    assert!(error.contains("remove `$id`"), "{error}");
}

#[test]
fn violations_are_collected_unless_a_union_copies_too_much() {
    let branch = json!({"required": ["a"]});
    let branches = json!([branch, branch]);
    // Each branch copies the object, and the name and the text of its member.
    let text = MAX_COPIED_BYTES / 2 - 2 * VALUE_BYTES - "v".len();
    for (keyword, bytes, copies_little) in [
        ("anyOf", text, true),
        ("anyOf", text + 1, false),
        ("allOf", text + 1, true),
    ] {
        let validator = Validator::new(json!({ keyword: branches })).unwrap();
        let value = json!({"v": "x".repeat(bytes)});
        assert_eq!(validator.cost_model.copies_little(&value), copies_little);
        let failure = validator.validate(&value).unwrap_err();
        let ValidationFailure::InvalidValue { violations, .. } = failure else {
            panic!("{failure:?}");
        };
        assert_eq!(violations.is_empty(), !copies_little, "{keyword} {bytes}");
    }
}
