//! JSON text that is passed on without being parsed.

use std::ops::Range;

use bytes::Bytes;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use tungstenite::Utf8Bytes;

use crate::scanner::{self, CompactJson};

/// The JSON text of a value.
#[derive(Clone, Debug)]
pub enum RawJson {
    /// The text has its own allocation.
    Owned(Box<RawValue>),
    /// The text is a slice of the message in which it was received.
    Borrowed(Box<JsonSlice>),
}

/// A slice of a message with the text of a value, so that a long value is not copied. The text is
/// as `JSON.stringify` writes it, is nested at most [`MAX_JSON_DEPTH`](crate::MAX_JSON_DEPTH)
/// levels deep, and has no members that a result must move elsewhere (`_meta`, `dataUrl`).
#[derive(Clone, Debug)]
pub struct JsonSlice {
    message: Utf8Bytes,
    range: Range<usize>,
    escape_count: usize,
}

impl RawJson {
    /// The JSON text.
    pub fn get(&self) -> &str {
        match self {
            RawJson::Owned(raw) => raw.get(),
            RawJson::Borrowed(slice) => slice.get(),
        }
    }

    /// Copies the text into a `RawValue`; `None` if it is not valid JSON.
    pub fn to_raw_value(&self) -> Option<Box<RawValue>> {
        match self {
            RawJson::Owned(raw) => Some(raw.clone()),
            RawJson::Borrowed(slice) => RawValue::from_string(slice.get().to_owned()).ok(),
        }
    }
}

impl JsonSlice {
    /// Scans the value that begins at `begin`, and returns it with the text after it. Returns
    /// `None` if it is not valid, or if it must be parsed.
    pub fn parse_at(message: &Utf8Bytes, begin: usize) -> Option<(Self, &str)> {
        let CompactJson { end, escape_count } = scanner::scan_value(message, begin)?;
        let slice = Self {
            message: message.clone(),
            range: begin..end,
            escape_count,
        };
        Some((slice, message.get(end..)?))
    }

    /// Returns the same text in a separate allocation, so that the message can be freed.
    pub fn detached(self) -> Self {
        let text = self.get().to_owned();
        Self {
            range: 0..text.len(),
            message: text.into(),
            escape_count: self.escape_count,
        }
    }

    /// The JSON text.
    pub fn get(&self) -> &str {
        &self.message[self.range.clone()]
    }

    /// The JSON text as bytes that share the memory of the message.
    pub fn bytes(&self) -> Bytes {
        Bytes::from(self.message.clone()).slice(self.range.clone())
    }

    /// The length of the text as a JSON string, in bytes and with quotes.
    pub fn quoted_len(&self) -> usize {
        self.range.len() + self.escape_count + 2
    }
}

impl From<Box<RawValue>> for RawJson {
    fn from(raw: Box<RawValue>) -> Self {
        Self::Owned(raw)
    }
}

impl From<JsonSlice> for RawJson {
    fn from(slice: JsonSlice) -> Self {
        Self::Borrowed(Box::new(slice))
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            RawJson::Owned(raw) => raw.serialize(serializer),
            RawJson::Borrowed(slice) => {
                let raw =
                    <&RawValue>::deserialize(&mut serde_json::Deserializer::from_str(slice.get()));
                raw.map_err(serde::ser::Error::custom)?
                    .serialize(serializer)
            }
        }
    }
}
