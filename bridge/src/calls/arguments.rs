//! The arguments of a tool call, as JSON text from the client and as values once they are parsed.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use bridge_realm::definition::tool::SESSION_ARGUMENT;

/// The arguments of a tool call, which are a JSON object.
#[derive(Debug)]
pub(crate) struct Arguments {
    /// The JSON text. `None` if it has to be encoded from `parsed`.
    text: Option<Box<RawValue>>,
    /// The parsed text. `None` if it has not been parsed.
    parsed: Option<Map<String, Value>>,
}

impl Arguments {
    /// Creates arguments from the JSON text of an object.
    pub(crate) fn from_raw(text: Box<RawValue>) -> Self {
        Self {
            text: Some(text),
            parsed: None,
        }
    }

    /// Whether there is an argument `session_id`, which may select a session.
    pub(crate) fn mentions_session(&self) -> bool {
        match (&self.parsed, &self.text) {
            (Some(parsed), _) => parsed.contains_key(SESSION_ARGUMENT),
            (None, Some(text)) => has_key(text.get(), SESSION_ARGUMENT),
            (None, None) => false,
        }
    }

    /// Returns the arguments as values.
    ///
    /// # Errors
    ///
    /// A message that states why the text cannot be parsed.
    pub(crate) fn parsed(&mut self) -> Result<&Map<String, Value>, String> {
        let parsed = match (self.parsed.take(), &self.text) {
            (Some(parsed), _) => parsed,
            (None, Some(text)) => serde_json::from_str(text.get()).map_err(|error| {
                format!("the arguments must be an object that can be read: {error}")
            })?,
            (None, None) => Map::new(),
        };
        Ok(self.parsed.insert(parsed))
    }

    /// Returns the arguments as values that can be changed.
    pub(crate) fn parsed_mut(&mut self) -> Result<&mut Map<String, Value>, String> {
        self.parsed()?;
        self.text = None;
        Ok(self.parsed.get_or_insert_default())
    }

    /// Takes the arguments as values; [`Self::restore_parsed`] puts them back.
    pub(super) fn take_parsed(&mut self) -> Result<Value, String> {
        self.parsed()?;
        Ok(Value::Object(self.parsed.take().unwrap_or_default()))
    }

    /// Restores the values that [`Self::take_parsed`] returned.
    pub(super) fn restore_parsed(&mut self, parsed: Value) {
        if let Value::Object(parsed) = parsed {
            self.parsed = Some(parsed);
        }
    }

    /// Returns the JSON text. It is the client's own text if nothing was changed.
    pub(super) fn into_raw(self) -> Result<Box<RawValue>, String> {
        match self.text {
            Some(text) if text.get().starts_with('{') => Ok(text),
            Some(_) => Err("the arguments must be an object".to_owned()),
            None => {
                to_raw_value(&self.parsed.unwrap_or_default()).map_err(|error| error.to_string())
            }
        }
    }
}

impl From<Map<String, Value>> for Arguments {
    fn from(parsed: Map<String, Value>) -> Self {
        Self {
            text: None,
            parsed: Some(parsed),
        }
    }
}

impl Default for Arguments {
    fn default() -> Self {
        Self::from(Map::new())
    }
}

/// Whether the JSON text of an object has a top-level key. Text that is not an object has none.
fn has_key(object: &str, key: &str) -> bool {
    // The key may be written with escape sequences.
    if !object.contains(key) && !object.contains("\\u") {
        return false;
    }
    struct Search<'a>(&'a str);
    impl<'de> Visitor<'de> for Search<'_> {
        type Value = bool;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
            let mut found = false;
            while let Some(Key(key)) = map.next_key()? {
                found |= key == self.0;
                map.next_value::<IgnoredAny>()?;
            }
            Ok(found)
        }
    }
    let mut reader = serde_json::Deserializer::from_str(object);
    reader.deserialize_map(Search(key)).unwrap_or(false)
}

/// An object key, borrowed if it contains no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] std::borrow::Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    fn from_text(text: &str) -> Arguments {
        Arguments::from_raw(RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn only_a_top_level_member_mentions_a_session() {
        for named in [
            r#"{"session_id":"a"}"#,
            r#"{"a":{"b":[1]}, "session_id" : null}"#,
            r#"{"\u0073ession_id":1}"#,
        ] {
            assert!(from_text(named).mentions_session(), "{named}");
        }
        for unnamed in [
            "{}",
            r#"{"a":{"session_id":"a"}}"#,
            r#"{"a":"session_id"}"#,
            r#"{"a":["session_id"],"session_ids":"\u0041"}"#,
        ] {
            assert!(!from_text(unnamed).mentions_session(), "{unnamed}");
        }
    }

    #[test]
    fn arguments_are_sent_verbatim_unless_changed() {
        let text = r#"{"n": 1e999, "a":1.0}"#;
        assert!(from_text(text).parsed().is_err());
        assert_eq!(from_text(text).into_raw().unwrap().get(), text);
        let mut arguments = from_text(r#"{"a": 1.0, "session_id": "s"}"#);
        assert_eq!(arguments.parsed().unwrap()["a"], 1.0);
        arguments.parsed_mut().unwrap().shift_remove("session_id");
        assert_eq!(arguments.into_raw().unwrap().get(), r#"{"a":1.0}"#);
        assert!(from_text("[]").into_raw().is_err());
        assert_eq!(Arguments::default().into_raw().unwrap().get(), "{}");
    }
}
