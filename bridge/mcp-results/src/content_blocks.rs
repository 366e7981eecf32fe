//! Validation of content blocks against MCP's schema. A strict client rejects the whole result for
//! one member of the wrong type; the bridge reports it as an error instead, with the same message
//! on every transport.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use bridge_realm::definition::tool::check_icons;

/// Optional members of a block. MCP does not allow `null` for them.
const OPTIONAL_MEMBERS: [&str; 7] = [
    "annotations",
    "_meta",
    "title",
    "description",
    "mimeType",
    "size",
    "icons",
];

/// The blocks without optional members that are `null`, or what is wrong with them.
pub fn validate_blocks(content: Value) -> Result<Vec<Value>, String> {
    let Value::Array(mut blocks) = content else {
        return Err("`content` must be an array of content blocks".to_owned());
    };
    for (index, block) in blocks.iter_mut().enumerate() {
        check_required(block).map_err(|error| format!("content block {index} {error}"))?;
        if let Some(members) = block.as_object_mut() {
            check_optional(members)
                .map_err(|error| format!("content block {index} cannot be passed on: {error}"))?;
        }
    }
    Ok(blocks)
}

fn check_required(block: &Value) -> Result<(), String> {
    let required: &[&str] = match block["type"].as_str() {
        Some("text") => &["/text"],
        Some("image" | "audio") => &["/data", "/mimeType"],
        Some("resource_link") => &["/uri", "/name"],
        Some("resource") if block.pointer("/resource/blob").is_some() => {
            &["/resource/uri", "/resource/blob"]
        }
        Some("resource") => &["/resource/uri", "/resource/text"],
        _ => {
            return Err(
                "has no known `type`: there are text, image, audio, resource and resource_link"
                    .to_owned(),
            );
        }
    };
    let is_text = |pointer: &&str| block.pointer(pointer).is_some_and(Value::is_string);
    match required.iter().find(|pointer| !is_text(pointer)) {
        Some(missing) => Err(format!("needs a string at `{missing}`")),
        None => Ok(()),
    }
}

fn check_optional(block: &mut Map<String, Value>) -> Result<(), String> {
    block.retain(|name, value| !(value.is_null() && OPTIONAL_MEMBERS.contains(&name.as_str())));
    if let Some(annotations) = block.get_mut("annotations") {
        if let Some(members) = annotations.as_object_mut() {
            members.retain(|_, value| !value.is_null());
        }
        check_annotations(annotations)?;
    }
    check_member(block, "_meta", Value::is_object, "an object")?;
    if let Some(resource) = block.get_mut("resource").and_then(Value::as_object_mut) {
        resource
            .retain(|name, value| !(value.is_null() && OPTIONAL_MEMBERS.contains(&name.as_str())));
        check_member(resource, "mimeType", Value::is_string, "a string")?;
        check_member(resource, "_meta", Value::is_object, "an object")?;
    }
    if block["type"] != "resource_link" {
        return Ok(());
    }
    for text in ["title", "description", "mimeType"] {
        check_member(block, text, Value::is_string, "a string")?;
    }
    check_member(block, "size", Value::is_u64, "a whole number of bytes")?;
    check_icons(block.get("icons"))
}

fn check_member(
    members: &Map<String, Value>,
    name: &str,
    is_valid: fn(&Value) -> bool,
    expected: &str,
) -> Result<(), String> {
    match members.get(name) {
        Some(value) if !is_valid(value) => Err(format!("`{name}` must be {expected}")),
        _ => Ok(()),
    }
}

fn check_annotations(annotations: &Value) -> Result<(), String> {
    let Some(members) = annotations.as_object() else {
        return Err("`annotations` must be an object".to_owned());
    };
    let are_roles = |audience: &Value| {
        let roles = audience.as_array();
        roles.is_some_and(|roles| roles.iter().all(|it| it == "user" || it == "assistant"))
    };
    let is_share = |priority: &Value| {
        let priority = priority.as_f64();
        priority.is_some_and(|priority| (0.0..=1.0).contains(&priority))
    };
    let roles = "an array of \"user\" and \"assistant\"";
    let with_member = |error| format!("of `annotations` {error}");
    check_member(members, "audience", are_roles, roles).map_err(with_member)?;
    check_member(members, "priority", is_share, "a number from 0 to 1").map_err(with_member)?;
    check_member(members, "lastModified", Value::is_string, "a string").map_err(with_member)
}

/// Whether blocks can be forwarded without parsing them: all required members are there, and the
/// optional ones are valid.
pub fn can_pass_through(content: &str) -> bool {
    let blocks = serde_json::from_str::<Vec<StrictObject<RawBlock<'_>>>>(content);
    blocks.is_ok_and(|blocks| blocks.iter().all(|block| block.0.can_pass_through()))
}

/// A structure that is written as an object. serde would also accept an array of its fields.
struct StrictObject<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for StrictObject<T> {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = T;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(members))
            }
        }
        value.deserialize_map(ObjectVisitor(PhantomData)).map(Self)
    }
}

/// The members of a block as JSON text.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawBlock<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "member")]
    text: RawMember<'a>,
    #[serde(borrow, default, deserialize_with = "member")]
    data: RawMember<'a>,
    #[serde(borrow, default, deserialize_with = "member")]
    mime_type: RawMember<'a>,
    #[serde(borrow, default, deserialize_with = "member")]
    uri: RawMember<'a>,
    #[serde(borrow, default, deserialize_with = "member")]
    name: RawMember<'a>,
    #[serde(borrow, default, deserialize_with = "member")]
    annotations: RawMember<'a>,
    #[serde(borrow, default, rename = "_meta", deserialize_with = "member")]
    meta: RawMember<'a>,
    #[serde(borrow, default, deserialize_with = "member")]
    title: RawMember<'a>,
    #[serde(borrow, default, deserialize_with = "member")]
    description: RawMember<'a>,
    #[serde(borrow, default, deserialize_with = "member")]
    size: RawMember<'a>,
    #[serde(borrow, default, deserialize_with = "member")]
    icons: RawMember<'a>,
}

