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
mod tests;
