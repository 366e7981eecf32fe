//! Validation of content against MCP's schema: the blocks of tool results and of prompt messages, and
//! the contents of resources. A strict client rejects the whole result for one member of the wrong
//! type. What has a certain meaning is repaired, such as a data URL in place of base64; anything
//! else is an error for the page, with the same message on every transport.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use bridge_realm::definition::check_uri;
use bridge_realm::definition::mcp_fields::{
    CONTENT_BLOCK, RESOURCE, RESOURCE_CONTENTS, are_fields_valid, repair_fields,
};

use crate::base64_text;

/// The blocks after repairs, or what is wrong with them.
pub fn validate_blocks(content: Value) -> Result<Vec<Value>, String> {
    let Value::Array(mut blocks) = content else {
        return Err("`content` must be an array of content blocks".to_owned());
    };
    for (index, block) in blocks.iter_mut().enumerate() {
        repair_block(block).map_err(|error| format!("content block {index} {error}"))?;
    }
    Ok(blocks)
}

/// Validates the messages of a prompt. They stay as they are but for repairs.
pub(crate) fn repair_messages(messages: &mut [Value]) -> Result<(), String> {
    for (index, message) in messages.iter_mut().enumerate() {
        let has_role = message["role"] == "user" || message["role"] == "assistant";
        let content = message.get_mut("content").filter(|_| has_role);
        let repaired = match content {
            Some(content) => repair_block(content).map_err(|error| format!("'s content {error}")),
            None => Err(" needs a `role` (user or assistant) and a `content`".to_owned()),
        };
        repaired.map_err(|error| format!("message {index}{error}"))?;
    }
    Ok(())
}

/// Validates the contents of the resource with this URI. They stay as they are but for repairs.
pub(crate) fn repair_contents(contents: &mut [Value], uri: &str) -> Result<(), String> {
    for (index, content) in contents.iter_mut().enumerate() {
        let repaired = match content {
            Value::Object(content) => {
                if content.get("uri").is_none_or(Value::is_null) {
                    content.insert("uri".to_owned(), json!(uri));
                }
                // The client has sent this URI, and therefore can parse it.
                let is_requested = content["uri"] == uri;
                let checked = if is_requested {
                    Ok(())
                } else {
                    repair_uri(content)
                };
                checked.and_then(|()| repair_content(content))
            }
            _ => Err("must be an object".to_owned()),
        };
        repaired.map_err(|error| format!("content {index} {error}"))?;
    }
    Ok(())
}

fn repair_block(block: &mut Value) -> Result<(), String> {
    let kind = block["type"].as_str().map(str::to_owned);
    let (Some(kind), Value::Object(members)) = (kind, block) else {
        return Err(NO_TYPE.to_owned());
    };
    let mut table = CONTENT_BLOCK;
    match kind.as_str() {
        "text" => check_text(members, "text")?,
        "image" | "audio" => repair_media(&kind, members)?,
        "resource_link" => {
            repair_link(members)?;
            table = RESOURCE;
        }
        "resource" => match members.get_mut("resource") {
            Some(Value::Object(content)) => repair_uri(content)
                .and_then(|()| repair_content(content))
                .map_err(|error| format!("has a `resource` that {error}"))?,
            _ => return Err("needs an object at `resource`".to_owned()),
        },
        _ => return Err(NO_TYPE.to_owned()),
    }
    repair_fields(members, table).map_err(|error| format!("cannot be passed on: {error}"))
}

const NO_TYPE: &str =
    "has no known `type`: there are text, image, audio, resource and resource_link";

fn check_text(members: &Map<String, Value>, name: &str) -> Result<(), String> {
    match members.get(name) {
        Some(Value::String(_)) => Ok(()),
        _ => Err(format!("needs a string at `{name}`")),
    }
}

/// Repairs the data and the type of a picture or a sound. A type of another kind, such as the one
/// that browsers write for bytes of an unknown type, stays only if no other is known.
fn repair_media(kind: &str, members: &mut Map<String, Value>) -> Result<(), String> {
    check_text(members, "data")?;
    let url_type = repair_binary(members, "data")?;
    let data = members["data"].as_str().unwrap_or_default();
    if data.is_empty() {
        return Err("has no `data`".to_owned());
    }
    let fits = |mime_type: &&str| is_of_kind(mime_type, kind);
    let url_type = url_type.as_deref();
    let own_type = members.get("mimeType").and_then(Value::as_str);
    let mime_type = url_type
        .filter(fits)
        .or(own_type.filter(fits))
        .or(base64_text::picture_type(data).filter(fits))
        .or(own_type)
        .or(url_type);
    if let Some(mime_type) = mime_type.map(Value::from) {
        members.insert("mimeType".to_owned(), mime_type);
    }
    check_text(members, "mimeType")
}

