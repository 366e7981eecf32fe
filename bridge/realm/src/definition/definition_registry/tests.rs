use super::super::definition_error::MAX_ERROR_NAME_CHARS;
use super::super::interner::MAX_UNUSED_ENTRIES;
use super::*;
use serde_json::json;

fn parse(kind: Kind, definition: Value) -> Result<SharedDefinition, RegistrationFailure> {
    let definition = RawValue::from_string(definition.to_string()).unwrap();
    DefinitionRegistry::new(|_, _| Ok(()), DefinitionLimits { max_bytes: 10_000 })
        .parse(&[Sent { kind, definition }])
        .remove(0)
}

#[test]
fn prompts_resources_and_templates_are_published_verbatim() {
    let cases = [
        (
            Kind::Prompt,
            json!({"name": "p", "arguments": [{"name": "a", "required": true}], "z": 1}),
        ),
        (
            Kind::Resource,
            json!({"uri": "board://cards", "name": "cards", "size": 7}),
        ),
        (
            Kind::ResourceTemplate,
            json!({"uriTemplate": "board://{id}", "name": "card"}),
        ),
    ];
    for (kind, definition) in cases {
        let parsed = parse(kind, definition.clone()).unwrap();
        assert_eq!(
            Value::Object(parsed.published().clone()).to_string(),
            definition.to_string()
        );
        assert_eq!(parsed.kind(), kind);
    }
}

#[test]
fn invisible_characters_are_not_published_in_texts() {
    let hidden = "a\u{e0041}\u{202e}b ❤\u{fe0f}";
    let definition = |kind: Kind, text: &str| match kind {
        Kind::Prompt => json!({"name": "✏\u{fe0f} Review", "title": text, "description": text,
            "arguments": [{"name": "a", "description": text}]}),
        _ => json!({"uri": "a:b", "name": text, "description": text, "mimeType": hidden}),
    };
    for kind in [Kind::Prompt, Kind::Resource] {
        let parsed = parse(kind, definition(kind, hidden)).unwrap();
        assert_eq!(json!(parsed.published()), definition(kind, "ab ❤\u{fe0f}"));
    }
}

#[test]
fn errors_say_why_a_definition_cannot_be_published() {
    let cases = [
        (Kind::Prompt, json!({"name": ""}), "`name`"),
        (Kind::Prompt, json!({"name": "p", "arguments": {}}), "array"),
        (
            Kind::Prompt,
            json!({"name": "p", "arguments": [{}]}),
            "`arguments[0].name` is missing",
        ),
        (
            Kind::Prompt,
            json!({"name": "p", "arguments": [{"name": "a"}, {"name": "a"}]}),
            "one `name`",
        ),
        (
            Kind::Prompt,
            json!({"name": "re\u{200b}view"}),
            r"`name` has invisible characters: write `re\u{200b}view` without",
        ),
        (
            Kind::Prompt,
            json!({"name": "p", "arguments": [{"name": "a"}, {"name": "a\u{fe00}"}]}),
            r"`a\u{fe00}`",
        ),
        (
            Kind::Resource,
            json!({"uri": "a:b\u{202e}", "name": "n"}),
            r"`a:b\u{202e}`",
        ),
        (
            Kind::ResourceTemplate,
            json!({"uriTemplate": "a:{b}\u{2060}", "name": "n"}),
            r"`a:{b}\u{2060}`",
        ),
        (Kind::Resource, json!({"uri": "board://x"}), "`name`"),
        (
            Kind::Resource,
            json!({"uri": "cards", "name": "n"}),
            "scheme",
        ),
        (
            Kind::Resource,
            json!({"uri": "a b:c", "name": "n"}),
            "not a URI",
        ),
        (
            Kind::Resource,
            json!({"uri": format!("a:{}", "b".repeat(crate::definition::MAX_URI_BYTES)), "name": "n"}),
            "bytes",
        ),
        (
            Kind::Resource,
            json!({"uri": "sessions://list", "name": "n"}),
            "itself",
        ),
        (
            Kind::Resource,
            json!({"uri": "a:b", "name": "n", "_meta": 7}),
            "_meta",
        ),
        (
            Kind::ResourceTemplate,
            json!({"uriTemplate": "a{", "name": "n"}),
            "RFC 6570",
        ),
        (Kind::ResourceTemplate, json!([]), "object"),
    ];
    for (kind, definition, word) in cases {
        let failure = parse(kind, definition.clone()).unwrap_err();
        assert_eq!(failure.code, ErrorCode::DefinitionInvalid, "{definition}");
        assert!(
            failure.message.contains(word),
            "{definition}: {}",
            failure.message
        );
    }
}

#[test]
fn missing_arguments_lists_absent_required_ones() {
    let prompt =
        json!({"name": "p", "arguments": [{"name": "a", "required": true}, {"name": "b"}]});
    let Ok(SharedDefinition::Prompt(prompt)) = parse(Kind::Prompt, prompt) else {
        panic!("refused")
    };
    assert_eq!(prompt.missing_arguments(&Map::new()), ["a"]);
    let given = Map::from_iter([("a".to_owned(), json!("x"))]);
    assert!(prompt.missing_arguments(&given).is_empty());
}

