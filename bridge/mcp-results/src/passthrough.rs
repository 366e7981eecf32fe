//! A page's answer that is forwarded as JSON text, without parsing it.
//!
//! The first byte of the text determines its type, and one pass over the text ([`JsonTraits`])
//! determines whether it has to be parsed or compacted. Numbers are therefore forwarded as the page
//! wrote them, including those outside the range of `f64`, and duplicate keys of an object are
//! preserved.

use std::borrow::Cow;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::built_result::BuiltResult;
use crate::content_blocks::can_pass_through;
use crate::repeated_media::without_media;
use crate::segments::{EncodedBody, Segments};
use bridge_protocol::event_data;
use bridge_raw_json::escape::escape_string;
use bridge_raw_json::inspection::{JsonTraits, compact};
use bridge_raw_json::{JsonSlice, RawJson};

/// The content of a result as JSON text.
#[derive(Clone, Debug)]
pub enum PassthroughResult {
    /// A JSON string: the text of the only block.
    Text(RawJson),
    /// Any other JSON value: its JSON is the text of the only block.
    Json {
        value: RawJson,
        /// Whether the value is an object, which is also the structured content.
        is_object: bool,
    },
    /// Valid content blocks.
    Blocks(ContentParts),
}

/// Content blocks, with the structured content and `_meta` of the same answer.
#[derive(Clone, Debug)]
pub struct ContentParts {
    pub content: Box<RawValue>,
    pub structured: Option<Box<RawValue>>,
    pub meta: Option<Box<RawValue>>,
}

/// The JSON before and after the text of an only block.
const TEXT_BLOCK_AFFIXES: [&str; 2] = ["\"content\":[{\"type\":\"text\",\"text\":", "}]"];
const CONTENT_KEY: &str = "\"content\":";
const STRUCTURED_KEY: &str = ",\"structuredContent\":";
const META_KEY: &str = ",\"_meta\":";

/// Results up to this size are copied into one buffer: one system call per segment costs more.
const MAX_COPIED_BYTES: usize = 256 * 1024;

/// Capacity reserved for what callers append after the members. Without it, appending would
/// reallocate and copy a large result.
const TAIL_RESERVE_BYTES: usize = 64;

impl PassthroughResult {
    /// Wraps the value that a handler returned, or returns it if it has to be parsed.
    pub fn try_from_json(value: RawJson) -> Result<Self, RawJson> {
        let value = match value {
            RawJson::Owned(raw) => {
                let (raw, traits) = compact_and_scan(raw);
                if traits.too_deep || traits.needs_parsing {
                    return Err(raw.into());
                }
                RawJson::Owned(raw)
            }
            // Its traits were checked when the message was decoded.
            slice @ RawJson::Borrowed(_) => slice,
        };
        let first = value.get().as_bytes().first();
        if first == Some(&b'"') {
            return Ok(Self::Text(value));
        }
        let is_object = first == Some(&b'{');
        if is_object && let Some(text) = without_media(value.get()) {
            return Self::with_text(value, &text);
        }
        Ok(Self::Json { value, is_object })
    }

    /// Wraps an object whose text is another one than its JSON.
    fn with_text(value: RawJson, text: &str) -> Result<Self, RawJson> {
        let [before, after] = TEXT_BLOCK_AFFIXES;
        let mut content = Vec::with_capacity(2 * text.len());
        content.extend_from_slice(&before.as_bytes()[CONTENT_KEY.len()..]);
        escape_string(text, &mut content);
        content.extend_from_slice(after.as_bytes());
        let content = String::from_utf8(content).ok();
        let content = content.and_then(|content| RawValue::from_string(content).ok());
        match (content, value.to_raw_value()) {
            (Some(content), Some(structured)) => Ok(Self::Blocks(ContentParts {
                content,
                structured: Some(structured),
                meta: None,
            })),
            _ => Err(value),
        }
    }

    /// Wraps the content blocks that a handler returned, or returns them if they have to be parsed,
    /// which includes all invalid ones.
    pub fn try_from_content(parts: ContentParts) -> Result<Self, ContentParts> {
        let is_object = |value: &Option<Box<RawValue>>| {
            let mut value = value.iter();
            value.all(|value| value.get().starts_with('{'))
        };
        let are_plain = can_pass_through(parts.content.get());
        if !are_plain || !is_object(&parts.structured) || !is_object(&parts.meta) {
            return Err(parts);
        }
        let mut too_deep = false;
        let mut scan = |value| {
            let (value, traits) = compact_and_scan(value);
            too_deep |= traits.too_deep;
            value
        };
        let parts = ContentParts {
            content: scan(parts.content),
            structured: parts.structured.map(&mut scan),
            meta: parts.meta.map(&mut scan),
        };
        if too_deep {
            Err(parts)
        } else {
            Ok(Self::Blocks(parts))
        }
    }

