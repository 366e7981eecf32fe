use serde_json::{Map, json};

use super::*;

fn format(schema: Value, api: Api) -> Option<AnswerFormat> {
    let tool = ModelTool {
        name: "answer".to_owned(),
        description: None,
        input_schema: schema,
    };
    let format = AnswerFormat::new(&tool, api)?;
    assert_eq!(format.tool, "answer");
    Some(format)
}

fn schema(schema: Value, api: Api) -> Option<Value> {
    format(schema, api).map(|format| format.schema)
}

/// Returns the schema of an object with the required property `a`.
fn with_a(property: Value) -> Value {
    json!({ "type": "object", "properties": { "a": property }, "required": ["a"] })
}

/// Returns what a property has become, if there is a format.
fn property(property: &Value, api: Api) -> Option<Value> {
    let sent = schema(with_a(property.clone()), api)?;
    assert_eq!(sent["required"], json!(["a"]));
    Some(sent["properties"]["a"].clone())
}

#[test]
fn messages_gets_closed_objects_and_words_for_what_it_refuses() {
    let sent = schema(
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "title": { "type": "string", "minLength": 1, "maxLength": 80, "description": "Short" },
                "count": { "type": "integer", "minimum": 1, "default": 3 },
                "when": { "type": "string", "format": "date" },
                "color": { "type": "string", "format": "color" },
                "tags": { "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": 5 },
                "inner": { "type": "object", "properties": { "b": { "type": ["string", "null"] } },
                    "additionalProperties": true, "required": ["b"] },
            },
            "required": ["title"],
        }),
        Api::Messages,
    );
    let expected = json!({
        "type": "object",
        "properties": {
            "title": { "type": "string", "description": "Short\n\n{minLength: 1, maxLength: 80}" },
            "count": { "type": "integer", "description": "{minimum: 1, default: 3}" },
            "when": { "type": "string", "format": "date" },
            "color": { "type": "string", "description": "{format: \"color\"}" },
            "tags": { "type": "array", "items": { "type": "string" }, "minItems": 1,
                "description": "{maxItems: 5}" },
            "inner": { "type": "object", "properties": { "b": { "type": ["string", "null"] } },
                "additionalProperties": false, "required": ["b"] },
        },
        "required": ["title"],
        "additionalProperties": false,
    });
    assert_eq!(sent, Some(expected));
}