#[test]
fn errors_truncate_long_names() {
    let long = "n".repeat(MAX_ERROR_NAME_CHARS + 1);
    let failure = parse(Kind::Prompt, json!({"name": long, "arguments": 7})).unwrap_err();
    assert_eq!(
        failure.name.unwrap().chars().count(),
        MAX_ERROR_NAME_CHARS + 1
    );
}

#[test]
fn definitions_over_the_limit_are_named_but_not_parsed() {
    let registry = DefinitionRegistry::new(
        |_, _| panic!("it is parsed"),
        DefinitionLimits { max_bytes: 1_000 },
    );
    let registered = |definition: &str| {
        let sent = Sent {
            kind: Kind::Tool,
            definition: RawValue::from_string(definition.to_owned()).unwrap(),
        };
        registry.parse(&[sent]).remove(0).unwrap_err()
    };
    let long = "x".repeat(2 * MAX_NAME_BYTES);
    let failure = registered(&format!(r#"{{"name":"t","description":"{long}"}}"#));
    assert_eq!(failure.code, ErrorCode::DefinitionLimitExceeded);
    assert_eq!(failure.name.as_deref(), Some("t"));
    let failure = registered(&format!(r#"{{"description":"{long}","name":"t"}}"#));
    assert_eq!(failure.name, None);
}

#[test]
fn a_registration_parses_no_more_bytes_than_a_page_may_have() {
    let registry = DefinitionRegistry::new(|_, _| Ok(()), DefinitionLimits { max_bytes: 1_000 });
    let tool = |name: &str, bytes: usize| Sent {
        kind: Kind::Tool,
        definition: RawValue::from_string(
            json!({"name": name, "description": "x".repeat(bytes)}).to_string(),
        )
        .unwrap(),
    };
    let parsed = registry.parse(&[tool("a", 600), tool("b", 600), tool("c", 100)]);
    let outcomes: Vec<_> = parsed.iter().map(Result::is_ok).collect();
    assert_eq!(outcomes, [true, false, true]);
    let failure = parsed[1].as_ref().unwrap_err();
    assert_eq!(failure.code, ErrorCode::DefinitionLimitExceeded);
    assert!(failure.message.contains("one message"), "{failure:?}");
}

#[test]
fn equal_definitions_share_one_allocation() {
    let definitions =
        DefinitionRegistry::new(|_, _| Ok(()), DefinitionLimits { max_bytes: 10_000 });
    let definition = RawValue::from_string(r#"{"name":"t"}"#.to_owned()).unwrap();
    let sent = Sent {
        kind: Kind::Tool,
        definition,
    };
    let parsed = definitions.parse(&[sent.clone(), sent]);
    let [Ok(SharedDefinition::Tool(a)), Ok(SharedDefinition::Tool(b))] = &parsed[..] else {
        panic!("refused")
    };
    assert!(Arc::ptr_eq(a, b));
    drop(parsed);
    definitions.remove_unused();
    assert!(definitions.tools.entries.is_empty());
}

#[test]
fn unused_definitions_are_removed_before_housekeeping() {
    let interned = Interner::<PublishedItem>::default();
    let resource = |n: usize| {
        let raw = format!(r#"{{"uri":"board://{n}","name":"n"}}"#);
        let raw = RawValue::from_string(raw).unwrap();
        interned
            .get_or_insert_with(&raw, || PublishedItem::parse_resource(&raw))
            .unwrap()
    };
    let kept = resource(0);
    for n in 1..3 * MAX_UNUSED_ENTRIES {
        resource(n);
        assert!(interned.entries.len() <= MAX_UNUSED_ENTRIES + 4);
    }
    let again = resource(0);
    assert!(Arc::ptr_eq(&kept, &again));
}

#[test]
fn a_compacted_tool_is_shared_by_all_holders() {
    let definitions =
        DefinitionRegistry::new(|_, _| Ok(()), DefinitionLimits { max_bytes: 10_000 });
    let definition = RawValue::from_string(r#"{"name":"t"}"#.to_owned()).unwrap();
    let kind = Kind::Tool;
    let sent = [Sent { kind, definition }];
    let held = definitions.parse(&sent).remove(0).unwrap();
    assert!(definitions.compacted(&held).is_none(), "it is not parsed");
    assert_eq!(held.published()["name"], "t");
    assert!(definitions.compacted(&held).is_none(), "it was just used");
    let closed = definitions.compacted(&held).unwrap();
    let another = definitions.compacted(&held).unwrap();
    let fresh = definitions.parse(&sent).remove(0).unwrap();
    let all = [&closed, &another, &fresh].map(|it| match it {
        SharedDefinition::Tool(tool) => Arc::as_ptr(tool),
        other => panic!("{other:?}"),
    });
    assert!(all.iter().all(|it| *it == all[0]));
}