/// Whether a media type is of a kind: `image/png` is an `image`.
fn is_of_kind(mime_type: &str, kind: &str) -> bool {
    let parts = mime_type.split_once('/');
    parts.is_some_and(|(own, _)| own.eq_ignore_ascii_case(kind))
}

/// Rewrites a member with binary data to standard base64. Returns the type in a data URL: it comes
/// from the browser, and is therefore more certain than the one beside it. A canvas that does not
/// support the requested type writes PNG.
fn repair_binary(members: &mut Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    let Some(Value::String(text)) = members.get(name) else {
        return Ok(None);
    };
    let parsed = base64_text::parse(text)
        .map_err(|error| format!("has a `{name}` that is not base64: {error}"))?;
    let mime_type = parsed.mime_type.map(str::to_owned);
    if let Cow::Owned(data) = parsed.data {
        members[name] = Value::String(data);
    }
    Ok(mime_type)
}

/// Repairs a link. Its name is a label, for which its title or its URI serves as well.
fn repair_link(members: &mut Map<String, Value>) -> Result<(), String> {
    repair_uri(members)?;
    if members.get("name").is_none_or(Value::is_null) {
        let title = members.get("title").filter(|title| title.is_string());
        let name = title.unwrap_or(&members["uri"]).clone();
        members.insert("name".to_owned(), name);
    }
    check_text(members, "name")
}

fn repair_content(content: &mut Map<String, Value>) -> Result<(), String> {
    if let Some(mime_type) = repair_binary(content, "blob")?
        && !mime_type.eq_ignore_ascii_case("application/octet-stream")
    {
        content.insert("mimeType".to_owned(), Value::String(mime_type));
    }
    repair_fields(content, RESOURCE_CONTENTS)
        .map_err(|error| format!("cannot be passed on: {error}"))?;
    if content.contains_key("text") || content.contains_key("blob") {
        return Ok(());
    }
    Err("needs a string at `text`, or base64 at `blob`".to_owned())
}

/// Validates a URI. A blank is written as browsers do: a path such as `file:///My Documents`.
fn repair_uri(members: &mut Map<String, Value>) -> Result<(), String> {
    check_text(members, "uri")?;
    if let Some(Value::String(uri)) = members.get_mut("uri")
        && uri.contains(' ')
    {
        *uri = uri.trim().replace(' ', "%20");
    }
    let uri = members["uri"].as_str().unwrap_or_default();
    check_uri(uri).map_err(|error| format!("has a `uri` that cannot be passed on: {error}"))
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
        let is_data = |data: &str| !data.is_empty() && base64_text::is_base64(data.as_bytes());
        let is_uri = |uri: &str| check_uri(uri).is_ok();
        let is_complete = match self.r#type.as_ref() {
            "text" => is_text(self.text),
            kind @ ("image" | "audio") => {
                let is_type = |mime_type: &str| is_of_kind(mime_type, kind);
                plain_text(self.data).is_some_and(is_data)
                    && plain_text(self.mime_type).is_some_and(is_type)
            }
            "resource_link" => {
                plain_text(self.uri).is_some_and(is_uri)
                    && is_text(self.name)
                    && self.mime_type.is_none()
            }
            _ => false,
        };
        let optional = [self.title, self.description, self.size, self.icons];
        is_complete
            && optional.iter().all(Option::is_none)
            && (self.meta.is_none() || begins(self.meta, '{'))
            && self.annotations.is_none_or(are_valid_annotations)
    }
}

/// The text of a string, if it has no escapes. Neither base64 nor a URI needs any.
fn plain_text(value: RawMember<'_>) -> Option<&str> {
    let text = value?.get().strip_prefix('"')?.strip_suffix('"')?;
    (!text.contains('\\')).then_some(text)
}