    /// The structured content as JSON.
    pub fn structured(&self) -> Option<&str> {
        match self {
            PassthroughResult::Json {
                value,
                is_object: true,
            } => Some(value.get()),
            PassthroughResult::Blocks(parts) => parts.structured.as_deref().map(RawValue::get),
            _ => None,
        }
    }

    /// The value, if it is a slice of the page's message. All operations on such a result are fast.
    pub fn borrowed(&self) -> Option<&JsonSlice> {
        match self {
            PassthroughResult::Text(RawJson::Borrowed(slice)) => Some(slice),
            PassthroughResult::Json {
                value: RawJson::Borrowed(slice),
                ..
            } => Some(slice),
            _ => None,
        }
    }

    fn meta(&self) -> Option<&str> {
        match self {
            PassthroughResult::Blocks(parts) => parts.meta.as_deref().map(RawValue::get),
            _ => None,
        }
    }

    /// The text of the only block; `None` for [`Self::Blocks`].
    pub fn single_text(&self) -> Option<Cow<'_, str>> {
        match self {
            PassthroughResult::Text(text) => serde_json::from_str(text.get()).ok().map(Cow::Owned),
            PassthroughResult::Json { value, .. } => Some(Cow::Borrowed(value.get())),
            PassthroughResult::Blocks(_) => None,
        }
    }

    /// Writes the members of the result object.
    pub fn write_members(&self, out: &mut Vec<u8>) {
        let [before, after] = TEXT_BLOCK_AFFIXES;
        match self {
            PassthroughResult::Text(text) => {
                out.reserve(self.encoded_len() + TAIL_RESERVE_BYTES);
                out.extend_from_slice(before.as_bytes());
                out.extend_from_slice(text.get().as_bytes());
                out.extend_from_slice(after.as_bytes());
            }
            PassthroughResult::Json { value, .. } => {
                // An upper bound: reserved memory that is never written to costs nothing.
                out.reserve(self.max_encoded_len());
                out.extend_from_slice(before.as_bytes());
                escape_string(value.get(), out);
                out.extend_from_slice(after.as_bytes());
            }
            PassthroughResult::Blocks(parts) => {
                out.reserve(self.encoded_len() + TAIL_RESERVE_BYTES);
                out.extend_from_slice(CONTENT_KEY.as_bytes());
                out.extend_from_slice(parts.content.get().as_bytes());
            }
        }
        if let Some(structured) = self.structured() {
            out.extend_from_slice(STRUCTURED_KEY.as_bytes());
            out.extend_from_slice(structured.as_bytes());
        }
        if let Some(meta) = self.meta() {
            out.extend_from_slice(META_KEY.as_bytes());
            out.extend_from_slice(meta.as_bytes());
        }
    }

    /// The members of the result object between `head` and `tail`. A large value that is a slice of
    /// the page's message is sent from there instead of being copied.
    pub fn encode_body(&self, mut head: Vec<u8>, tail: &'static [u8]) -> EncodedBody {
        let slice = self
            .borrowed()
            .filter(|_| self.encoded_len() > MAX_COPIED_BYTES);
        let Some(slice) = slice else {
            self.write_members(&mut head);
            head.extend_from_slice(tail);
            return EncodedBody::Buffer(head);
        };
        let [before, after] = TEXT_BLOCK_AFFIXES;
        head.extend_from_slice(before.as_bytes());
        let mut segments = Segments::default();
        match self {
            PassthroughResult::Text(_) => {
                segments.push(head.into());
                segments.push(slice.bytes());
            }
            _ => {
                head.push(b'"');
                segments.push(head.into());
                segments.push_escaped(slice);
                segments.push(Bytes::from_static(b"\""));
            }
        }
        segments.push(Bytes::from_static(after.as_bytes()));
        if self.structured().is_some() {
            segments.push(Bytes::from_static(STRUCTURED_KEY.as_bytes()));
            segments.push(slice.bytes());
        }
        segments.push(Bytes::from_static(tail));
        EncodedBody::Segments(segments)
    }

    /// The encoded size of the result object in bytes.
    pub fn encoded_len(&self) -> usize {
        self.encoded_len_with(|json| 2 + json.len() + count_escapes(json))
    }

    /// An upper bound of [`Self::encoded_len`], computed without reading the text.
    pub fn max_encoded_len(&self) -> usize {
        self.encoded_len_with(|json| 2 + 2 * json.len())
    }

    /// The number of bytes that escaped line separators add in an event of a stream.
    pub fn separator_escape_bytes(&self) -> usize {
        let content = match self {
            PassthroughResult::Text(value) | PassthroughResult::Json { value, .. } => value.get(),
            PassthroughResult::Blocks(parts) => parts.content.get(),
        };
        let texts = [Some(content), self.structured(), self.meta()];
        let texts = texts.into_iter().flatten();
        texts
            .map(|text| event_data::added_bytes(text.as_bytes()))
            .sum()
    }

    /// The encoded size, given a function that returns the length of JSON text as a JSON string.
    fn encoded_len_with(&self, escaped_len: impl Fn(&str) -> usize) -> usize {
        let quoted_len = |value: &RawJson| match value {
            RawJson::Owned(raw) => escaped_len(raw.get()),
            RawJson::Borrowed(slice) => slice.quoted_len(),
        };
        let around =
            |text: &str| text.len() + TEXT_BLOCK_AFFIXES[0].len() + TEXT_BLOCK_AFFIXES[1].len();
        let member =
            |name: &str, value: Option<&str>| value.map_or(0, |value| name.len() + value.len());
        let content = match self {
            PassthroughResult::Text(text) => around(text.get()),
            PassthroughResult::Json { value, .. } => around("") + quoted_len(value),
            PassthroughResult::Blocks(parts) => CONTENT_KEY.len() + parts.content.get().len(),
        };
        let structured = member(STRUCTURED_KEY, self.structured());
        "{}".len() + content + structured + member(META_KEY, self.meta())
    }

    /// Parses the text into values.
    pub fn parse(&self) -> Result<BuiltResult, serde_json::Error> {
        Ok(match self {
            PassthroughResult::Text(text) => BuiltResult::text(serde_json::from_str(text.get())?),
            PassthroughResult::Json { value, is_object } => BuiltResult {
                structured: parse_optional(is_object.then(|| value.get()))?,
                text_mirrors_structured: *is_object,
                ..BuiltResult::text(value.get().to_owned())
            },
            PassthroughResult::Blocks(parts) => BuiltResult {
                content: serde_json::from_str(parts.content.get())?,
                structured: parse_optional(self.structured())?,
                meta: parse_optional(self.meta())?,
                ..BuiltResult::default()
            },
        })
    }
}