type RawMember<'a> = Option<&'a RawValue>;

/// Deserializes `null` as a member that is present.
fn member<'de, D: Deserializer<'de>>(value: D) -> Result<RawMember<'de>, D::Error> {
    <&RawValue>::deserialize(value).map(Some)
}

impl RawBlock<'_> {
    /// Whether the block needs no further checks. Embedded resources, and links with optional
    /// members, have to be parsed.
    fn can_pass_through(&self) -> bool {
        let begins =
            |value: RawMember<'_>, with| value.is_some_and(|it| it.get().starts_with(with));
        let is_text = |value| begins(value, '"');
        let is_complete = match self.r#type.as_ref() {
            "text" => is_text(self.text),
            "image" | "audio" => is_text(self.data) && is_text(self.mime_type),
            "resource_link" => is_text(self.uri) && is_text(self.name) && self.mime_type.is_none(),
            _ => false,
        };
        let optional = [self.title, self.description, self.size, self.icons];
        is_complete
            && optional.iter().all(Option::is_none)
            && (self.meta.is_none() || begins(self.meta, '{'))
            && self.annotations.is_none_or(are_valid_annotations)
    }
}

/// Whether annotations can be forwarded as they are written.
fn are_valid_annotations(annotations: &RawValue) -> bool {
    let parsed = serde_json::from_str::<Value>(annotations.get());
    parsed.is_ok_and(|parsed| check_annotations(&parsed).is_ok())
}

/// A text block. `json!` would copy the text, which may be long; this moves it.
pub fn text_block(text: String) -> Value {
    let mut block = json!({ "type": "text" });
    block["text"] = Value::String(text);
    block
}

/// The text of a text block.
pub fn text_content(block: &Value) -> Option<&str> {
    let is_text = block["type"] == "text";
    is_text.then(|| block["text"].as_str()).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text_block_with(member: &str, value: Value) -> Value {
        let mut block = json!({ "type": "text", "text": "t" });
        block[member] = value;
        block
    }

    fn link_block_with(member: &str, value: Value) -> Value {
        let mut block = json!({ "type": "resource_link", "uri": "a:b", "name": "n" });
        block[member] = value;
        block
    }

    #[test]
    fn optional_members_of_the_wrong_type_are_rejected() {
        let wrong = [
            (
                text_block_with("annotations", json!("high")),
                "`annotations` must be an object",
            ),
            (
                text_block_with("annotations", json!({ "audience": "user" })),
                "`audience` must be",
            ),
            (
                text_block_with("annotations", json!({ "audience": ["me"] })),
                "`audience` must be",
            ),
            (
                text_block_with("annotations", json!({ "priority": "1" })),
                "`priority` must be",
            ),
            (
                text_block_with("annotations", json!({ "priority": 2 })),
                "a number from 0 to 1",
            ),
            (
                text_block_with("annotations", json!({ "lastModified": 7 })),
                "`lastModified` must",
            ),
            (
                text_block_with("_meta", json!([])),
                "`_meta` must be an object",
            ),
            (
                link_block_with("title", json!(1)),
                "`title` must be a string",
            ),
            (
                link_block_with("mimeType", json!(1)),
                "`mimeType` must be a string",
            ),
            (
                link_block_with("size", json!(1.5)),
                "`size` must be a whole number",
            ),
            (
                link_block_with("icons", json!({})),
                "`icons` must be an array",
            ),
            (
                json!({ "type": "resource", "resource":
                { "uri": "a:b", "text": "t", "mimeType": 1 } }),
                "`mimeType` must be a string",
            ),
        ];
        for (block, why) in wrong {
            let content = json!([{ "type": "text", "text": "" }, block]);
            assert!(!can_pass_through(&content.to_string()), "{content}");
            let error = validate_blocks(content).unwrap_err();
            assert!(error.contains(why) && error.contains("block 1"), "{error}");
        }
    }

    #[test]
    fn valid_members_stay_and_null_members_are_removed() {
        let annotations =
            json!({ "audience": ["user"], "priority": 0.5, "lastModified": "2026-01-01" });
        for right in [
            text_block_with("annotations", annotations.clone()),
            text_block_with("_meta", json!({ "a": null })),
            text_block_with("title", json!(7)),
            link_block_with("icons", json!([{ "src": "a.png" }])),
            link_block_with("size", json!(7)),
        ] {
            assert_eq!(validate_blocks(json!([right])), Ok(vec![right]));
        }
        assert!(can_pass_through(
            &json!([text_block_with("annotations", annotations)]).to_string()
        ));
        for member in OPTIONAL_MEMBERS {
            let content = json!([link_block_with(member, Value::Null)]);
            assert!(!can_pass_through(&content.to_string()), "{member}");
            let bare = json!({ "type": "resource_link", "uri": "a:b", "name": "n" });
            assert_eq!(validate_blocks(content), Ok(vec![bare]), "{member}");
        }
        let half = text_block_with("annotations", json!({ "audience": null, "priority": 1 }));
        assert!(!can_pass_through(&json!([half]).to_string()));
        let mended = text_block_with("annotations", json!({ "priority": 1 }));
        assert_eq!(validate_blocks(json!([half])), Ok(vec![mended]));
    }
}