/// Whether annotations can be forwarded as they are written.
fn are_valid_annotations(annotations: &RawValue) -> bool {
    let parsed = serde_json::from_str::<Value>(annotations.get());
    parsed.is_ok_and(|annotations| {
        let block = Map::from_iter([("annotations".to_owned(), annotations)]);
        are_fields_valid(&block, CONTENT_BLOCK)
    })
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

    fn image_block_with(member: &str, value: Value) -> Value {
        let mut block = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
        block[member] = value;
        block
    }

    fn resource_block(resource: Value) -> Value {
        json!({ "type": "resource", "resource": resource })
    }

    fn link_block_with(member: &str, value: Value) -> Value {
        let mut block = json!({ "type": "resource_link", "uri": "a:b", "name": "n" });
        block[member] = value;
        block
    }

    #[test]
    fn content_without_a_certain_meaning_is_rejected() {
        let wrong = [
            (json!(7), "no known `type`"),
            (json!({ "type": "picture" }), "no known `type`"),
            (json!({ "type": "text", "text": 7 }), "a string at `text`"),
            (
                text_block_with("annotations", json!("high")),
                "`annotations` must be an object",
            ),
            (
                text_block_with("annotations", json!({ "audience": "user" })),
                "`annotations.audience`",
            ),
            (
                text_block_with("annotations", json!({ "audience": ["me"] })),
                "`annotations.audience`",
            ),
            (
                text_block_with("annotations", json!({ "priority": "1" })),
                "a number from 0 to 1",
            ),
            (
                text_block_with("annotations", json!({ "lastModified": 7 })),
                "`annotations.lastModified`",
            ),
            (
                text_block_with("annotations", json!({ "lastModified": "yesterday" })),
                "toISOString()",
            ),
            (
                text_block_with("_meta", json!([])),
                "`_meta` must be an object",
            ),
            (image_block_with("data", json!("%%%")), "not base64: '%'"),
            (image_block_with("data", json!("")), "has no `data`"),
            (
                image_block_with("data", json!([137, 80])),
                "a string at `data`",
            ),
            (
                image_block_with("data", json!("data:image/svg+xml,<svg/>")),
                "without base64",
            ),
            (
                image_block_with("mimeType", json!(7)),
                "a string at `mimeType`",
            ),
            (
                json!({ "type": "image", "data": "AAAA" }),
                "a string at `mimeType`",
            ),
            (
                json!({ "type": "audio", "data": "AAAA" }),
                "a string at `mimeType`",
            ),
            (link_block_with("uri", json!("cards/1")), "not a URI"),
            (
                link_block_with("uri", json!("board://a:b")),
                "host and port",
            ),
            (link_block_with("name", json!(7)), "a string at `name`"),
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
                resource_block(json!({ "uri": "a:b", "text": "t", "mimeType": 1 })),
                "`mimeType`",
            ),
            (
                resource_block(json!({ "uri": "a:b", "blob": "%%%" })),
                "not base64",
            ),
            (
                resource_block(json!({ "uri": "a:b", "blob": 7 })),
                "`blob` must be a string",
            ),
            (
                resource_block(json!({ "uri": "a:b" })),
                "a string at `text`, or base64",
            ),
            (
                resource_block(json!({ "uri": "", "text": "" })),
                "not a URI",
            ),
            (resource_block(json!([])), "an object at `resource`"),
        ];
        for (block, why) in wrong {
            let content = json!([{ "type": "text", "text": "" }, block]);
            assert!(!can_pass_through(&content.to_string()), "{content}");
            let error = validate_blocks(content.clone()).unwrap_err();
            assert!(
                error.contains(why) && error.contains("block 1"),
                "{content}: {error}"
            );
            let mut messages = [json!({ "role": "user", "content": block })];
            let error = repair_messages(&mut messages).unwrap_err();
            assert!(
                error.contains(why) && error.contains("message 0"),
                "{error}"
            );
            if let Some(resource) = block.get("resource").filter(|it| it.is_object()) {
                let error = repair_contents(&mut [resource.clone()], "x:y").unwrap_err();
                assert!(
                    error.contains(why) && error.contains("content 0"),
                    "{error}"
                );
            }
        }
    }

    #[test]
    fn content_with_a_certain_meaning_is_repaired() {
        let png = "iVBORw0KGgoAAAAN";
        for (block, repaired) in [
            (
                image_block_with("data", json!("data:image/webp;base64,AA-_")),
                json!({ "type": "image", "data": "AA+/", "mimeType": "image/webp" }),
            ),
            (
                json!({ "type": "image", "data": format!("{png}\n") }),
                json!({ "type": "image", "data": png, "mimeType": "image/png" }),
            ),
            (
                image_block_with("data", json!("data:application/octet-stream;base64,AA==")),
                json!({ "type": "image", "data": "AA==", "mimeType": "image/png" }),
            ),
            (
                image_block_with("data", json!("data:;base64,AA==")),
                json!({ "type": "image", "data": "AA==", "mimeType": "image/png" }),
            ),
            (
                json!({ "type": "image",
                    "data": format!("data:application/octet-stream;base64,{png}") }),
                json!({ "type": "image", "data": png, "mimeType": "image/png" }),
            ),
            (
                resource_block(json!({ "uri": "a:b", "mimeType": "application/pdf",
                    "blob": "data:application/octet-stream;base64,AA" })),
                resource_block(json!({ "uri": "a:b", "mimeType": "application/pdf",
                    "blob": "AA==" })),
            ),
            (
                link_block_with("uri", json!("file:///home/ada/My Documents/a b.txt ")),
                json!({ "type": "resource_link", "name": "n",
                    "uri": "file:///home/ada/My%20Documents/a%20b.txt" }),
            ),
            (
                resource_block(json!({ "uri": "board:My cards", "text": "t" })),
                resource_block(json!({ "uri": "board:My%20cards", "text": "t" })),
            ),
            (
                json!({ "type": "audio", "data": "data:audio/wav;base64,AAA" }),
                json!({ "type": "audio", "data": "AAA=", "mimeType": "audio/wav" }),
            ),
            (
                json!({ "type": "image", "data": "data:IMAGE/PNG;base64,AA==" }),
                json!({ "type": "image", "data": "AA==", "mimeType": "IMAGE/PNG" }),
            ),
            // A type of another kind is better than none.
            (
                json!({ "type": "audio", "data": "data:video/webm;base64,AA==" }),
                json!({ "type": "audio", "data": "AA==", "mimeType": "video/webm" }),
            ),
            (
                json!({ "type": "audio", "data": "data:;base64,AA==", "mimeType": "application/ogg" }),
                json!({ "type": "audio", "data": "AA==", "mimeType": "application/ogg" }),
            ),
            (
                json!({ "type": "image", "data": png, "mimeType": "application/octet-stream" }),
                json!({ "type": "image", "data": png, "mimeType": "image/png" }),
            ),
            (
                resource_block(json!({ "uri": "a:b", "text": null, "blob": "data:a/b;base64,AA" })),
                resource_block(json!({ "uri": "a:b", "blob": "AA==", "mimeType": "a/b" })),
            ),
            (
                json!({ "type": "resource_link", "uri": "a:b", "title": "B" }),
                json!({ "type": "resource_link", "uri": "a:b", "title": "B", "name": "B" }),
            ),
            (
                json!({ "type": "resource_link", "uri": "a:b", "name": null }),
                json!({ "type": "resource_link", "uri": "a:b", "name": "a:b" }),
            ),
            (
                text_block_with(
                    "annotations",
                    json!({ "priority": 2, "lastModified": "2026-01-31" }),
                ),
                text_block_with(
                    "annotations",
                    json!({ "priority": 1, "lastModified": "2026-01-31T00:00:00Z" }),
                ),
            ),
        ] {
            assert!(!can_pass_through(&json!([block]).to_string()), "{block}");
            assert_eq!(validate_blocks(json!([block])), Ok(vec![repaired.clone()]));
            assert_eq!(validate_blocks(json!([repaired])), Ok(vec![repaired]));
        }
    }

    #[test]
    fn contents_have_the_uri_of_the_request_unless_they_have_another() {
        let requested = "board://cards:today";
        let mut contents = [
            json!({ "text": "t" }),
            json!({ "uri": null, "blob": "AA" }),
            json!({ "uri": requested, "text": "t" }),
            json!({ "uri": "a:b", "text": "t" }),
        ];
        repair_contents(&mut contents, requested).unwrap();
        let uris: Vec<_> = contents.iter().map(|content| &content["uri"]).collect();
        assert_eq!(uris, [requested, requested, requested, "a:b"]);
        assert_eq!(contents[1]["blob"], "AA==");
    }

    #[test]
    fn valid_members_stay_and_null_members_are_removed() {
        let annotations = json!({ "audience": ["user"], "priority": 0.5, "lastModified": "2026-01-01T00:00:00Z" });
        for right in [
            text_block_with("annotations", annotations.clone()),
            text_block_with("_meta", json!({ "a": null })),
            text_block_with("title", json!(7)),
            link_block_with("icons", json!([{ "src": "a.png" }])),
            link_block_with("size", json!(7)),
            image_block_with("data", json!("+/A=")),
        ] {
            assert_eq!(validate_blocks(json!([right])), Ok(vec![right]));
        }
        assert!(can_pass_through(
            &json!([
                text_block_with("annotations", annotations),
                image_block_with("data", json!("+/A="))
            ])
            .to_string()
        ));
        for member in [
            "annotations",
            "_meta",
            "title",
            "description",
            "mimeType",
            "size",
            "icons",
        ] {
            let content = json!([link_block_with(member, Value::Null)]);
            assert!(!can_pass_through(&content.to_string()), "{member}");
            let bare = json!({ "type": "resource_link", "uri": "a:b", "name": "n" });
            assert_eq!(validate_blocks(content), Ok(vec![bare]), "{member}");
        }
        let half = text_block_with("annotations", json!({ "audience": null, "priority": 1 }));
        assert!(!can_pass_through(&json!([half]).to_string()));
        let repaired = text_block_with("annotations", json!({ "priority": 1 }));
        assert_eq!(validate_blocks(json!([half])), Ok(vec![repaired]));
    }
}
