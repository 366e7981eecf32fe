//! A page's answer as the text that came, where nobody has to look inside.
//!
//! No value is made of it: its first byte says what it is, and one pass over the text ([`JsonTraits`])
//! whether anything in it must be lifted or mended. So numbers go on as the page wrote them, those
//! beyond f64 too, and a name that stands twice in an object stands there twice.

use std::borrow::Cow;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::results::built_result::BuiltResult;
use crate::results::content_blocks::can_pass_through;
use crate::results::segments::{EncodedBody, Segments};
use bridge_json::escape::escape_string;
use bridge_json::inspection::{JsonTraits, compact};
use bridge_json::{JsonSlice, RawJson};

/// The content of a result, not read.
#[derive(Clone, Debug)]
pub(crate) enum PassthroughResult {
    /// A string is the text of the only block as it is written.
    Text(RawJson),
    /// Any other value: its text is the text of the only block.
    Json {
        value: RawJson,
        /// An object is structured content, too.
        is_object: bool,
    },
    /// Content blocks that are as they must be.
    Blocks(ContentParts),
}

/// Content blocks, and what a page parts beside them.
#[derive(Clone, Debug)]
pub(crate) struct ContentParts {
    pub(super) content: Box<RawValue>,
    pub(super) structured: Option<Box<RawValue>>,
    pub(super) meta: Option<Box<RawValue>>,
}

/// What is around the text of an only block.
const TEXT_BLOCK_AFFIXES: [&str; 2] = ["\"content\":[{\"type\":\"text\",\"text\":", "}]"];
const CONTENT_KEY: &str = "\"content\":";
const STRUCTURED_KEY: &str = ",\"structuredContent\":";
const META_KEY: &str = ",\"_meta\":";

/// A result that has no more bytes is copied: one call of the kernel for each piece costs more.
const MAX_COPIED_BYTES: usize = 256 * 1024;

/// Room for what others write behind the members: a large result would be copied for it.
const TAIL_RESERVE_BYTES: usize = 64;

impl PassthroughResult {
    /// From a value that a handler returned, which comes back when somebody has to look inside.
    pub(super) fn try_from_json(value: RawJson) -> Result<Self, RawJson> {
        let value = match value {
            RawJson::Owned(raw) => {
                let (raw, traits) = compact_and_scan(raw);
                if traits.too_deep || traits.needs_parsing {
                    return Err(raw.into());
                }
                RawJson::Owned(raw)
            }
            // It was looked at when it came.
            slice @ RawJson::Borrowed(_) => slice,
        };
        let first = value.get().as_bytes().first();
        if first == Some(&b'"') {
            return Ok(Self::Text(value));
        }
        let is_object = first == Some(&b'{');
        Ok(Self::Json { value, is_object })
    }

    /// From content blocks that a handler returned. They come back when somebody has to look inside,
    /// and be it to say what is wrong.
    pub(super) fn try_from_content(parts: ContentParts) -> Result<Self, ContentParts> {
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

    /// The text of the structured content.
    pub(super) fn structured(&self) -> Option<&str> {
        match self {
            PassthroughResult::Json {
                value,
                is_object: true,
            } => Some(value.get()),
            PassthroughResult::Blocks(parts) => parts.structured.as_deref().map(RawValue::get),
            _ => None,
        }
    }

    /// Its value, if that is where it came. Nothing of what is asked of such a result takes long.
    pub(super) fn borrowed(&self) -> Option<&JsonSlice> {
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

    /// The text of the only block, if there is but one.
    pub(super) fn single_text(&self) -> Option<Cow<'_, str>> {
        match self {
            // The text of a string is a string.
            PassthroughResult::Text(text) => serde_json::from_str(text.get()).ok().map(Cow::Owned),
            PassthroughResult::Json { value, .. } => Some(Cow::Borrowed(value.get())),
            PassthroughResult::Blocks(_) => None,
        }
    }

    /// Writes the members of the result object.
    pub(super) fn write_members(&self, out: &mut Vec<u8>) {
        let [before, after] = TEXT_BLOCK_AFFIXES;
        match self {
            PassthroughResult::Text(text) => {
                out.reserve(self.encoded_len() + TAIL_RESERVE_BYTES);
                out.extend_from_slice(before.as_bytes());
                out.extend_from_slice(text.get().as_bytes());
                out.extend_from_slice(after.as_bytes());
            }
            PassthroughResult::Json { value, .. } => {
                // What is not written to costs nothing.
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

    /// What stands around the members and the members, of which those that are long and lie where
    /// they came go from there.
    pub(super) fn encode_body(&self, mut head: Vec<u8>, tail: &'static [u8]) -> EncodedBody {
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

    /// How many bytes the result object has.
    pub(super) fn encoded_len(&self) -> usize {
        self.encoded_len_with(|json| 2 + json.len() + count_escapes(json))
    }

    /// How many bytes the result object has at most, without a look at the text.
    pub(super) fn max_encoded_len(&self) -> usize {
        self.encoded_len_with(|json| 2 + 2 * json.len())
    }

    /// `escaped`: how long a text of JSON is as a string.
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
    pub(super) fn parse(&self) -> Result<BuiltResult, serde_json::Error> {
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

/// The value as `JSON.stringify` writes it, and what there is in it.
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
        // Who makes values of it says what is wrong.
        None => (
            value,
            JsonTraits {
                too_deep: true,
                ..traits
            },
        ),
    }
}

/// How many characters of a text without control characters are escaped.
fn count_escapes(json: &str) -> usize {
    // So many that a byte counts them: processors add those up many at a time.
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