#[test]
fn properties_are_converted_for_messages_and_gemini() {
    let object = |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } }, "required": [name] });
    let closed = |name: &str| {
        let mut object = object(name);
        object["additionalProperties"] = false.into();
        object
    };
    let string = json!({ "type": "string" });
    // The schema of a property, and what Messages and Gemini get.
    let cases = [
        (string.clone(), Some(string.clone()), Some(string.clone())),
        (
            json!({ "const": "a" }),
            Some(json!({ "const": "a" })),
            Some(json!({ "enum": ["a"] })),
        ),
        (
            json!({ "type": "string", "enum": ["a", "b"] }),
            Some(json!({ "enum": ["a", "b"] })),
            Some(json!({ "type": "string", "enum": ["a", "b"] })),
        ),
        (
            json!({ "enum": ["a", null] }),
            Some(json!({ "enum": ["a", null] })),
            Some(json!({ "anyOf": [{ "enum": ["a"] }, { "type": "null" }] })),
        ),
        (
            json!({ "type": ["string", "null"], "enum": ["a", null] }),
            Some(json!({ "enum": ["a", null] })),
            Some(json!({ "anyOf": [{ "type": "string", "enum": ["a"] }, { "type": "null" }] })),
        ),
        (
            json!({ "type": "boolean", "const": true }),
            Some(json!({ "const": true })),
            Some(json!({ "type": "boolean", "description": "{const: true}" })),
        ),
        (
            json!({ "const": null }),
            Some(json!({ "const": null })),
            Some(json!({ "type": "null" })),
        ),
        (json!({ "enum": [{ "b": 1 }] }), None, None),
        (
            json!({ "oneOf": [object("b"), object("c")], "discriminator": "x" }),
            Some(json!({ "anyOf": [closed("b"), closed("c")],
                "description": "{discriminator: \"x\"}" })),
            Some(json!({ "anyOf": [object("b"), object("c")],
                "description": "{discriminator: \"x\"}" })),
        ),
        (
            json!({ "type": "string", "anyOf": [{ "const": "a" }, { "pattern": "^b" }] }),
            Some(json!({ "anyOf": [{ "const": "a" },
                { "type": "string", "description": "{pattern: \"^b\"}" }] })),
            Some(json!({ "anyOf": [{ "type": "string", "enum": ["a"] },
                { "type": "string", "description": "{pattern: \"^b\"}" }] })),
        ),
        (
            json!({ "type": "number", "minimum": 1, "maximum": 2, "multipleOf": 3 }),
            Some(json!({ "type": "number",
                "description": "{minimum: 1, maximum: 2, multipleOf: 3}" })),
            Some(json!({ "type": "number", "minimum": 1, "maximum": 2,
                "description": "{multipleOf: 3}" })),
        ),
        (
            json!({ "type": "array", "items": string, "minItems": 2, "maxItems": 5 }),
            Some(json!({ "type": "array", "items": string,
                "description": "{minItems: 2, maxItems: 5}" })),
            Some(json!({ "type": "array", "items": string, "minItems": 2,
                "description": "{maxItems: 5}" })),
        ),
        (
            json!({ "type": "array", "prefixItems": [string, { "type": "integer" }], "items": false }),
            None,
            Some(json!({ "type": "array", "prefixItems": [string, { "type": "integer" }] })),
        ),
        // Objects whose members are not listed.
        (json!({ "type": "object" }), None, None),
        (
            json!({ "type": "object", "patternProperties": { "^b": string } }),
            None,
            None,
        ),
        (
            json!({ "type": "object", "additionalProperties": string }),
            None,
            Some(json!({ "type": "object", "properties": {}, "additionalProperties": string })),
        ),
        (
            json!({ "type": "object", "additionalProperties": false }),
            Some(json!({ "type": "object", "properties": {}, "additionalProperties": false })),
            Some(json!({ "type": "object", "properties": {}, "additionalProperties": false })),
        ),
        (
            json!({ "type": "object", "properties": { "b": string }, "required": ["c"] }),
            None,
            None,
        ),
        // Any value, and arrays of any values.
        (json!({}), None, None),
        (json!({ "type": "array" }), None, None),
        (json!({ "type": "array", "items": true }), None, None),
        // A branch that only requires is in words; one with properties would be forbidden by them.
        (
            json!({ "type": "object", "properties": { "b": string, "c": string },
                "anyOf": [{ "required": ["b"] }, { "required": ["c"] }] }),
            Some(
                json!({ "type": "object", "properties": { "b": string, "c": string },
                "additionalProperties": false,
                "description": "{anyOf: [{\"required\":[\"b\"]},{\"required\":[\"c\"]}]}" }),
            ),
            Some(
                json!({ "type": "object", "properties": { "b": string, "c": string },
                "description": "{anyOf: [{\"required\":[\"b\"]},{\"required\":[\"c\"]}]}" }),
            ),
        ),
        (
            json!({ "type": "object", "properties": { "b": string }, "oneOf": [object("c")] }),
            None,
            None,
        ),
        (json!({ "allOf": [object("b"), object("c")] }), None, None),
        (
            json!({ "properties": { "b": string }, "required": ["b"] }),
            Some(closed("b")),
            Some(object("b")),
        ),
        (
            json!({ "allOf": [object("b")], "description": "d" }),
            Some({
                let mut object = closed("b");
                object["description"] = "d".into();
                object
            }),
            Some({
                let mut object = object("b");
                object["description"] = "d".into();
                object
            }),
        ),
        (
            json!({ "type": "object", "properties": { "b": string }, "if": { "required": ["b"] },
                "then": { "properties": { "c": string } } }),
            None,
            None,
        ),
    ];
    for (sent, messages, gemini) in cases {
        assert_eq!(property(&sent, Api::Messages), messages, "Messages: {sent}");
        assert_eq!(property(&sent, Api::Gemini), gemini, "Gemini: {sent}");
    }
}

