use serde_json::{Map, json};

use super::*;

const STEPS: u64 = 100_000;

fn validator(schema: Value) -> TextValidator {
    TextValidator::new(&schema).unwrap_or_else(|| panic!("left to the crate: {schema}"))
}

fn verdict(schema: &Value, json: &str) -> TextVerdict {
    validator(schema.clone()).verdict(json, STEPS)
}

#[test]
fn the_usual_schemas_are_decided() {
    let valid = TextVerdict::Valid;
    let invalid = TextVerdict::Invalid;
    let row = json!({"type": "object", "required": ["id"], "additionalProperties": false,
        "properties": {"id": {"type": "integer", "minimum": 1}, "title": {"type": "string"}}});
    for (schema, text, expected) in [
        (row.clone(), r#"{"id":1,"title":"a"}"#, valid),
        (
            row.clone(),
            r#" { "title" : "\u00e9" , "id" : 1.0 } "#,
            valid,
        ),
        (row.clone(), r#"{"id":0}"#, invalid),
        (row.clone(), r#"{"id":1.5}"#, invalid),
        (row.clone(), r#"{"title":"a"}"#, invalid),
        (row.clone(), r#"{"id":1,"other":2}"#, invalid),
        (row.clone(), r#"{"\u0069d":1}"#, valid),
        (json!({"items": row}), r#"[{"id":1},{"id":2}]"#, valid),
        (json!({"enum": ["a", 1, null, true]}), "true", valid),
        (json!({"enum": ["a", 1, null, true]}), "false", invalid),
        (json!({"enum": ["a", 1, null, true]}), "1.0", valid),
        (json!({"enum": ["a", 1, null, true]}), r#""\u0061""#, valid),
        (json!({"format": "date"}), r#""2026-02-30""#, invalid),
        (json!({"pattern": "^a"}), r#""ab""#, valid),
        (json!({"maxLength": 2}), r#""éé""#, valid),
        (json!({"maxLength": 2}), r#""\ud83d\ude00aa""#, invalid),
        (json!({"minLength": 1}), r#""\ud83d\ude00""#, valid),
        (json!({"multipleOf": 3}), "-9", valid),
        (json!({"exclusiveMaximum": 3}), "3", invalid),
        (json!({"maximum": 3}), "1e2", invalid),
        (
            json!({"prefixItems": [{"type": "string"}], "items": false}),
            r#"["a"]"#,
            valid,
        ),
        (
            json!({"prefixItems": [{"type": "string"}], "items": false}),
            r#"["a",1]"#,
            invalid,
        ),
        (
            json!({"uniqueItems": true}),
            r#"[1,"1",null,true,false]"#,
            valid,
        ),
        (
            json!({"propertyNames": {"maxLength": 1}}),
            r#"{"ab":1}"#,
            invalid,
        ),
        (
            json!({"patternProperties": {"^x": {"type": "null"}}}),
            r#"{"x":1}"#,
            invalid,
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            "null",
            valid,
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            "1",
            invalid,
        ),
        (
            json!({"oneOf": [{"minimum": 2}, {"maximum": 4}]}),
            "1",
            valid,
        ),
        (
            json!({"oneOf": [{"minimum": 2}, {"maximum": 4}]}),
            "3",
            invalid,
        ),
    ] {
        assert_eq!(verdict(&schema, text), expected, "{text} for {schema}");
    }
}

#[test]
fn a_schema_that_refers_to_itself_is_decided() {
    let schema = json!({"$ref": "#/$defs/alias", "$defs": {"alias": {"$ref": "#/$defs/tree"},
        "tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/alias"},
            "leaf": {"type": "integer"}}, "additionalProperties": false}}});
    let deep = |leaf: &str| r#"{"left":"#.repeat(100) + leaf + &"}".repeat(100);
    assert_eq!(verdict(&schema, &deep(r#"{"leaf":1}"#)), TextVerdict::Valid);
    assert_eq!(
        verdict(&schema, &deep(r#"{"leaf":""}"#)),
        TextVerdict::Invalid
    );
}

#[test]
fn schemas_for_the_crate_are_not_compiled() {
    for schema in [
        json!({"not": {"type": "string"}}),
        json!({"items": {"contains": {}}}),
        json!({"unevaluatedProperties": false}),
        json!({"$dynamicRef": "#a", "$defs": {"a": {"$dynamicAnchor": "a"}}}),
        json!({"const": {"a": 1}}),
        json!({"enum": [1], "const": 1}),
        json!({"minLength": 1.0}),
        json!({"$ref": "#a", "$defs": {"a": {"$anchor": "a"}}}),
        json!({"$defs": {"a": {"$id": "a"}}}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#"}),
        json!({"enum": []}),
        // Not valid: the crate states why.
        json!({"type": "text"}),
        json!({"$defs": {"unused": {"minimum": "1"}}}),
        json!({"$ref": "#/default", "default": {"minimum": "1"}}),
    ] {
        assert!(TextValidator::new(&schema).is_none(), "{schema}");
    }
    let required: Vec<_> = (0..100).map(|n| n.to_string()).collect();
    assert!(TextValidator::new(&json!({ "required": required })).is_none());
    let nested = (0..300).fold(json!({}), |inner, _| json!({"items": inner, "minItems": 1}));
    assert!(TextValidator::new(&nested).is_none());
}

#[test]
fn keywords_without_a_rule_are_ignored() {
    let schema = json!({"title": "t", "default": {"not": 1}, "examples": [1], "x-order": 1,
        "readOnly": true, "$comment": "c", "deprecated": true, "properties": {}});
    assert_eq!(validator(schema).program.root, program::ANY);
}

#[test]
fn texts_that_the_parser_refuses_are_not_decided() {
    let schema = json!({"properties": {"a": {"type": "number"}, "b": {"type": "string"}}});
    for text in [
        "",
        "{",
        "{}x",
        "\u{feff}{}",
        "{\"a\":01}",
        "{\"a\":+1}",
        "{\"a\":1.}",
        "{\"a\":1e999}",
        "{\"a\":-}",
        "{\"a\":1,}",
        "{\"c\":[1,]}",
        "{\"c\":[}",
        "{\"c\":{]}",
        "{\"c\":1e999}",
        "{\"c\":truE}",
        "{\"c\" 1}",
        "{\"b\":\"\n\"}",
        "{\"b\":\"\\x\"}",
        "{\"b\":\"\\ud800\"}",
        "{\"b\":\"\\ud800\\u0041\"}",
        "{\"b\":\"\\udc00\"}",
        "{\"c\":\"\\u00g0\"}",
        "{\"b\":\"",
        "{b:1}",
        "nul",
    ] {
        assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
        assert_eq!(verdict(&schema, text), TextVerdict::Undecided, "{text}");
    }
    let nested = |depth| "{\"c\":".repeat(depth) + "1" + &"}".repeat(depth);
    assert_eq!(verdict(&schema, &nested(127)), TextVerdict::Valid);
    assert_eq!(verdict(&schema, &nested(128)), TextVerdict::Undecided);
}

#[test]
fn a_name_that_occurs_twice_does_not_change_the_verdict() {
    let number = json!({"properties": {"a": {"type": "number"}}});
    assert_eq!(verdict(&number, r#"{"a":1,"a":2}"#), TextVerdict::Valid);
    // The last one counts, so that the crate decides.
    assert_eq!(verdict(&number, r#"{"a":"","a":2}"#), TextVerdict::Invalid);

    let two = json!({"minProperties": 2});
    assert_eq!(verdict(&two, r#"{"a":1,"b":2}"#), TextVerdict::Valid);
    for text in [r#"{"a":1,"a":2}"#, r#"{"a":1,"\u0061":2}"#] {
        assert_eq!(verdict(&two, text), TextVerdict::Undecided, "{text}");
    }

    // `a` is 1, so that both branches are valid, and then the value is not.
    let one = json!({"oneOf": [{"properties": {"a": {"type": "number"}}}, {"type": "object"}]});
    assert_eq!(verdict(&one, r#"{"a":"","b":{"c":1}}"#), TextVerdict::Valid);
    for text in [r#"{"a":"","a":1}"#, r#"{"b":{"c":1,"c":1},"a":""}"#] {
        assert_eq!(verdict(&one, text), TextVerdict::Undecided, "{text}");
    }
    let many: Map<_, _> = (0..100).map(|n| (n.to_string(), json!(n))).collect();
    let mut many = Value::Object(many);
    many["a"] = "".into();
    assert_eq!(verdict(&one, &many.to_string()), TextVerdict::Undecided);
}

#[test]
fn the_pass_ends_when_it_takes_too_many_steps() {
    let rows = json!({"items": {"properties": {"a": {"type": "integer"}}}});
    let text = json!(vec![json!({"a": 1}); 1_000]).to_string();
    let validator = validator(rows);
    let needed = (1..).find(|steps| validator.verdict(&text, *steps) == TextVerdict::Valid);
    let needed = needed.unwrap();
    assert!((2_000..6_000).contains(&needed), "{needed}");
    assert_eq!(validator.verdict(&text, needed - 1), TextVerdict::TooCostly);
}

#[test]
fn repeated_passes_over_the_same_text_are_counted() {
    let branches: Vec<_> = (0..100)
        .map(|n| json!({"type": "string", "maxLength": n}))
        .collect();
    let text = json!("a".repeat(10_000)).to_string();
    let union = validator(json!({"anyOf": branches}));
    assert_eq!(union.verdict(&text, 10_000), TextVerdict::TooCostly);
    assert_eq!(union.verdict(&text, 200_000), TextVerdict::Invalid);

    // Each level doubles the passes.
    let twice = json!([{"$ref": "#"}, {"$ref": "#"}]);
    let doubling = validator(json!({"properties": {"next": {"anyOf": twice}, "end": false}}));
    let deep = r#"{"next":"#.repeat(60) + r#"{"end":1}"# + &"}".repeat(60);
    assert_eq!(doubling.verdict(&deep, STEPS), TextVerdict::TooCostly);
}

#[test]
fn long_strings_are_read_to_their_end() {
    let schema = json!({"maxLength": 100});
    for length in 0..100 {
        for end in ["", "\\n", "\\\"", "é"] {
            let text = format!("\"{}{end}\"", "a".repeat(length));
            assert_eq!(verdict(&schema, &text), TextVerdict::Valid, "{text}");
            assert_eq!(
                verdict(&schema, &text[..text.len() - 1]),
                TextVerdict::Undecided
            );
        }
        let text = format!("\"{}\u{1f}\"", "a".repeat(length));
        assert_eq!(verdict(&schema, &text), TextVerdict::Undecided);
    }
}

#[test]
fn subschemas_that_are_nested_too_deeply_are_not_decided() {
    let next = (0..3).fold(
        json!({"$ref": "#"}),
        |inner, n| json!({"allOf": [inner], "maxProperties": n + 2}),
    );
    let schema = json!({"properties": {"next": next}});
    let nested = |depth| r#"{"next":"#.repeat(depth) + r#"{"a":1,"b":2}"# + &"}".repeat(depth);
    let validator = validator(schema);
    let verdict = |depth| validator.verdict(&nested(depth), STEPS);
    assert_eq!(verdict(50), TextVerdict::Valid);
    assert_eq!(verdict(100), TextVerdict::Undecided);
}
