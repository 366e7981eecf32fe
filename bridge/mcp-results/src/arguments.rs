//! The arguments of a tool call. They stay JSON text, because parsed values take many times the
//! memory, and only the members that the bridge itself reads are parsed.

use std::borrow::Cow;
use std::fmt;

use bridge_protocol::SessionId;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use bridge_realm::definition::tool::SESSION_ARGUMENT;

/// The argument of the tool `call_session_tool` with the arguments of the other tool.
const INNER_ARGUMENTS: &str = "arguments";

/// The maximum length of an argument of a tool of the bridge itself, in bytes of JSON.
const MAX_BUILTIN_ARGUMENT_BYTES: usize = 64 * 1024;

/// The arguments of a tool call, which are a JSON object: the text from the client.
#[derive(Debug)]
pub struct Arguments(Box<RawValue>);

/// The argument `session_id`, which may select a session.
#[derive(Debug, PartialEq, Eq)]
pub enum SessionArgument {
    /// The id or the name of a session.
    Session(SessionId),
    /// It is not a string, so that it selects none.
    NotString,
}

/// The arguments of a tool of the bridge itself.
#[derive(Debug)]
pub struct BuiltinArguments {
    /// All but those of the tool that `call_session_tool` calls.
    pub members: Map<String, Value>,
    /// The arguments of the tool that `call_session_tool` calls; an error if they are not an
    /// object.
    pub inner: Result<Arguments, NotAnObject>,
}

/// An argument is not an object.
#[derive(Debug)]
pub struct NotAnObject;

impl Arguments {
    /// Creates arguments from the JSON text of an object.
    pub fn from_raw(text: Box<RawValue>) -> Self {
        Self(text)
    }

    /// The length of the text that is scanned to read an argument, in bytes.
    pub fn scan_bytes(&self) -> usize {
        self.0.get().len()
    }

    /// Returns the argument `session_id`, if there is one.
    pub fn session_argument(&self) -> Option<SessionArgument> {
        let text = self.0.get();
        // The name may be written with escape sequences.
        if !text.contains(SESSION_ARGUMENT) && !text.contains("\\u") {
            return None;
        }
        let mut found = None;
        let visited = for_each_member(&self.0, |name, value| {
            if name == SESSION_ARGUMENT {
                found = Some(serde_json::from_str::<String>(value.get()).ok());
            }
        });
        let session = found.filter(|_| visited.is_ok())?.map(SessionId);
        Some(session.map_or(SessionArgument::NotString, SessionArgument::Session))
    }

    /// Removes the argument `session_id`. The other arguments stay as they are written.
    pub fn remove_session_argument(&mut self) {
        let mut rest = String::with_capacity(self.0.get().len());
        let visited = for_each_member(&self.0, |name, value| {
            if name != SESSION_ARGUMENT {
                rest.push(if rest.is_empty() { '{' } else { ',' });
                rest.push_str(&Value::from(name).to_string());
                rest.push(':');
                rest.push_str(value.get());
            }
        });
        if rest.is_empty() {
            rest.push('{');
        }
        rest.push('}');
        if let (Ok(()), Ok(rest)) = (visited, RawValue::from_string(rest)) {
            self.0 = rest;
        }
    }

    /// The JSON text.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Returns the JSON text. It is the client's own text if nothing was changed.
    ///
    /// # Errors
    ///
    /// A message that the arguments are not an object.
    pub fn into_raw(self) -> Result<Box<RawValue>, String> {
        if self.0.get().starts_with('{') {
            Ok(self.0)
        } else {
            Err("the arguments must be an object".to_owned())
        }
    }

    /// Parses the arguments of a tool of the bridge itself.
    ///
    /// # Errors
    ///
    /// A message that states why they cannot be parsed.
    pub fn into_builtin(self) -> Result<BuiltinArguments, String> {
        let mut parsed = BuiltinArguments {
            members: Map::new(),
            inner: Ok(Arguments::default()),
        };
        parsed.add_members(&self.0)?;
        Ok(parsed)
    }
}

impl BuiltinArguments {
    /// Parses the members of an object. The arguments of another tool stay text.
    fn add_members(&mut self, object: &RawValue) -> Result<(), String> {
        let unreadable =
            |error| format!("the arguments must be an object that can be read: {error}");
        let mut failure = None;
        let visited = for_each_member(object, |name, value| {
            if name == INNER_ARGUMENTS {
                self.inner = match value.get() {
                    "null" => Ok(Arguments::default()),
                    inner if inner.starts_with('{') => Ok(Arguments(value.to_owned())),
                    _ => Err(NotAnObject),
                };
            } else if value.get().len() > MAX_BUILTIN_ARGUMENT_BYTES {
                failure = Some(format!(
                    "an argument has more than {MAX_BUILTIN_ARGUMENT_BYTES} bytes: shorten it"
                ));
            } else {
                match serde_json::from_str(value.get()) {
                    Ok(value) => {
                        self.members.insert(name.to_owned(), value);
                    }
                    Err(error) => failure = Some(unreadable(error)),
                }
            }
        });
        visited.map_err(unreadable)?;
        failure.map_or(Ok(()), Err)
    }
}