#[test]
fn a_root_whose_branches_describe_members_has_no_converted_format() {
    let branch = json!({ "properties": { "b": { "type": "string" } } });
    for (keyword, branches, has_format) in [
        ("oneOf", json!([branch]), false),
        ("anyOf", json!([{ "$ref": "#/$defs/b" }]), false),
        ("allOf", json!([branch]), false),
        ("anyOf", json!([{ "required": ["a"] }]), true),
        ("not", branch.clone(), true),
    ] {
        let mut root = with_a(json!({ "type": "string" }));
        root[keyword] = branches;
        for api in [Api::Messages, Api::Gemini] {
            let sent = schema(root.clone(), api);
            assert_eq!(sent.is_some(), has_format, "{api:?} {root}");
            if let Some(sent) = sent {
                assert!(sent["description"].as_str().unwrap().contains(keyword));
            }
        }
    }
    for root in [json!({}), json!(null), json!({ "type": "object" })] {
        assert_eq!(schema(root.clone(), Api::Messages), None);
        assert_eq!(schema(root, Api::Gemini), None);
    }
}

#[test]
fn messages_has_limits_for_optional_properties_and_unions() {
    let object = |count: usize, property: &Value, is_required: bool| {
        let names: Vec<String> = (0..count).map(|number| format!("p{number}")).collect();
        let properties: Map<_, _> = names
            .iter()
            .map(|name| (name.clone(), property.clone()))
            .collect();
        let required = if is_required { names } else { Vec::new() };
        json!({ "type": "object", "properties": properties, "required": required })
    };
    let string = json!({ "type": "string" });
    let union = json!({ "anyOf": [string, { "type": "null" }] });
    let list = json!({ "type": ["string", "null"] });
    for (root, has_format) in [
        (object(24, &string, false), true),
        (object(25, &string, false), false),
        (object(100, &string, true), true),
        (object(16, &union, true), true),
        (object(17, &union, true), false),
        (object(17, &list, true), false),
    ] {
        assert_eq!(schema(root.clone(), Api::Messages).is_some(), has_format);
        assert!(schema(root, Api::Gemini).is_some());
    }
}

#[test]
fn references_are_sent_as_far_as_each_api_follows_them() {
    let root = |reference: &str, definition: Value| {
        let mut root = with_a(json!({ "$ref": reference, "description": "d" }));
        root["$defs"] = json!({ "b": definition, "unused": {} });
        root
    };
    let string = json!({ "type": "string" });
    let node = |reference: &str| {
        json!({ "type": "object",
            "properties": { "next": { "anyOf": [{ "$ref": reference }, { "type": "null" }] } },
            "required": ["next"] })
    };
    // The schema, and whether Messages, Gemini, chat completions and Responses have a format.
    let cases = [
        (root("#/$defs/b", string.clone()), [true, true, true, true]),
        (root("#/$defs/missing", string.clone()), [false; 4]),
        (root("https://example.com/b", string.clone()), [false; 4]),
        (root("#b", string.clone()), [false; 4]),
        (root("#", string.clone()), [false, false, false, true]),
        (root("#/properties/b", string.clone()), [false; 4]),
        (
            root("#/$defs/b", node("#/$defs/b")),
            [false, false, true, true],
        ),
        (root("#/$defs/b", node("#")), [false, false, false, true]),
        (
            json!({ "$ref": "#/$defs/b", "$defs": { "b": node("#/$defs/b") } }),
            [false, false, true, true],
        ),
        (
            json!({ "$ref": "#/$defs/b", "properties": {}, "$defs": { "b": {} } }),
            [false; 4],
        ),
    ];
    let apis = [
        Api::Messages,
        Api::Gemini,
        Api::ChatCompletions,
        Api::Responses,
    ];
    for (root, has_format) in cases {
        for (api, has_format) in apis.into_iter().zip(has_format) {
            let sent = schema(root.clone(), api);
            assert_eq!(sent.is_some(), has_format, "{api:?} {root}");
        }
    }
    let old = json!({
        "$ref": "#/definitions/root",
        "definitions": { "root": with_a(json!({ "$ref": "#/definitions/b" })), "b": string },
    });
    let expected = |is_closed: bool| {
        let mut expected = with_a(json!({ "$ref": "#/$defs/b" }));
        expected["$defs"] = json!({ "b": string });
        if is_closed {
            expected["additionalProperties"] = false.into();
        }
        Some(expected)
    };
    assert_eq!(schema(old.clone(), Api::Messages), expected(true));
    assert_eq!(schema(old, Api::Gemini), expected(false));
}

