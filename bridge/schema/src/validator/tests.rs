use super::*;
use serde_json::{Map, json};

fn validate(schema: Value, value: Value) -> Result<(), String> {
    Validator::new(schema)?
        .validate(&value)
        .map_err(|failure| failure.to_string())
}

#[test]
fn a_schema_without_rules_accepts_any_object() {
    let accepts = |schema| Validator::new(schema).unwrap().accepts_any_object();
    assert!(accepts(json!({})));
    assert!(accepts(
        json!({"type": "object", "properties": {}, "title": "t",
        "additionalProperties": true})
    ));
    assert!(!accepts(
        json!({"type": ["object", "null"], "minProperties": 1})
    ));
    assert!(!accepts(json!({"type": "object", "properties": {"a": {}}})));
    assert!(!accepts(
        json!({"type": "object", "additionalProperties": false})
    ));
}

#[test]
fn the_error_names_path_and_rule() {
    let schema = json!({"type": "object", "properties": {"cards": {"type": "array",
        "items": {"type": "object", "properties": {"id": {"type": "integer"}}}}}});
    let error = validate(schema, json!({"cards": [{"id": 1}, {"id": "x"}]})).unwrap_err();
    assert!(error.contains("/cards/1/id"), "{error}");
    assert!(
        error.contains("/properties/cards/items/properties/id/type"),
        "{error}"
    );
}

#[test]
fn errors_do_not_repeat_the_value() {
    let error = validate(
        json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
        json!({"n": "hunter2"}),
    )
    .unwrap_err();
    assert!(!error.contains("hunter2"), "{error}");
}

#[test]
fn an_error_says_that_a_string_contains_the_value_as_json() {
    let array = json!({"type": "array"});
    for (schema, value, kind) in [
        (array.clone(), json!(" [\"a\"] "), Some("array")),
        (
            json!({"type": ["object", "null"]}),
            json!("{\"a\": 1}"),
            Some("object"),
        ),
        (json!({"type": "integer"}), json!("7"), Some("integer")),
        (json!({"type": "number"}), json!("7"), Some("integer")),
        (json!({"type": "number"}), json!("7.5"), Some("number")),
        (json!({"type": "boolean"}), json!("true"), Some("boolean")),
        (
            json!({"anyOf": [array, {"type": "null"}]}),
            json!("[]"),
            Some("array"),
        ),
        (
            json!({"oneOf": [{"type": "integer"}, {"type": "null"}]}),
            json!("7"),
            Some("integer"),
        ),
        // These contain something else, or no JSON.
        (array.clone(), json!("{}"), None),
        (array.clone(), json!("[a]"), None),
        (json!({"type": "integer"}), json!("7.5"), None),
        (json!({"type": "null"}), json!("null"), None),
        (array.clone(), json!(7), None),
        (json!({"enum": [7]}), json!("7"), None),
        (array, json!(format!("[{}]", "1,".repeat(100_000))), None),
    ] {
        let schema = json!({"type": "object", "properties": {"a": schema}});
        let error = validate(schema.clone(), json!({"a": value})).unwrap_err();
        match kind {
            Some(kind) => assert!(
                error.contains(&format!("contains JSON: pass the {kind} itself"))
                    && error.contains("at /a:"),
                "{schema}: {error}"
            ),
            None => assert!(!error.contains("contains JSON"), "{schema}: {error}"),
        }
    }
}

#[test]
fn recursion_is_allowed_and_exponential_references_are_not() {
    let list = json!({"$ref": "#/$defs/list", "$defs": {"list": {"type": "object",
        "properties": {"next": {"$ref": "#/$defs/list"}}}}});
    assert_eq!(validate(list, json!({"next": {"next": {}}})), Ok(()));
    let mut definitions = serde_json::Map::new();
    for n in 0..28 {
        let next = format!("#/$defs/d{}", n + 1);
        definitions.insert(
            format!("d{n}"),
            json!({"allOf": [{"$ref": next}, {"$ref": next}]}),
        );
    }
    definitions.insert("d28".to_owned(), json!({"type": "object"}));
    let error = Validator::new(json!({"$ref": "#/$defs/d0", "$defs": definitions})).unwrap_err();
    assert!(error.contains("50000"), "{error}");
}

