/// Shared with the integration tests of the bridge.
#[path = "../../../../tests/integration/any_definition.rs"]
mod any_definition;
mod round_trip;

use serde_json::json;

use super::published_name::ORIGINAL_NAME_KEY;
use super::*;

fn parse(definition: Value) -> Result<SharedTool, (ErrorCode, String)> {
    let raw = RawValue::from_string(definition.to_string()).unwrap();
    SharedTool::parse(&raw)
}

#[test]
fn a_definition_is_published_verbatim_but_for_the_session_argument() {
    let definition = json!({
        "name": "add", "title": "Add", "description": "Adds", "annotations": {"readOnlyHint": true},
        "inputSchema": {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
            "additionalProperties": false, "properties": {"z": {"type": "number"}}, "required": ["z"]},
        "outputSchema": {"type": "object"}, "_meta": {"b": 1, "a": 2}
    });
    let tool = parse(definition.clone()).unwrap();
    let mut published = Value::Object(tool.published().clone());
    let properties = published.pointer_mut("/inputSchema/properties").unwrap();
    assert!(
        properties
            .as_object_mut()
            .unwrap()
            .shift_remove("session_id")
            .is_some()
    );
    assert_eq!(published.to_string(), definition.to_string());
}

#[test]
fn idle_tools_are_reduced_to_their_text() {
    let tool = parse(json!({"name": "a b", "description": "d"})).unwrap();
    let listed = json!(tool.published());
    assert!(!tool.is_idle(), "it was just used");
    assert!(tool.is_idle());
    let closed = tool.unparsed();
    assert!(!closed.is_idle(), "it is not parsed");
    assert_eq!(closed.published_name(), tool.published_name());
    assert_eq!(json!(closed.published()), listed);
}

#[test]
fn names_with_escapes_are_stored_separately() {
    let spelled = r#"{"name":"a\u0062c","description":"d"}"#;
    let raw = RawValue::from_string(spelled.to_owned()).unwrap();
    let tool = SharedTool::parse(&raw).unwrap();
    assert_eq!([tool.name(), tool.unparsed().name()], ["abc"; 2]);
    let legacy = parse(json!({"name": "abc", "description": "d"})).unwrap();
    assert_eq!(legacy.unparsed().name(), "abc");
    assert!(legacy.extras.is_none());
}

/// Ten thousand pages with ten different tools each need a hundred thousand of these structs.
#[test]
fn the_tool_struct_stays_small() {
    assert!(size_of::<SharedTool>() <= 56, "{}", size_of::<SharedTool>());
}

#[test]
fn a_tool_keeps_its_own_session_argument() {
    let schema = json!({"type": "object", "properties": {"session_id": {"type": "integer"}}});
    let tool = parse(json!({"name": "t", "inputSchema": schema})).unwrap();
    assert_eq!(tool.published()["inputSchema"], schema);
    assert!(tool.has_own_session_argument());
    assert!(
        !parse(json!({"name": "t"}))
            .unwrap()
            .has_own_session_argument()
    );
}

#[test]
fn a_tool_with_sessions_of_the_app_gets_no_second_session_argument() {
    let schema = json!({"type": "object", "properties": {"sessionId": {"type": "string"}}});
    let tool = parse(json!({"name": "t", "inputSchema": schema})).unwrap();
    assert_eq!(tool.published()["inputSchema"], schema);
    assert!(!tool.has_own_session_argument());
}

#[test]
fn a_repaired_name_is_published_with_the_registered_one() {
    for name in ["a b", "ünïcode", &"x".repeat(65)] {
        let tool = parse(json!({"name": name})).unwrap();
        assert_eq!(tool.published()["name"], tool.published_name());
        assert_eq!(tool.published()["title"], name);
        assert_eq!(tool.published()["_meta"][ORIGINAL_NAME_KEY], name);
    }
    let tool = parse(json!({"name": "x".repeat(64)})).unwrap();
    assert_eq!(tool.published_name(), tool.name());
    assert!(!tool.published().contains_key("_meta"));
}

#[test]
fn invisible_characters_are_not_published_in_texts() {
    let hidden = "a\u{e0041}\u{202e}\u{200b}\u{fe01}b ❤\u{fe0f}";
    let definition = |text: &str| {
        json!({
            "name": "t", "title": text, "description": text, "annotations": { "title": text },
            "inputSchema": { "type": "object", "description": text, "properties": {
                "description": { "title": text, "enum": [hidden], "default": hidden },
                "session_id": { "anyOf": [{ "description": text }] },
            } },
            "outputSchema": { "type": "object", "$defs": { hidden: { "description": text } } },
        })
    };
    let tool = parse(definition(hidden)).unwrap();
    assert_eq!(json!(tool.published()), definition("ab ❤\u{fe0f}"));
    assert_eq!(tool.raw(), definition(hidden).to_string());
    let named = parse(json!({ "name": "a\u{200b}b" })).unwrap();
    assert_eq!(named.published()["title"], "ab");
    assert_eq!(named.published()["_meta"][ORIGINAL_NAME_KEY], "a\u{200b}b");
    let union = json!({ "name": "t", "inputSchema": { "type": "object",
        "anyOf": [{ "properties": { "a": { "description": hidden } } }] } });
    let plain = json!(
        parse(union)
            .unwrap()
            .published_for(SchemaSupport::default())
    );
    assert_eq!(
        plain["inputSchema"]["properties"]["a"]["description"],
        "ab ❤\u{fe0f}"
    );
}

#[test]
fn errors_say_why_a_tool_cannot_be_published() {
    let cases = [
        (json!([]), ErrorCode::DefinitionInvalid, "object"),
        (
            json!({"description": "d"}),
            ErrorCode::ToolNameRequired,
            "name",
        ),
        (json!({"name": ""}), ErrorCode::ToolNameRequired, "name"),
        (
            json!({"name": "call_session_tool"}),
            ErrorCode::ToolNameReserved,
            "another name",
        ),
        (
            json!({"name": "t", "description": 7}),
            ErrorCode::DefinitionInvalid,
            "description",
        ),
        (
            json!({"name": "t", "inputSchema": true}),
            ErrorCode::DefinitionInvalid,
            "inputSchema",
        ),
        (
            json!({"name": "t", "inputSchema": {"type": "string"}}),
            ErrorCode::DefinitionInvalid,
            "object",
        ),
        (
            json!({"name": "t", "outputSchema": {"type": "array"}}),
            ErrorCode::DefinitionInvalid,
            "outputSchema",
        ),
    ];
    for (definition, code, word) in cases {
        let (found, message) = parse(definition.clone()).unwrap_err();
        assert_eq!(found, code, "{definition}");
        assert!(message.contains(word), "{definition}: {message}");
    }
}