fn parse_optional<T: DeserializeOwned>(json: Option<&str>) -> serde_json::Result<Option<T>> {
    json.map(serde_json::from_str).transpose()
}

impl Serialize for PassthroughResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct TextBlock<'a, T: ?Sized> {
            r#type: &'a str,
            text: &'a T,
        }
        let r#type = "text";
        let mut map = serializer.serialize_map(None)?;
        match self {
            PassthroughResult::Text(text) => {
                map.serialize_entry("content", &[TextBlock { r#type, text }])?
            }
            PassthroughResult::Json { value, .. } => {
                let text = value.get();
                map.serialize_entry("content", &[TextBlock { r#type, text }])?;
            }
            PassthroughResult::Blocks(parts) => map.serialize_entry("content", &parts.content)?,
        }
        match self {
            PassthroughResult::Json {
                value,
                is_object: true,
            } => map.serialize_entry("structuredContent", value)?,
            PassthroughResult::Blocks(parts) => {
                if let Some(structured) = &parts.structured {
                    map.serialize_entry("structuredContent", structured)?;
                }
                if let Some(meta) = &parts.meta {
                    map.serialize_entry("_meta", meta)?;
                }
            }
            PassthroughResult::Text(_) | PassthroughResult::Json { .. } => {}
        }
        map.end()
    }
}

/// Removes whitespace as `JSON.stringify` does, and scans the traits of the result.
fn compact_and_scan(value: Box<RawValue>) -> (Box<RawValue>, JsonTraits) {
    let traits = JsonTraits::scan(value.get());
    if !traits.needs_compacting {
        return (value, traits);
    }
    let compacted =
        compact(value.get()).and_then(|compacted| RawValue::from_string(compacted).ok());
    match compacted {
        Some(compacted) => {
            let traits = JsonTraits::scan(compacted.get());
            (compacted, traits)
        }
        // Parsing it later reports what is wrong.
        None => (
            value,
            JsonTraits {
                too_deep: true,
                ..traits
            },
        ),
    }
}

/// The number of characters that are escaped in text without control characters.
fn count_escapes(json: &str) -> usize {
    // Chunks of 128 bytes are counted in a `u8`, which the compiler vectorizes.
    let count = |bytes: &[u8]| {
        let quoted = bytes
            .iter()
            .map(|byte| u8::from(matches!(byte, b'"' | b'\\')));
        usize::from(quoted.sum::<u8>())
    };
    json.as_bytes().chunks(128).map(count).sum()
}

#[cfg(test)]
mod tests;
