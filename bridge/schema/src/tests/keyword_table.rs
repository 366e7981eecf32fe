//! The values that each feature of JSON Schema accepts and rejects, with the path and the keyword
//! of each violation.

use crate::dialect;
use serde_json::{Map, Value, json};

use crate::validation_failure::ValidationFailure;
use crate::validator::{MAX_VIOLATIONS, Validator};

/// A test case: the name of the feature, the schema of the argument `v` (whose `$defs` are moved to
/// the root), valid values, and invalid values with the path below `v` and the keyword that reports
/// them.
type SchemaCase = (
    &'static str,
    Value,
    Vec<Value>,
    Vec<(Value, &'static str, &'static str)>,
);

/// Creates a validator for arguments whose member `v` has this schema.
pub(crate) fn validator(mut schema: Value) -> Validator {
    let mut root = json!({"type": "object"});
    for keyword in ["$defs", "definitions", "$schema"] {
        if let Some(value) = schema.as_object_mut().and_then(|s| s.shift_remove(keyword)) {
            root[keyword] = value;
        }
    }
    root["properties"] = json!({ "v": schema });
    Validator::new(dialect::to_2020_12(Some(&root)).unwrap()).unwrap()
}

fn check_cases(rows: Vec<SchemaCase>) {
    for (feature, schema, valid, invalid) in rows {
        let validator = validator(schema);
        assert!(!valid.is_empty() && !invalid.is_empty(), "{feature}");
        for value in valid {
            let checked = validator.validate(&json!({ "v": value }));
            assert!(checked.is_ok(), "{feature}: {value}: {checked:?}");
        }
        for (value, path, keyword) in invalid {
            let Err(ValidationFailure::InvalidValue { violations, .. }) =
                validator.validate(&json!({ "v": value }))
            else {
                panic!("{feature}: {value} is accepted")
            };
            let path = format!("/v{path}");
            assert!(
                violations.iter().any(|violation| violation.path == path
                    && violation.rule.ends_with(&format!("/{keyword}"))),
                "{feature}: {value}: no {keyword} at {path} in {violations:?}"
            );
        }
    }
}

#[test]
fn types_and_numbers() {
    check_cases(vec![
        (
            "type",
            json!({"type": "integer"}),
            vec![json!(1), json!(1.0)],
            vec![(json!(1.5), "", "type"), (json!("1"), "", "type")],
        ),
        (
            "several types",
            json!({"type": ["string", "null"]}),
            vec![json!("a"), json!(null)],
            vec![(json!(1), "", "type")],
        ),
        (
            "const",
            json!({"const": {"a": [1]}}),
            vec![json!({"a": [1.0]})],
            vec![(json!({"a": [2]}), "", "const")],
        ),
        (
            "enum",
            json!({"enum": ["a", 1, null]}),
            vec![json!("a"), json!(1), json!(null)],
            vec![(json!("b"), "", "enum")],
        ),
        (
            "huge enum of texts",
            json!({"enum": (0..10_000).map(|n| format!("value {n}")).collect::<Vec<_>>()}),
            vec![json!("value 9999")],
            vec![(json!("value 10000"), "", "enum")],
        ),
        (
            "huge enum of numbers",
            json!({"enum": (0..10_000).collect::<Vec<_>>()}),
            vec![json!(9_999)],
            vec![(json!(10_000), "", "enum")],
        ),
        (
            "minimum and maximum",
            json!({"minimum": -1, "maximum": 2.5}),
            vec![json!(-1), json!(2.5)],
            vec![(json!(-1.1), "", "minimum"), (json!(3), "", "maximum")],
        ),
        (
            "exclusive bounds",
            json!({"exclusiveMinimum": 0, "exclusiveMaximum": 1}),
            vec![json!(0.5)],
            vec![
                (json!(0), "", "exclusiveMinimum"),
                (json!(1), "", "exclusiveMaximum"),
            ],
        ),
        (
            "multipleOf",
            json!({"multipleOf": 0.01}),
            vec![json!(19.99), json!(3)],
            vec![(json!(0.001), "", "multipleOf")],
        ),
        (
            "large integers",
            json!({"type": "integer", "maximum": u64::MAX}),
            vec![json!(u64::MAX)],
            vec![(json!(1e300), "", "maximum")],
        ),
        (
            "boolean schema",
            json!({"properties": {"never": false, "always": true}}),
            vec![json!({"always": 1})],
            vec![(json!({"never": 1}), "/never", "never")],
        ),
    ]);
}