impl Default for Arguments {
    fn default() -> Self {
        // An empty object can always be written.
        let text = RawValue::from_string("{}".to_owned());
        Self(text.unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }
}

/// Visits the members of the JSON text of an object in their order. The values stay text.
fn for_each_member(
    object: &RawValue,
    visit: impl FnMut(&str, &RawValue),
) -> serde_json::Result<()> {
    struct Members<F>(F);
    impl<'de, F: FnMut(&str, &RawValue)> Visitor<'de> for Members<F> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
            while let Some((Name(name), value)) = map.next_entry::<Name<'_>, &RawValue>()? {
                (self.0)(&name, value);
            }
            Ok(())
        }
    }
    let mut reader = serde_json::Deserializer::from_str(object.get());
    reader.deserialize_map(Members(visit))
}

/// The name of a member, borrowed if it contains no escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn from_text(text: &str) -> Arguments {
        Arguments::from_raw(RawValue::from_string(text.to_owned()).unwrap())
    }

    fn session(id: &str) -> Option<SessionArgument> {
        Some(SessionArgument::Session(id.into()))
    }

    #[test]
    fn only_a_top_level_member_selects_a_session() {
        for (named, argument) in [
            (r#"{"session_id":"a"}"#, session("a")),
            (
                r#"{"a":{"b":[1]}, "session_id" : null}"#,
                Some(SessionArgument::NotString),
            ),
            (r#"{"\u0073ession_id":"\u0061"}"#, session("a")),
            (r#"{"session_id":1,"session_id":"b"}"#, session("b")),
        ] {
            assert_eq!(from_text(named).session_argument(), argument, "{named}");
        }
        for unnamed in [
            "{}",
            r#"{"a":{"session_id":"a"}}"#,
            r#"{"a":"session_id"}"#,
            r#"{"a":["session_id"],"session_ids":"\u0041"}"#,
            r#"["session_id"]"#,
            // The name is valid JSON, but no string.
            r#"{"session_id":"a","half \ud83d":1}"#,
        ] {
            assert_eq!(from_text(unnamed).session_argument(), None, "{unnamed}");
        }
    }

    #[test]
    fn arguments_are_sent_verbatim_without_the_session() {
        let text = r#"{"n": 1e999, "a":1.0}"#;
        assert_eq!(from_text(text).into_raw().unwrap().get(), text);
        for (sent, rest) in [
            (
                r#"{"a": 1.0, "session_id": "s", "b\"c":[ 1e999 ]}"#,
                r#"{"a":1.0,"b\"c":[ 1e999 ]}"#,
            ),
            (r#"{"session_id": "s"}"#, "{}"),
        ] {
            let mut arguments = from_text(sent);
            arguments.remove_session_argument();
            assert_eq!(arguments.into_raw().unwrap().get(), rest);
        }
        assert!(from_text("[]").into_raw().is_err());
        assert_eq!(Arguments::default().into_raw().unwrap().get(), "{}");
    }

    #[test]
    fn the_arguments_of_another_tool_are_not_parsed() {
        let sent = r#"{"tool_name":"t","arguments":{"n":1e999},"session_id":7}"#;
        let parsed = from_text(sent).into_builtin().unwrap();
        assert_eq!(
            Value::Object(parsed.members),
            json!({"tool_name": "t", "session_id": 7})
        );
        let inner = parsed.inner.unwrap().into_raw().unwrap();
        assert_eq!(inner.get(), r#"{"n":1e999}"#);
        for (sent, is_object) in [
            ("{}", true),
            (r#"{"arguments":null}"#, true),
            (r#"{"arguments":[]}"#, false),
        ] {
            let inner = from_text(sent).into_builtin().unwrap().inner;
            assert_eq!(inner.is_ok(), is_object, "{sent}");
        }
    }

    #[test]
    fn long_arguments_of_builtin_tools_are_refused() {
        let long = format!(
            r#"{{"handle":"{}"}}"#,
            "x".repeat(MAX_BUILTIN_ARGUMENT_BYTES)
        );
        let message = from_text(&long).into_builtin().map(drop).unwrap_err();
        assert!(message.contains("65536 bytes"), "{message}");
    }
}