#[test]
fn a_remote_reference_is_an_error_and_no_request() {
    let error = validate(
        json!({"type": "object", "$ref": "https://example.com/schema.json"}),
        json!({}),
    )
    .unwrap_err();
    assert!(error.contains("is not found in it"), "{error}");
}

#[test]
fn backtracking_patterns_run_linearly_or_are_ignored() {
    let schema =
        json!({"type": "object", "properties": {"s": {"type": "string", "pattern": "^(a+)+$"}}});
    let long = "a".repeat(50_000) + "b";
    assert!(validate(schema, json!({"s": long})).is_err());
    let schema =
        json!({"type": "object", "properties": {"s": {"type": "string", "pattern": "(?=a)b"}}});
    assert_eq!(validate(schema.clone(), json!({"s": "b"})), Ok(()));
    let error = validate(schema, json!({"s": 1})).unwrap_err();
    assert!(error.contains("/properties/s/type"), "{error}");
}

/// A schema in which each definition refers twice to the next one. `names` returns the n-th
/// definition with its identifier, and the reference to it.
fn doubling_schema(names: fn(usize) -> (Value, String)) -> Value {
    let definitions = (0..28).map(|n| {
        let (mut definition, next) = (names(n).0, names(n + 1).1);
        definition["allOf"] = json!([{"$ref": next}, {"$ref": next}]);
        (format!("d{n}"), definition)
    });
    let mut definitions: serde_json::Map<_, _> = definitions.collect();
    definitions.insert("d28".to_owned(), names(28).0);
    json!({"$id": "https://example.com/s", "$ref": names(0).1, "$defs": definitions})
}

#[test]
fn exponential_references_are_refused_in_every_spelling() {
    let by_anchor = doubling_schema(|n| (json!({"$anchor": format!("a{n}")}), format!("#a{n}")));
    let by_id = doubling_schema(|n| (json!({"$id": format!("i{n}")}), format!("i{n}")));
    let escaped = doubling_schema(|n| (json!({}), format!("#/%24defs/d{n}")));
    let absolute = doubling_schema(|n| (json!({}), format!("https://example.com/s#/$defs/d{n}")));
    for schema in [by_anchor, by_id, escaped, absolute] {
        let error = Validator::new(schema.clone()).unwrap_err();
        assert!(error.contains("50000"), "{error}: {schema}");
    }
    let relative = doubling_schema(|n| {
        let id = format!("https://example.com/i{n}");
        (json!({"$id": id}), format!("i{n}"))
    });
    assert!(Validator::new(relative).unwrap_err().contains("not found"));
}

#[test]
fn json_pointers_resolve_from_the_nearest_id() {
    let inner = json!({"$id": "inner", "$ref": "#/$defs/x", "$defs": {"x": {"type": "string"}}});
    let schema = json!({"type": "object", "properties": {"a": inner},
        "$defs": {"x": {"type": "integer"}}});
    assert_eq!(validate(schema.clone(), json!({"a": "text"})), Ok(()));
    assert!(validate(schema, json!({"a": 1})).is_err());
}

#[test]
fn recursion_that_doubles_with_value_depth_is_refused() {
    let twice = json!([{"$ref": "#"}, {"$ref": "#"}]);
    let schema = json!({"type": "object", "properties": {"next": {"anyOf": twice}}});
    let nested = |depth| (0..depth).fold(json!({"next": 1}), |value, _| json!({"next": value}));
    let error = validate(schema.clone(), nested(60)).unwrap_err();
    assert!(error.contains("nested too deeply"), "{error}");
    let error = validate(schema, nested(3)).unwrap_err();
    assert!(error.contains("at /next:"), "{error}");

    let tree = json!({"type": "object", "properties": {"left": {"$ref": "#"},
        "right": {"$ref": "#"}, "leaf": {"type": "integer"}}});
    let deep = (0..120).fold(json!({"leaf": 1}), |value, _| json!({"left": value}));
    assert_eq!(validate(tree, deep), Ok(()));
}

