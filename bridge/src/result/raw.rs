//! A page's answer as the text that came, where nobody has to look inside.
//!
//! No value is made of it: its first byte says what it is, and one pass over the text ([`Look`])
//! whether anything in it must be lifted or mended. So numbers go on as the page wrote them, those
//! beyond f64 too, and a name that stands twice in an object stands there twice.

use std::borrow::Cow;

use bytes::Bytes;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::ToolResult;
use super::blocks::are_plain;
use super::escape::escape_into;
use super::look::{Look, tight};
use super::written::{Pieces, Written};
use crate::json::{Json, Within};

/// The content of a result, not read.
#[derive(Clone, Debug)]
pub(super) enum Raw {
    /// A string is the text of the only block as it is written.
    Text(Json),
    /// Any other value: its text is the text of the only block.
    Json {
        value: Json,
        /// An object is structured content, too.
        structured: bool,
    },
    /// Content blocks that are as they must be.
    Blocks(Answered),
}

/// Content blocks, and what a page answered beside them.
#[derive(Clone, Debug)]
pub(super) struct Answered {
    pub(super) content: Box<RawValue>,
    pub(super) structured: Option<Box<RawValue>>,
    pub(super) meta: Option<Box<RawValue>>,
}

/// What is around the text of an only block.
const ONLY_BLOCK: [&str; 2] = ["\"content\":[{\"type\":\"text\",\"text\":", "}]"];
const CONTENT: &str = "\"content\":";
const STRUCTURED: &str = ",\"structuredContent\":";
const META: &str = ",\"_meta\":";

/// A result that has no more bytes is copied: one call of the kernel for each piece costs more.
const WHOLE_BYTES: usize = 256 * 1024;

/// Room for what others write behind the members: a large result would be copied for it.
const AFTER_BYTES: usize = 64;

impl Raw {
    /// From a value that a handler returned, which comes back when somebody has to look inside.
    pub(super) fn of_value(value: Json) -> Result<Self, Json> {
        let value = match value {
            Json::Own(raw) => {
                let (raw, look) = looked(raw);
                if look.deep || look.lifts {
                    return Err(raw.into());
                }
                Json::Own(raw)
            }
            // It was looked at when it came.
            within @ Json::Within(_) => within,
        };
        let first = value.get().as_bytes().first();
        let (is_text, structured) = (first == Some(&b'"'), first == Some(&b'{'));
        Ok(match is_text {
            true => Self::Text(value),
            false => Self::Json { value, structured },
        })
    }

    /// From content blocks that a handler returned. They come back when somebody has to look inside,
    /// and be it to say what is wrong.
    pub(super) fn of_blocks(answered: Answered) -> Result<Self, Answered> {
        let is_object = |value: &Option<Box<RawValue>>| {
            let mut value = value.iter();
            value.all(|value| value.get().starts_with('{'))
        };
        let are_plain = are_plain(answered.content.get());
        if !are_plain || !is_object(&answered.structured) || !is_object(&answered.meta) {
            return Err(answered);
        }
        let mut deep = false;
        let mut looked = |value| {
            let (value, look) = looked(value);
            deep |= look.deep;
            value
        };
        let answered = Answered {
            content: looked(answered.content),
            structured: answered.structured.map(&mut looked),
            meta: answered.meta.map(&mut looked),
        };
        match deep {
            true => Err(answered),
            false => Ok(Self::Blocks(answered)),
        }
    }

    /// The text of the structured content.
    pub(super) fn structured(&self) -> Option<&str> {
        match self {
            Raw::Json {
                value,
                structured: true,
            } => Some(value.get()),
            Raw::Blocks(answered) => answered.structured.as_deref().map(RawValue::get),
            _ => None,
        }
    }

    /// Its value, if that is where it came. Nothing of what is asked of such a result takes long.
    pub(super) fn within(&self) -> Option<&Within> {
        match self {
            Raw::Text(Json::Within(within)) => Some(within),
            Raw::Json {
                value: Json::Within(within),
                ..
            } => Some(within),
            _ => None,
        }
    }

    fn meta(&self) -> Option<&str> {
        match self {
            Raw::Blocks(answered) => answered.meta.as_deref().map(RawValue::get),
            _ => None,
        }
    }