#[test]
fn strings() {
    check_cases(vec![
        (
            "length in characters",
            json!({"minLength": 2, "maxLength": 3}),
            vec![json!("äöü")],
            vec![
                (json!("a"), "", "minLength"),
                (json!("abcd"), "", "maxLength"),
            ],
        ),
        (
            "pattern",
            json!({"pattern": "^[A-Z]{2}\\d+$"}),
            vec![json!("AB1")],
            vec![(json!("ab1"), "", "pattern")],
        ),
        (
            "pattern that would explode",
            json!({"pattern": "^(a+)+$"}),
            vec![json!("a".repeat(50_000))],
            vec![(json!("a".repeat(50_000) + "b"), "", "pattern")],
        ),
        (
            "alternatives that would explode",
            json!({"pattern": "^(a|aa|a*)*$"}),
            vec![json!("aaa")],
            vec![(json!("a".repeat(40_000) + "!"), "", "pattern")],
        ),
        (
            "large repetition",
            json!({"pattern": "^(\\w{1,10} ){1,100}$"}),
            vec![json!("word ".repeat(100))],
            vec![(json!("word ".repeat(101)), "", "pattern")],
        ),
        (
            "ECMA classes",
            json!({"pattern": "^\\d\\w\\s\\cM?$"}),
            vec![json!("1a ")],
            vec![(json!("٣a "), "", "pattern")],
        ),
        (
            "look-around is left to the page",
            json!({"type": "string", "pattern": "^(?!x)"}),
            vec![json!("x")],
            vec![(json!(1), "", "type")],
        ),
        (
            "date-time",
            json!({"format": "date-time"}),
            vec![json!("2026-11-21T08:00:00Z")],
            vec![(json!("2026-11-21 08:00"), "", "format")],
        ),
        (
            "date",
            json!({"format": "date"}),
            vec![json!("2024-02-29")],
            vec![
                (json!("2023-02-29"), "", "format"),
                (json!("tomorrow"), "", "format"),
            ],
        ),
        (
            "time",
            json!({"format": "time"}),
            vec![json!("08:00:00Z")],
            vec![(json!("25:00:00Z"), "", "format")],
        ),
        (
            "duration",
            json!({"format": "duration"}),
            vec![json!("P1DT2H")],
            vec![(json!("1 day"), "", "format")],
        ),
        (
            "email",
            json!({"format": "email"}),
            vec![json!("a@example.com")],
            vec![(json!("a at example.com"), "", "format")],
        ),
        (
            "uri",
            json!({"format": "uri"}),
            vec![json!("https://example.com/a?b#c")],
            vec![(json!("/a"), "", "format")],
        ),
        (
            "uri-reference",
            json!({"format": "uri-reference"}),
            vec![json!("/a")],
            vec![(json!("\\a"), "", "format")],
        ),
        (
            "uuid",
            json!({"format": "uuid"}),
            vec![json!("c2a1b3d4-0000-4000-8000-1234567890ab")],
            vec![(json!("c2a1b3d4"), "", "format")],
        ),
        (
            "ipv4 and ipv6",
            json!({"anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]}),
            vec![json!("127.0.0.1"), json!("::1")],
            vec![(json!("256.0.0.1"), "", "anyOf")],
        ),
        (
            "hostname",
            json!({"format": "hostname"}),
            vec![json!("example.com")],
            vec![(json!("-a-.com"), "", "format")],
        ),
        (
            "unknown format",
            json!({"type": "string", "format": "color"}),
            vec![json!("anything")],
            vec![(json!(1), "", "type")],
        ),
    ]);
}

#[test]
fn objects() {
    check_cases(vec![
        (
            "required",
            json!({"required": ["a"]}),
            vec![json!({"a": 1}), json!("no object")],
            vec![(json!({}), "", "required")],
        ),
        (
            "additionalProperties",
            json!({"properties": {"a": {}}, "additionalProperties": false}),
            vec![json!({"a": 1})],
            vec![(json!({"b": 1}), "", "additionalProperties")],
        ),
        (
            "additionalProperties as a schema",
            json!({"additionalProperties": {"type": "integer"}}),
            vec![json!({"a": 1})],
            vec![(json!({"b": "x"}), "/b", "additionalProperties/type")],
        ),
        (
            "patternProperties",
            json!({"patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": false}),
            vec![json!({"x-a": "b"})],
            vec![
                (json!({"x-a": 1}), "/x-a", "type"),
                (json!({"a": 1}), "", "additionalProperties"),
            ],
        ),
        (
            "propertyNames",
            json!({"propertyNames": {"maxLength": 3}}),
            vec![json!({"abc": 1})],
            vec![(json!({"abcd": 1}), "", "propertyNames/maxLength")],
        ),
        (
            "minProperties",
            json!({"minProperties": 1, "maxProperties": 1}),
            vec![json!({"a": 1})],
            vec![
                (json!({}), "", "minProperties"),
                (json!({"a": 1, "b": 2}), "", "maxProperties"),
            ],
        ),
        (
            "dependentRequired",
            json!({"dependentRequired": {"a": ["b"]}}),
            vec![json!({"a": 1, "b": 2}), json!({})],
            vec![(json!({"a": 1}), "", "dependentRequired")],
        ),
        (
            "dependentSchemas",
            json!({"dependentSchemas": {"a": {"required": ["b"]}}}),
            vec![json!({"b": 2})],
            vec![(json!({"a": 1}), "", "dependentSchemas/a/required")],
        ),
        (
            "unevaluatedProperties",
            json!({"allOf": [{"properties": {"a": {}}}], "if": {"required": ["a"]}, "then": {"properties": {"b": {}}}, "unevaluatedProperties": false}),
            vec![json!({"a": 1, "b": 2})],
            vec![(json!({"b": 2}), "", "unevaluatedProperties")],
        ),
        (
            "names with slashes",
            json!({"properties": {"a/b~c": {"type": "integer"}}}),
            vec![json!({"a/b~c": 1})],
            vec![(json!({"a/b~c": "x"}), "/a~1b~0c", "properties/a~1b~0c/type")],
        ),
    ]);
}

#[test]
fn arrays() {
    check_cases(vec![
        (
            "items",
            json!({"items": {"type": "integer"}}),
            vec![json!([1, 2])],
            vec![(json!([1, "x"]), "/1", "items/type")],
        ),
        (
            "prefixItems",
            json!({"prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false}),
            vec![json!(["a", 1]), json!([])],
            vec![
                (json!([1]), "/0", "prefixItems/0/type"),
                (json!(["a", 1, 2]), "/2", "items"),
            ],
        ),
        (
            "minItems and maxItems",
            json!({"minItems": 1, "maxItems": 2}),
            vec![json!([1])],
            vec![
                (json!([]), "", "minItems"),
                (json!([1, 2, 3]), "", "maxItems"),
            ],
        ),
        (
            "contains",
            json!({"contains": {"const": 1}}),
            vec![json!([0, 1])],
            vec![(json!([0]), "", "contains")],
        ),
        (
            "minContains and maxContains",
            json!({"contains": {"const": 1}, "minContains": 2, "maxContains": 3}),
            vec![json!([1, 1])],
            vec![
                (json!([1]), "", "minContains"),
                (json!([1, 1, 1, 1]), "", "maxContains"),
            ],
        ),
        (
            "uniqueItems",
            json!({"uniqueItems": true}),
            vec![json!([1, "1", [1], {"a": 1}])],
            vec![(
                json!([{"a": 1, "b": 2}, {"b": 2, "a": 1.0}]),
                "",
                "uniqueItems",
            )],
        ),
        (
            "uniqueItems of many",
            json!({"uniqueItems": true}),
            vec![json!((0..100_000).collect::<Vec<_>>())],
            vec![(json!(vec![7; 100_000]), "", "uniqueItems")],
        ),
        (
            "unevaluatedItems",
            json!({"anyOf": [{"prefixItems": [{"const": 1}]}, true], "unevaluatedItems": {"type": "string"}}),
            vec![json!([1, "a"]), json!(["a"])],
            vec![(json!([1, 2]), "", "unevaluatedItems")],
        ),
    ]);
}

#[test]
fn references_and_combinations() {
    let shape = json!({"oneOf": [
        {"properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}, "required": ["kind", "r"]},
        {"properties": {"kind": {"const": "box"}, "w": {"type": "number"}}, "required": ["kind", "w"]}]});
    check_cases(vec![
        (
            "$ref",
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}}),
            vec![json!(1)],
            vec![(json!("x"), "", "type")],
        ),
        (
            "$ref with neighbours",
            json!({"$ref": "#/$defs/a", "minimum": 3, "$defs": {"a": {"type": "integer"}}}),
            vec![json!(3)],
            vec![(json!(2), "", "minimum")],
        ),
        (
            "$anchor",
            json!({"$ref": "#here", "$defs": {"a": {"$anchor": "here", "type": "integer"}}}),
            vec![json!(1)],
            vec![(json!("x"), "", "type")],
        ),
        (
            "$id",
            json!({"$ref": "inner", "$defs": {"a": {"$id": "inner", "type": "integer"}}}),
            vec![json!(1)],
            vec![(json!("x"), "", "type")],
        ),
        (
            "$dynamicRef",
            json!({"$ref": "#/$defs/tree", "$defs": {"tree": {"$dynamicAnchor": "node", "type": "object",
            "properties": {"children": {"items": {"$dynamicRef": "#node"}}, "n": {"type": "integer"}}}}}),
            vec![json!({"children": [{"n": 1}]})],
            vec![(json!({"children": [{"n": "x"}]}), "/children/0/n", "type")],
        ),
        (
            "recursion",
            json!({"$ref": "#/$defs/list", "$defs": {"list": {"properties": {"next": {"$ref": "#/$defs/list"}}, "additionalProperties": false}}}),
            vec![json!({"next": {"next": {}}})],
            vec![(
                json!({"next": {"nxt": {}}}),
                "/next",
                "additionalProperties",
            )],
        ),
        (
            "recursion through a union",
            json!({"$ref": "#/$defs/e", "$defs": {"e": {"anyOf": [{"type": "integer"},
            {"type": "object", "properties": {"and": {"items": {"$ref": "#/$defs/e"}}}, "required": ["and"], "additionalProperties": false},
            {"type": "object", "properties": {"or": {"items": {"$ref": "#/$defs/e"}}}, "required": ["or"], "additionalProperties": false}]}}}),
            vec![(0..20).fold(
                json!(1),
                |inner, n| json!({if n % 2 == 0 { "and" } else { "or" }: [inner, 2]}),
            )],
            vec![(json!({"and": [{"xor": []}]}), "", "anyOf")],
        ),
        (
            "allOf",
            json!({"allOf": [{"minimum": 1}, {"maximum": 2}]}),
            vec![json!(1)],
            vec![(json!(3), "", "allOf/1/maximum")],
        ),
        (
            "anyOf",
            json!({"anyOf": [{"type": "string"}, {"minimum": 5}]}),
            vec![json!("a"), json!(5)],
            vec![(json!(1), "", "anyOf")],
        ),
        (
            "oneOf",
            json!({"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]}),
            vec![json!(2), json!(3)],
            vec![(json!(6), "", "oneOf"), (json!(1), "", "oneOf")],
        ),
        (
            "oneOf by kind",
            shape,
            vec![json!({"kind": "box", "w": 1})],
            vec![(json!({"kind": "box", "r": 1}), "", "oneOf")],
        ),
        (
            "not",
            json!({"not": {"type": "string"}}),
            vec![json!(1)],
            vec![(json!("x"), "", "not")],
        ),
        (
            "if, then, else",
            json!({"if": {"minimum": 10}, "then": {"multipleOf": 10}, "else": {"multipleOf": 2}}),
            vec![json!(20), json!(4)],
            vec![
                (json!(15), "", "then/multipleOf"),
                (json!(3), "", "else/multipleOf"),
            ],
        ),
    ]);
}

#[test]
fn older_drafts_keep_their_meaning() {
    let draft_07 = "http://json-schema.org/draft-07/schema#";
    let draft_04 = "http://json-schema.org/draft-04/schema#";
    check_cases(vec![
        (
            "tuples",
            json!({"items": [{"type": "string"}], "additionalItems": false}),
            vec![json!(["a"])],
            vec![
                (json!([1]), "/0", "prefixItems/0/type"),
                (json!(["a", 1]), "/1", "items"),
            ],
        ),
        (
            "dependencies",
            json!({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}),
            vec![json!({"a": 1, "b": 1})],
            vec![
                (json!({"a": 1}), "", "dependentRequired"),
                (json!({"c": 1}), "", "dependentSchemas/c/required"),
            ],
        ),
        (
            "definitions",
            json!({"$schema": draft_07, "$ref": "#/definitions/a", "definitions": {"a": {"type": "integer"}}}),
            vec![json!(1)],
            vec![(json!("x"), "", "type")],
        ),
        (
            "neighbours of $ref",
            json!({"$schema": draft_07, "$ref": "#/definitions/a", "minimum": 3, "definitions": {"a": {"type": "integer"}}}),
            vec![json!(1)],
            vec![(json!("x"), "", "type")],
        ),
        (
            "exclusive bounds of draft-04",
            json!({"$schema": draft_04, "minimum": 0, "exclusiveMinimum": true}),
            vec![json!(1)],
            vec![(json!(0), "", "exclusiveMinimum")],
        ),
        (
            "nullable",
            json!({"type": "string", "nullable": true}),
            vec![json!(null), json!("a")],
            vec![(json!(1), "", "type")],
        ),
        (
            "recursion of 2019-09",
            json!({"type": "object", "properties": {"next": {"$recursiveRef": "#"}}}),
            vec![json!({"next": {"v": {}}})],
            vec![(json!({"next": {"v": 1}}), "/next/v", "type")],
        ),
    ]);
}

#[test]
fn errors_list_several_violations_in_bounded_text() {
    let names: Map<_, _> = (0..20)
        .map(|n| {
            (
                format!("{n}{}", "x".repeat(500)),
                json!({"type": "integer"}),
            )
        })
        .collect();
    let value: Map<_, _> = names
        .keys()
        .map(|name| (name.clone(), json!("secret")))
        .collect();
    let failure = validator(json!({ "properties": names }))
        .validate(&json!({ "v": value }))
        .unwrap_err();
    let ValidationFailure::InvalidValue {
        violations,
        has_more,
    } = &failure
    else {
        panic!("{failure}")
    };
    assert_eq!((violations.len(), *has_more), (MAX_VIOLATIONS, true));
    let text = failure.to_string();
    assert!(
        text.ends_with("; and more") && !text.contains("secret"),
        "{text}"
    );
    assert!(text.len() < 4_500, "{} bytes", text.len());

    let two = json!({"properties": {"a": {"type": "integer"}}, "required": ["b"]});
    let text = validator(two)
        .validate(&json!({"v": {"a": "x"}}))
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("at /v/a:") && text.contains("/properties/v/required"),
        "{text}"
    );
}