#[test]
fn only_a_schema_in_the_strict_dialect_is_strict() {
    let closed = |properties: Value| {
        let names: Vec<_> = properties.as_object().unwrap().keys().cloned().collect();
        json!({ "type": "object", "properties": properties, "required": names,
            "additionalProperties": false })
    };
    let deep = |levels: usize| {
        (0..levels).fold(json!({ "type": "string" }), |inner, _| {
            closed(json!({ "a": inner }))
        })
    };
    let with = |property: Value| closed(json!({ "a": property }));
    let values: Vec<usize> = (0..1_001).collect();
    let names = |count: usize, chars: usize| {
        let names: Vec<_> = (0..count).map(|it| format!("{it:0chars$}")).collect();
        with(json!({ "type": "string", "enum": names }))
    };
    for (schema, is_strict) in [
        (with(json!({ "type": "string" })), true),
        (
            with(json!({ "type": ["string", "null"], "enum": ["b", null] })),
            true,
        ),
        (
            with(json!({ "type": "array", "items": { "type": "number" }, "maxItems": 3 })),
            true,
        ),
        (
            with(json!({ "anyOf": [with(json!({ "type": "null" })), { "type": "null" }] })),
            true,
        ),
        (with(json!({ "$ref": "#" })), true),
        (
            with(json!({ "type": "string", "pattern": "^b+$", "format": "uuid" })),
            true,
        ),
        (with(json!({ "type": "number", "multipleOf": 2 })), true),
        (closed(json!({})), true),
        (deep(10), true),
        (deep(11), false),
        (with_a(json!({ "type": "string" })), false),
        (with(with_a(json!({ "type": "string" }))), false),
        (with(json!({})), false),
        (with(json!({ "const": "b" })), false),
        (with(json!({ "type": "array" })), false),
        (with(json!({ "type": "array", "items": {} })), false),
        (with(json!({ "type": "string", "minLength": 1 })), false),
        (with(json!({ "type": "string", "default": "b" })), false),
        (with(json!({ "type": "string", "format": "uri" })), false),
        (with(json!({ "type": "string", "pattern": "(?=b)" })), false),
        (with(json!({ "oneOf": [{ "type": "string" }] })), false),
        (with(json!({ "$ref": "#", "description": "d" })), false),
        (with(json!({ "type": "integer", "enum": values })), false),
        (names(250, 61), true),
        (names(300, 50), true),
        (names(300, 51), false),
    ] {
        let format = format(schema.clone(), Api::Responses).unwrap();
        assert_eq!(format.is_strict, is_strict, "{schema}");
        assert_eq!(format.schema, schema);
        let chat = self::format(schema, Api::ChatCompletions);
        assert!(chat.is_none_or(|chat| chat.is_strict == is_strict));
    }
}

#[test]
fn a_schema_has_a_maximum_size_and_a_maximum_of_definitions() {
    for api in [
        Api::Messages,
        Api::Responses,
        Api::ChatCompletions,
        Api::Gemini,
    ] {
        let described = |length: usize| {
            let property = json!({ "type": "string", "description": "x".repeat(length) });
            schema(with_a(property), api).is_some()
        };
        assert!(described(119_000), "{api:?}");
        assert!(!described(120_000), "{api:?}");
    }
    let defined = |count: usize| {
        let names = 0..count;
        let definitions: Map<String, Value> = names
            .map(|it| (format!("d{it}"), json!({ "type": "string" })))
            .collect();
        let references: Map<String, Value> = definitions
            .keys()
            .map(|name| (name.clone(), json!({ "$ref": format!("#/$defs/{name}") })))
            .collect();
        let required: Vec<_> = references.keys().cloned().collect();
        let schema = json!({ "type": "object", "properties": references, "required": required,
            "$defs": definitions });
        self::schema(schema, Api::Gemini).map(|sent| sent["$defs"].clone())
    };
    let sent = defined(100).unwrap();
    let names: Vec<_> = sent.as_object().unwrap().keys().cloned().collect();
    let expected: Vec<_> = (0..100).map(|it| format!("d{it}")).collect();
    assert_eq!(names, expected, "definitions keep their order");
    assert_eq!(defined(101), None);
}
