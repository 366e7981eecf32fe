//! What a tool is called with: as its client wrote it, and as values once somebody must look inside.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::tool::SESSION_ARGUMENT;

/// The arguments of a tool call: an object.
#[derive(Debug)]
pub(crate) struct Arguments {
    /// The text. `None` when it has to be written.
    raw: Option<Box<RawValue>>,
    /// What the text says. `None` when nobody has looked.
    read: Option<Map<String, Value>>,
}

impl Arguments {
    /// From the text of an object.
    pub(crate) fn raw(raw: Box<RawValue>) -> Self {
        Self {
            raw: Some(raw),
            read: None,
        }
    }

    /// Whether one of them has the name that may pick a session.
    pub(crate) fn name_a_session(&self) -> bool {
        match (&self.read, &self.raw) {
            (Some(read), _) => read.contains_key(SESSION_ARGUMENT),
            (None, Some(raw)) => has_key(raw.get(), SESSION_ARGUMENT),
            (None, None) => false,
        }
    }

    /// The arguments as values.
    ///
    /// # Errors
    ///
    /// Why they cannot be values.
    pub(crate) fn read(&mut self) -> Result<&Map<String, Value>, String> {
        let read = match (self.read.take(), &self.raw) {
            (Some(read), _) => read,
            (None, Some(raw)) => serde_json::from_str(raw.get()).map_err(|error| {
                format!("the arguments must be an object that can be read: {error}")
            })?,
            (None, None) => Map::new(),
        };
        Ok(self.read.insert(read))
    }

    /// The same, to change them.
    pub(crate) fn change(&mut self) -> Result<&mut Map<String, Value>, String> {
        self.read()?;
        self.raw = None;
        Ok(self.read.get_or_insert_default())
    }

    /// The arguments as values, away from here.
    pub(super) fn take_read(&mut self) -> Result<Value, String> {
        self.read()?;
        Ok(Value::Object(self.read.take().unwrap_or_default()))
    }

    /// Gives back what was taken.
    pub(super) fn put_back(&mut self, read: Value) {
        if let Value::Object(read) = read {
            self.read = Some(read);
        }
    }

    /// The text: as it came, if nothing was changed.
    pub(super) fn into_raw(self) -> Result<Box<RawValue>, String> {
        match self.raw {
            Some(raw) if raw.get().starts_with('{') => Ok(raw),
            Some(_) => Err("the arguments must be an object".to_owned()),
            None => to_raw_value(&self.read.unwrap_or_default()).map_err(|error| error.to_string()),
        }
    }
}

impl From<Map<String, Value>> for Arguments {
    fn from(read: Map<String, Value>) -> Self {
        Self {
            raw: None,
            read: Some(read),
        }
    }
}

impl Default for Arguments {
    fn default() -> Self {
        Self::from(Map::new())
    }
}

/// Whether an object's text has a member of this name, looking at nothing inside. What is no object
/// has none.
fn has_key(object: &str, key: &str) -> bool {
    // An escape may spell the name.
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

/// Borrowed where nothing in it is escaped.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] std::borrow::Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Arguments {
        Arguments::raw(RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn only_a_member_of_the_object_itself_names_a_session() {
        for named in [
            r#"{"session_id":"a"}"#,
            r#"{"a":{"b":[1]}, "session_id" : null}"#,
            r#"{"\u0073ession_id":1}"#,
        ] {
            assert!(raw(named).name_a_session(), "{named}");
        }
        for unnamed in [
            "{}",
            r#"{"a":{"session_id":"a"}}"#,
            r#"{"a":"session_id"}"#,
            r#"{"a":["session_id"],"session_ids":"\u0041"}"#,
        ] {
            assert!(!raw(unnamed).name_a_session(), "{unnamed}");
        }
    }

    #[test]
    fn the_text_goes_on_as_it_came_unless_something_is_changed() {
        let text = r#"{"n": 1e999, "a":1.0}"#;
        assert!(raw(text).read().is_err());
        assert_eq!(raw(text).into_raw().unwrap().get(), text);
        let mut arguments = raw(r#"{"a": 1.0, "session_id": "s"}"#);
        assert_eq!(arguments.read().unwrap()["a"], 1.0);
        arguments.change().unwrap().shift_remove("session_id");
        assert_eq!(arguments.into_raw().unwrap().get(), r#"{"a":1.0}"#);
        assert!(raw("[]").into_raw().is_err());
        assert_eq!(Arguments::default().into_raw().unwrap().get(), "{}");
    }
}
