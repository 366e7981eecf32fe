//! JSON text that goes on as it came.

mod scan;

use std::ops::Range;

use bytes::Bytes;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use tokio_tungstenite::tungstenite::Utf8Bytes;

pub(crate) use scan::DEEPEST;

/// The text of a value.
#[derive(Clone, Debug)]
pub(crate) enum Json {
    /// In memory of its own.
    Own(Box<RawValue>),
    /// Within the message that it came in.
    Within(Box<Within>),
}

/// A value that stays where it came: a long one is not copied. It is written as `JSON.stringify`
/// writes it, is not too deep for anybody, and has nothing that an answer would lift out of it.
#[derive(Clone, Debug)]
pub(crate) struct Within {
    message: Utf8Bytes,
    place: Range<usize>,
    escaped: usize,
}

impl Json {
    /// Its text.
    pub(crate) fn get(&self) -> &str {
        match self {
            Json::Own(raw) => raw.get(),
            Json::Within(within) => within.get(),
        }
    }

    /// The same in memory of its own.
    pub(crate) fn to_raw(&self) -> Option<Box<RawValue>> {
        match self {
            Json::Own(raw) => Some(raw.clone()),
            Json::Within(within) => RawValue::from_string(within.get().to_owned()).ok(),
        }
    }
}

impl Within {
    /// The value that begins here, and the text behind it. `None`: it is none, or has to be looked
    /// into.
    pub(crate) fn read(message: &Utf8Bytes, begin: usize) -> Option<(Self, &str)> {
        let scan::Tight { end, escaped } = scan::value(message, begin)?;
        let within = Self {
            message: message.clone(),
            place: begin..end,
            escaped,
        };
        Some((within, message.get(end..)?))
    }

    /// Its text.
    pub(crate) fn get(&self) -> &str {
        &self.message[self.place.clone()]
    }

    /// The same as bytes, without a copy.
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes::from(self.message.clone()).slice(self.place.clone())
    }

    /// How many bytes it has as a JSON string, quotes included.
    pub(crate) fn quoted_len(&self) -> usize {
        self.place.len() + self.escaped + 2
    }
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Self {
        Self::Own(raw)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Own(raw) => raw.serialize(serializer),
            Json::Within(within) => {
                let raw =
                    <&RawValue>::deserialize(&mut serde_json::Deserializer::from_str(within.get()));
                raw.map_err(serde::ser::Error::custom)?
                    .serialize(serializer)
            }
        }
    }
}