#[test]
fn a_schema_that_refers_to_itself_in_place_is_refused() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"not": {"$ref": "#/$defs/b"}},
            "b": {"allOf": [{"$ref": "#/$defs/a"}]}}}),
    ] {
        let error = Validator::new(schema).unwrap_err();
        assert!(error.contains("refers to itself"), "{error}");
    }
}

#[test]
fn a_long_chain_of_references_does_not_exhaust_the_stack() {
    let chain = |length: usize, order: fn(usize, usize) -> usize| {
        let links = (0..length).map(|n| {
            let n = order(length, n);
            let next = format!("#/$defs/d{}", n + 1);
            (format!("d{n}"), json!({"$ref": next}))
        });
        let mut definitions: serde_json::Map<_, _> = links.collect();
        definitions.insert(format!("d{length}"), json!({"type": "object"}));
        json!({"type": "object", "$ref": "#/$defs/d0", "$defs": definitions})
    };
    for order in [|_, n| n, |length: usize, n: usize| length - 1 - n] {
        let error = Validator::new(chain(20_000, order)).unwrap_err();
        assert!(error.contains("1000 inside each other"), "{error}");
        assert_eq!(validate(chain(500, order), json!({})), Ok(()));
    }
}

#[test]
fn recursion_over_a_deep_value_does_not_exhaust_the_stack() {
    let list = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
    let schema = (0..60).fold(list, |schema, _| json!({"allOf": [schema]}));
    let deep = (0..120).fold(json!({}), |value, _| json!({"next": value}));
    let error = validate(schema, deep).unwrap_err();
    assert!(error.contains("nested too deeply"), "{error}");
}

#[test]
fn a_text_with_too_many_values_is_refused_without_being_parsed() {
    let validator = Validator::new(json!({"type": "object"})).unwrap();
    // It is not valid, which only parsing would find.
    let long = format!("{{\"v\":[{}", "1,".repeat(MAX_VALUES));
    let validate = |json: &str| validator.try_validate_text(json, Effort::Full).unwrap();
    let failure = validate(&long).unwrap_err();
    assert!(matches!(failure, ValidationFailure::TooManyValues));
    assert!(failure.to_string().contains("make it smaller"), "{failure}");
    let shorter = format!("{{\"v\":[{}1]}}", "1,".repeat(1_000));
    assert!(validate(&shorter).is_ok());
    let failure = validate("{\"v\":1e999}").unwrap_err();
    assert!(matches!(failure, ValidationFailure::Unreadable(_)));
}

#[test]
fn an_effort_limits_the_text_the_steps_and_the_schema() {
    let schema = json!({"type": "object", "properties": {"v": {"items": {"minimum": 0}}}});
    let validator = Validator::new(schema).unwrap();
    let numbers = |count: usize| format!("{{\"v\":{:?}}}", vec![1; count]);
    // The efforts with which a text of this validator is validated.
    let efforts = |validator: &Validator, json: &str| {
        let mut efforts = vec![Effort::Inline, Effort::Short, Effort::Full];
        efforts.retain(|effort| validator.try_validate_text(json, *effort).is_some());
        efforts
    };
    let all = [Effort::Inline, Effort::Short, Effort::Full];
    assert_eq!(efforts(&validator, &numbers(1_000)), all);
    assert_eq!(efforts(&validator, &numbers(100_000)), all[1..]);
    assert_eq!(efforts(&validator, &numbers(1_000_000)), all[2..]);
    let outcome = validator.try_validate_text("{\"v\":[-1]}", Effort::Inline);
    assert!(matches!(
        outcome,
        Some(Err(ValidationFailure::InvalidValue { .. }))
    ));

    let repeated = |subschemas: usize| {
        let subschemas = vec![json!({"minProperties": 0}); subschemas];
        Validator::new(json!({"type": "object", "allOf": subschemas})).unwrap()
    };
    assert_eq!(efforts(&repeated(100), "{}"), all);
    assert_eq!(efforts(&repeated(2_000), "{}"), all[1..]);
    assert_eq!(efforts(&repeated(20_000), "{}"), all[2..]);
    // A schema that is compiled needs no effort for that.
    let compiled = repeated(2_000);
    assert!(compiled.validate(&json!({})).is_ok());
    assert_eq!(efforts(&compiled, "{}"), all);
    let members: Map<_, _> = (0..60).map(|n| (format!("m{n}"), json!(n))).collect();
    let expensive = json!({"additionalProperties": {"allOf": vec![json!({}); 20_000]}});
    let expensive = Validator::new(expensive).unwrap();
    let _ = expensive.validate(&json!({}));
    assert_eq!(efforts(&expensive, &json!(members).to_string()), all[2..]);
}

