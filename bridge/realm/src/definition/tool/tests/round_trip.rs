//! Property tests: clients see exactly what a page writes into a definition, with the keys in the
//! same order, except for the repairs in the table of [`repair`](super::super::repair).

use bridge_protocol::invisible::without_invisible;
use proptest::prelude::*;
use proptest::string::string_regex;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::any_definition::{any_object, any_tool};
use crate::definition::tool::{SESSION_ARGUMENT, SchemaSupport, SharedTool};

/// The published object without the session argument that the bridge adds.
fn without_session_argument(mut published: Value) -> Value {
    let properties = published.pointer_mut("/inputSchema/properties");
    if let Some(properties) = properties.and_then(Value::as_object_mut) {
        properties.shift_remove(SESSION_ARGUMENT);
    }
    published
}

const MODERN: SchemaSupport = SchemaSupport {
    root_unions: false,
    output_keywords: true,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn a_definition_is_published_unchanged(definition in any_tool()) {
        let raw = RawValue::from_string(definition.to_string()).unwrap();
        let tool = SharedTool::parse(&raw).unwrap_or_else(|(_, error)| panic!("{error}"));
        let published = without_session_argument(Value::Object(tool.published().clone()));
        prop_assert_eq!(published.to_string(), definition.to_string());
        prop_assert!(tool.published_for(MODERN).is_none());
        let legacy = tool.published_for(SchemaSupport::default());
        let legacy = Value::Object(legacy.unwrap_or_else(|| tool.published().clone()));
        prop_assert_eq!(&legacy["inputSchema"], &tool.published()["inputSchema"]);
    }

    #[test]
    fn people_see_every_character_of_a_text(mut definition in any_tool(), text in string_regex("[a☀👩 \u{0}-\u{1f}\u{ad}\u{200b}-\u{202e}\u{3164}\u{fe00}-\u{fe0f}\u{e0000}-\u{e01ef}]{0,12}").unwrap()) {
        for field in ["title", "description"] {
            definition[field] = json!(text);
            definition["inputSchema"]["properties"]["a"][field] = json!(text);
        }
        let raw = RawValue::from_string(definition.to_string()).unwrap();
        let tool = SharedTool::parse(&raw).unwrap_or_else(|(_, error)| panic!("{error}"));
        let published = json!(tool.published());
        for pointer in ["/title", "/description", "/inputSchema/properties/a/title", "/inputSchema/properties/a/description"] {
            let published = published.pointer(pointer).unwrap();
            prop_assert_eq!(published, &json!(without_invisible(&text)), "{}", pointer);
        }
    }

    /// An invalid definition is refused or repaired; it never causes a panic.
    #[test]
    fn any_value_is_published_or_refused(name in any::<String>(), schema in any_object(), rest in any_object()) {
        let mut definition = rest;
        definition["name"] = json!(name);
        definition["inputSchema"] = schema;
        let raw = RawValue::from_string(definition.to_string()).unwrap();
        if let Ok(tool) = SharedTool::parse(&raw) {
            prop_assert_eq!(&tool.published()["inputSchema"]["type"], "object");
            let again = RawValue::from_string(Value::Object(tool.published().clone()).to_string()).unwrap();
            let again = SharedTool::parse(&again).map_err(|(_, error)| TestCaseError::fail(error))?;
            prop_assert_eq!(json!(again.published()), json!(tool.published()));
        }
    }
}