    /// The text of the only block, if there is but one.
    pub(super) fn only_text(&self) -> Option<Cow<'_, str>> {
        match self {
            // The text of a string is a string.
            Raw::Text(text) => serde_json::from_str(text.get()).ok().map(Cow::Owned),
            Raw::Json { value, .. } => Some(Cow::Borrowed(value.get())),
            Raw::Blocks(_) => None,
        }
    }

    /// Writes the members of the result object.
    pub(super) fn write_members(&self, out: &mut Vec<u8>) {
        let [before, after] = ONLY_BLOCK;
        match self {
            Raw::Text(text) => {
                out.reserve(self.encoded() + AFTER_BYTES);
                out.extend_from_slice(before.as_bytes());
                out.extend_from_slice(text.get().as_bytes());
                out.extend_from_slice(after.as_bytes());
            }
            Raw::Json { value, .. } => {
                // What is not written to costs nothing.
                out.reserve(self.at_most());
                out.extend_from_slice(before.as_bytes());
                escape_into(value.get(), out);
                out.extend_from_slice(after.as_bytes());
            }
            Raw::Blocks(answered) => {
                out.reserve(self.encoded() + AFTER_BYTES);
                out.extend_from_slice(CONTENT.as_bytes());
                out.extend_from_slice(answered.content.get().as_bytes());
            }
        }
        if let Some(structured) = self.structured() {
            out.extend_from_slice(STRUCTURED.as_bytes());
            out.extend_from_slice(structured.as_bytes());
        }
        if let Some(meta) = self.meta() {
            out.extend_from_slice(META.as_bytes());
            out.extend_from_slice(meta.as_bytes());
        }
    }

    /// What stands around the members and the members, of which those that are long and lie where
    /// they came go from there.
    pub(super) fn written(&self, mut head: Vec<u8>, tail: &'static [u8]) -> Written {
        let within = self.within().filter(|_| self.encoded() > WHOLE_BYTES);
        let Some(within) = within else {
            self.write_members(&mut head);
            head.extend_from_slice(tail);
            return Written::Whole(head);
        };
        let [before, after] = ONLY_BLOCK;
        head.extend_from_slice(before.as_bytes());
        let mut pieces = Pieces::default();
        match self {
            Raw::Text(_) => {
                pieces.push(head.into());
                pieces.push(within.bytes());
            }
            _ => {
                head.push(b'"');
                pieces.push(head.into());
                pieces.push_escaped(within);
                pieces.push(Bytes::from_static(b"\""));
            }
        }
        pieces.push(Bytes::from_static(after.as_bytes()));
        if self.structured().is_some() {
            pieces.push(Bytes::from_static(STRUCTURED.as_bytes()));
            pieces.push(within.bytes());
        }
        pieces.push(Bytes::from_static(tail));
        Written::Pieces(pieces)
    }

    /// How many bytes the result object has.
    pub(super) fn encoded(&self) -> usize {
        self.with_text(|json| 2 + json.len() + quoted(json))
    }

    /// How many bytes the result object has at most, without a look at the text.
    pub(super) fn at_most(&self) -> usize {
        self.with_text(|json| 2 + 2 * json.len())
    }

    /// `escaped`: how long a text of JSON is as a string.
    fn with_text(&self, escaped: impl Fn(&str) -> usize) -> usize {
        let quoted = |value: &Json| match value {
            Json::Own(raw) => escaped(raw.get()),
            Json::Within(within) => within.quoted_len(),
        };
        let around = |text: &str| text.len() + ONLY_BLOCK[0].len() + ONLY_BLOCK[1].len();
        let member =
            |name: &str, value: Option<&str>| value.map_or(0, |value| name.len() + value.len());
        let content = match self {
            Raw::Text(text) => around(text.get()),
            Raw::Json { value, .. } => around("") + quoted(value),
            Raw::Blocks(answered) => CONTENT.len() + answered.content.get().len(),
        };
        let structured = member(STRUCTURED, self.structured());
        "{}".len() + content + structured + member(META, self.meta())
    }

    /// Makes values of it.
    pub(super) fn read(&self) -> Result<ToolResult, serde_json::Error> {
        let parse = serde_json::from_str::<Value>;
        Ok(match self {
            Raw::Text(text) => ToolResult::text(serde_json::from_str(text.get())?),
            Raw::Json { value, structured } => ToolResult {
                structured: structured.then(|| parse(value.get())).transpose()?,
                doubled: *structured,
                ..ToolResult::text(value.get().to_owned())
            },
            Raw::Blocks(answered) => ToolResult {
                content: serde_json::from_str(answered.content.get())?,
                structured: self.structured().map(parse).transpose()?,
                meta: match self.meta() {
                    Some(meta) => Some(serde_json::from_str::<Map<_, _>>(meta)?),
                    None => None,
                },
                ..ToolResult::default()
            },
        })
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Only<'a, T: ?Sized> {
            r#type: &'a str,
            text: &'a T,
        }
        let r#type = "text";
        let mut map = serializer.serialize_map(None)?;
        match self {
            Raw::Text(text) => map.serialize_entry("content", &[Only { r#type, text }])?,
            Raw::Json { value, .. } => {
                let text = value.get();
                map.serialize_entry("content", &[Only { r#type, text }])?;
            }
            Raw::Blocks(answered) => map.serialize_entry("content", &answered.content)?,
        }
        match self {
            Raw::Json {
                value,
                structured: true,
            } => map.serialize_entry("structuredContent", value)?,
            Raw::Blocks(answered) => {
                if let Some(structured) = &answered.structured {
                    map.serialize_entry("structuredContent", structured)?;
                }
                if let Some(meta) = &answered.meta {
                    map.serialize_entry("_meta", meta)?;
                }
            }
            Raw::Text(_) | Raw::Json { .. } => {}
        }
        map.end()
    }
}

/// The value as `JSON.stringify` writes it, and what there is in it.
fn looked(value: Box<RawValue>) -> (Box<RawValue>, Look) {
    let look = Look::at(value.get());
    if !look.loose {
        return (value, look);
    }
    let tight = tight(value.get()).and_then(|tight| RawValue::from_string(tight).ok());
    match tight {
        Some(tight) => {
            let look = Look::at(tight.get());
            (tight, look)
        }
        // Who makes values of it says what is wrong.
        None => (value, Look { deep: true, ..look }),
    }
}

/// How many characters of a text without control characters are escaped.
fn quoted(json: &str) -> usize {
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