#[test]
fn a_valid_text_may_have_more_values_than_are_parsed() {
    let schema = json!({"type": "object", "properties": {"v": {"items": {"minimum": 0}}}});
    let validator = Validator::new(schema).unwrap();
    let text = |last: i64| format!("{{\"v\":[{}{last}]}}", "1,".repeat(MAX_VALUES));
    let validate = |json: &str| validator.try_validate_text(json, Effort::Full).unwrap();
    assert!(validate(&text(1)).is_ok());
    // To state what is wrong, the text would have to be parsed.
    let failure = validate(&text(-1)).unwrap_err();
    assert!(matches!(failure, ValidationFailure::TooManyValues));
}

#[test]
fn texts_are_parsed_for_a_schema_with_large_patterns() {
    let with_pattern = |length: usize| {
        let pattern = format!("^[a-z]{{{length}}}$");
        let schema = json!({"type": "object", "properties": {"v": {"pattern": pattern}}});
        Validator::new(schema).unwrap()
    };
    let text = json!({"v": "a".repeat(6_000)}).to_string();
    for (length, is_found) in [(100, true), (6_000, false)] {
        let validator = with_pattern(length);
        assert_eq!(
            validator.pattern_states > MAX_TEXT_PATTERN_STATES,
            !is_found
        );
        let found = validator.text_verdict(&text, Effort::Full);
        assert_eq!(found, is_found.then_some(TextVerdict::Invalid));
        let outcome = validator.try_validate_text(&text, Effort::Full).unwrap();
        assert_eq!(outcome.is_ok(), !is_found);
    }
}

#[test]
fn an_effort_limits_the_length_of_a_text_that_is_parsed() {
    let schema = json!({"type": "object", "properties": {"v": {"not": {"type": "null"}}}});
    let validator = Validator::new(schema).unwrap();
    let text = |bytes: usize| json!({"v": "a".repeat(bytes)}).to_string();
    let is_validated = |bytes: usize, effort: Effort| {
        let outcome = validator.try_validate_text(&text(bytes), effort);
        outcome.is_some_and(|outcome| outcome.is_ok())
    };
    for (effort, limit) in [(Effort::Inline, 64 * 1024), (Effort::Short, 1024 * 1024)] {
        assert!(is_validated(limit - 100, effort));
        assert!(!is_validated(limit, effort));
    }
    assert!(is_validated(2 * 1024 * 1024, Effort::Full));
}

#[test]
fn a_text_that_needs_many_passes_is_parsed() {
    let twice = json!([{"$ref": "#"}, {"$ref": "#"}]);
    let schema = json!({"type": "object", "properties": {"next": {"anyOf": twice}}});
    let validator = Validator::new(schema).unwrap();
    let nested = |depth| (0..depth).fold(json!({"next": 1}), |value, _| json!({"next": value}));
    for (depth, found) in [(3, TextVerdict::Invalid), (20, TextVerdict::TooCostly)] {
        let value = nested(depth);
        let text = value.to_string();
        assert_eq!(validator.text_verdict(&text, Effort::Full), Some(found));
        let outcome = validator.try_validate_text(&text, Effort::Full).unwrap();
        assert!(matches!(
            outcome,
            Err(ValidationFailure::InvalidValue { .. })
        ));
    }
}
