//! What MCP's schema demands of content blocks. One member of the wrong kind costs a strict client the
//! whole result: it is told to the page instead, in the same words whatever leg the client takes.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::tool::check_icons;

/// Members that a block may have, and may not have as null.
const OPTIONAL: [&str; 7] = [
    "annotations",
    "_meta",
    "title",
    "description",
    "mimeType",
    "size",
    "icons",
];

/// The blocks, without optional members that are null, or what is wrong with them.
pub(super) fn checked(content: Value) -> Result<Vec<Value>, String> {
    let Value::Array(mut blocks) = content else {
        return Err("`content` must be an array of content blocks".to_owned());
    };
    for (index, block) in blocks.iter_mut().enumerate() {
        complete(block).map_err(|wrong| format!("content block {index} {wrong}"))?;
        if let Some(members) = block.as_object_mut() {
            optional(members)
                .map_err(|wrong| format!("content block {index} cannot be passed on: {wrong}"))?;
        }
    }
    Ok(blocks)
}

fn complete(block: &Value) -> Result<(), String> {
    let needed: &[&str] = match block["type"].as_str() {
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
    match needed.iter().find(|pointer| !is_text(pointer)) {
        Some(missing) => Err(format!("needs a string at `{missing}`")),
        None => Ok(()),
    }
}

fn optional(block: &mut Map<String, Value>) -> Result<(), String> {
    block.retain(|name, value| !(value.is_null() && OPTIONAL.contains(&name.as_str())));
    if let Some(annotations) = block.get_mut("annotations") {
        if let Some(members) = annotations.as_object_mut() {
            members.retain(|_, value| !value.is_null());
        }
        check_annotations(annotations)?;
    }
    fits(block, "_meta", Value::is_object, "an object")?;
    if let Some(resource) = block.get_mut("resource").and_then(Value::as_object_mut) {
        resource.retain(|name, value| !(value.is_null() && OPTIONAL.contains(&name.as_str())));
        fits(resource, "mimeType", Value::is_string, "a string")?;
        fits(resource, "_meta", Value::is_object, "an object")?;
    }
    if block["type"] != "resource_link" {
        return Ok(());
    }
    for text in ["title", "description", "mimeType"] {
        fits(block, text, Value::is_string, "a string")?;
    }
    fits(block, "size", Value::is_u64, "a whole number of bytes")?;
    check_icons(block.get("icons"))
}

fn fits(
    members: &Map<String, Value>,
    name: &str,
    fits: fn(&Value) -> bool,
    what: &str,
) -> Result<(), String> {
    match members.get(name) {
        Some(value) if !fits(value) => Err(format!("`{name}` must be {what}")),
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
    let named = |error| format!("of `annotations` {error}");
    fits(members, "audience", are_roles, roles).map_err(named)?;
    fits(members, "priority", is_share, "a number from 0 to 1").map_err(named)?;
    fits(members, "lastModified", Value::is_string, "a string").map_err(named)
}

/// Whether nobody has to look into these blocks: each is complete, and what it has beside is right.
pub(super) fn are_plain(content: &str) -> bool {
    let blocks = serde_json::from_str::<Vec<Object<Block<'_>>>>(content);
    blocks.is_ok_and(|blocks| blocks.iter().all(|block| block.0.is_plain()))
}

/// What stands there as an object. The fields of a structure could be the items of an array, too.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = T;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(members))
            }
        }
        value.deserialize_map(Members(PhantomData)).map(Self)
    }
}

/// A block as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Block<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "member")]
    text: Member<'a>,
    #[serde(borrow, default, deserialize_with = "member")]
    data: Member<'a>,
    #[serde(borrow, default, deserialize_with = "member")]
    mime_type: Member<'a>,
    #[serde(borrow, default, deserialize_with = "member")]
    uri: Member<'a>,
    #[serde(borrow, default, deserialize_with = "member")]
    name: Member<'a>,
    #[serde(borrow, default, deserialize_with = "member")]
    annotations: Member<'a>,
    #[serde(borrow, default, rename = "_meta", deserialize_with = "member")]
    meta: Member<'a>,
    #[serde(borrow, default, deserialize_with = "member")]
    title: Member<'a>,
    #[serde(borrow, default, deserialize_with = "member")]
    description: Member<'a>,
    #[serde(borrow, default, deserialize_with = "member")]
    size: Member<'a>,
    #[serde(borrow, default, deserialize_with = "member")]
    icons: Member<'a>,
}

