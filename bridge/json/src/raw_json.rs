//! JSON text that goes on as it came.

use std::ops::Range;

use bytes::Bytes;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use tungstenite::Utf8Bytes;

use crate::scanner::{self, CompactJson};

/// The text of a value.
#[derive(Clone, Debug)]
pub enum RawJson {
    /// In memory of its own.
    Owned(Box<RawValue>),
    /// Within the message that it came in.
    Borrowed(Box<JsonSlice>),
}

/// A value that stays where it came: a long one is not copied. It is written as `JSON.stringify`
/// writes it, is not too deep for anybody, and has nothing that an answer would lift out of it.
#[derive(Clone, Debug)]
pub struct JsonSlice {
    message: Utf8Bytes,
    range: Range<usize>,
    escape_count: usize,
}

impl RawJson {
    /// Its text.
    pub fn get(&self) -> &str {
        match self {
            RawJson::Owned(raw) => raw.get(),
            RawJson::Borrowed(within) => within.get(),
        }
    }

    /// The same in memory of its own.
    pub fn to_raw_value(&self) -> Option<Box<RawValue>> {
        match self {
            RawJson::Owned(raw) => Some(raw.clone()),
            RawJson::Borrowed(within) => RawValue::from_string(within.get().to_owned()).ok(),
        }
    }
}

impl JsonSlice {
    /// The value that begins here, and the text behind it. `None`: it is none, or has to be looked
    /// into.
    pub fn parse_at(message: &Utf8Bytes, begin: usize) -> Option<(Self, &str)> {
        let CompactJson {
            end,
            escape_count: escaped,
        } = scanner::scan_value(message, begin)?;
        let slice = Self {
            message: message.clone(),
            range: begin..end,
            escape_count: escaped,
        };
        Some((slice, message.get(end..)?))
    }

    /// Its text.
    pub fn get(&self) -> &str {
        &self.message[self.range.clone()]
    }

    /// The same as bytes, without a copy.
    pub fn bytes(&self) -> Bytes {
        Bytes::from(self.message.clone()).slice(self.range.clone())
    }

    /// How many bytes it has as a JSON string, quotes included.
    pub fn quoted_len(&self) -> usize {
        self.range.len() + self.escape_count + 2
    }
}

impl From<Box<RawValue>> for RawJson {
    fn from(raw: Box<RawValue>) -> Self {
        Self::Owned(raw)
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            RawJson::Owned(raw) => raw.serialize(serializer),
            RawJson::Borrowed(within) => {
                let raw =
                    <&RawValue>::deserialize(&mut serde_json::Deserializer::from_str(within.get()));
                raw.map_err(serde::ser::Error::custom)?
                    .serialize(serializer)
            }
        }
    }
}