type Member<'a> = Option<&'a RawValue>;

/// What is null is there, too.
fn member<'de, D: Deserializer<'de>>(value: D) -> Result<Member<'de>, D::Error> {
    <&RawValue>::deserialize(value).map(Some)
}

impl Block<'_> {
    /// Embedded resources, and links that say more than where they lead, are for others to look at.
    fn is_plain(&self) -> bool {
        let begins = |value: Member<'_>, with| value.is_some_and(|it| it.get().starts_with(with));
        let is_text = |value| begins(value, '"');
        let is_complete = match self.r#type.as_ref() {
            "text" => is_text(self.text),
            "image" | "audio" => is_text(self.data) && is_text(self.mime_type),
            "resource_link" => is_text(self.uri) && is_text(self.name) && self.mime_type.is_none(),
            _ => false,
        };
        let beside = [self.title, self.description, self.size, self.icons];
        is_complete
            && beside.iter().all(Option::is_none)
            && (self.meta.is_none() || begins(self.meta, '{'))
            && self.annotations.is_none_or(are_right)
    }
}

/// Whether these annotations can go on as they are written.
fn are_right(annotations: &RawValue) -> bool {
    let read = serde_json::from_str::<Value>(annotations.get());
    read.is_ok_and(|read| check_annotations(&read).is_ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text_with(member: &str, value: Value) -> Value {
        let mut block = json!({ "type": "text", "text": "t" });
        block[member] = value;
        block
    }

    fn link_with(member: &str, value: Value) -> Value {
        let mut block = json!({ "type": "resource_link", "uri": "a:b", "name": "n" });
        block[member] = value;
        block
    }

    #[test]
    fn what_is_beside_the_content_of_a_block_is_of_the_right_kind() {
        let wrong = [
            (
                text_with("annotations", json!("high")),
                "`annotations` must be an object",
            ),
            (
                text_with("annotations", json!({ "audience": "user" })),
                "`audience` must be",
            ),
            (
                text_with("annotations", json!({ "audience": ["me"] })),
                "`audience` must be",
            ),
            (
                text_with("annotations", json!({ "priority": "1" })),
                "`priority` must be",
            ),
            (
                text_with("annotations", json!({ "priority": 2 })),
                "a number from 0 to 1",
            ),
            (
                text_with("annotations", json!({ "lastModified": 7 })),
                "`lastModified` must",
            ),
            (text_with("_meta", json!([])), "`_meta` must be an object"),
            (link_with("title", json!(1)), "`title` must be a string"),
            (
                link_with("mimeType", json!(1)),
                "`mimeType` must be a string",
            ),
            (
                link_with("size", json!(1.5)),
                "`size` must be a whole number",
            ),
            (link_with("icons", json!({})), "`icons` must be an array"),
            (
                json!({ "type": "resource", "resource":
                { "uri": "a:b", "text": "t", "mimeType": 1 } }),
                "`mimeType` must be a string",
            ),
        ];
        for (block, why) in wrong {
            let content = json!([{ "type": "text", "text": "" }, block]);
            assert!(!are_plain(&content.to_string()), "{content}");
            let error = checked(content).unwrap_err();
            assert!(error.contains(why) && error.contains("block 1"), "{error}");
        }
    }

    #[test]
    fn what_is_right_stays_and_what_is_null_goes() {
        let annotations =
            json!({ "audience": ["user"], "priority": 0.5, "lastModified": "2026-01-01" });
        for right in [
            text_with("annotations", annotations.clone()),
            text_with("_meta", json!({ "a": null })),
            text_with("title", json!(7)),
            link_with("icons", json!([{ "src": "a.png" }])),
            link_with("size", json!(7)),
        ] {
            assert_eq!(checked(json!([right])), Ok(vec![right]));
        }
        assert!(are_plain(
            &json!([text_with("annotations", annotations)]).to_string()
        ));
        for member in OPTIONAL {
            let content = json!([link_with(member, Value::Null)]);
            assert!(!are_plain(&content.to_string()), "{member}");
            let bare = json!({ "type": "resource_link", "uri": "a:b", "name": "n" });
            assert_eq!(checked(content), Ok(vec![bare]), "{member}");
        }
        let half = text_with("annotations", json!({ "audience": null, "priority": 1 }));
        assert!(!are_plain(&json!([half]).to_string()));
        let mended = text_with("annotations", json!({ "priority": 1 }));
        assert_eq!(checked(json!([half])), Ok(vec![mended]));
    }
}
