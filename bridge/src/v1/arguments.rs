//! The arguments of a call: the page gets them as they were written, without `session_id`.

use std::borrow::Cow;

use bridge_protocol::well_formed;
use indexmap::IndexMap;
use memchr::memmem;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::message::text;
use super::pages::Wanted;
use crate::tool::SESSION_ARGUMENT;

/// What the arguments are.
#[derive(Debug)]
pub(super) struct Arguments {
    /// An object.
    pub(super) input: Box<RawValue>,
    /// The page that they name.
    pub(super) wanted: Wanted,
}

/// Arguments are an object, or nothing.
#[derive(Debug)]
pub(super) struct NotAnObject;

impl Arguments {
    pub(super) fn read(sent: Option<&RawValue>) -> Result<Self, NotAnObject> {
        let as_written = |input| Self {
            input,
            wanted: Wanted::Any,
        };
        let written = match sent {
            Some(object) if object.get().starts_with('{') => object,
            Some(other) if other.get() != "null" => return Err(NotAnObject),
            _ => {
                return to_raw_value(&json!({}))
                    .map(as_written)
                    .map_err(|_| NotAnObject);
            }
        };
        if !may_name_session(written.get()) {
            return Ok(as_written(written.to_owned()));
        }
        let readable = well_formed(written.get());
        let mut fields = fields(written.get())
            // Half a surrogate pair in a name is JSON, and no text.
            .or_else(|_| fields(&readable))
            .map_err(|_| NotAnObject)?;
        let Some(named) = fields.shift_remove(SESSION_ARGUMENT) else {
            return Ok(as_written(written.to_owned()));
        };
        Ok(Self {
            input: to_raw_value(&fields).map_err(|_| NotAnObject)?,
            wanted: Wanted::named(Some(named)),
        })
    }
}

/// The members of an object, with each value as it was written.
fn fields(json: &str) -> serde_json::Result<IndexMap<Cow<'_, str>, &RawValue>> {
    serde_json::from_str(json)
}

/// Whether a look inside is worth it: a name that is written with escapes is one, too.
fn may_name_session(written: &str) -> bool {
    let written = written.as_bytes();
    memmem::find(written, SESSION_ARGUMENT.as_bytes()).is_some()
        || memmem::find(written, b"\\u").is_some()
}

impl Wanted {
    /// The page that a client names; what JavaScript takes for false names none.
    pub(super) fn named(raw: Option<&RawValue>) -> Self {
        let Some(raw) = raw else {
            return Wanted::Any;
        };
        match (text(raw.get()), raw.get()) {
            (Some(id), _) if id.is_empty() => Wanted::Any,
            (Some(id), _) => Wanted::Session(id.as_ref().into()),
            (None, "null" | "false" | "0") => Wanted::Any,
            (None, _) => Wanted::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> (String, Wanted) {
        let sent: &RawValue = serde_json::from_str(json).unwrap();
        let arguments = Arguments::read(Some(sent)).unwrap();
        (arguments.input.get().to_owned(), arguments.wanted)
    }

    #[test]
    fn the_session_is_taken_out_and_the_rest_stays_as_written() {
        let page = || Wanted::Session("s".into());
        let cases = [
            ("{ \"n\": 1.0 }", "{ \"n\": 1.0 }", Wanted::Any),
            ("null", "{}", Wanted::Any),
            (
                r#"{"a":1e2,"session_id":"s","b":{}}"#,
                r#"{"a":1e2,"b":{}}"#,
                page(),
            ),
            (r#"{"session\u005fid":"s"}"#, "{}", page()),
            (
                r#"{"x":{"session_id":"s"}}"#,
                r#"{"x":{"session_id":"s"}}"#,
                Wanted::Any,
            ),
            (r#"{"session_id":""}"#, "{}", Wanted::Any),
            (
                r#"{"half \ud83d":"\ud83d"}"#,
                r#"{"half \ud83d":"\ud83d"}"#,
                Wanted::Any,
            ),
            (
                r#"{"session_id":"s","half":"\ud83d"}"#,
                r#"{"half":"\ud83d"}"#,
                page(),
            ),
            (r#"{"session_id":7}"#, "{}", Wanted::Nothing),
        ];
        for (sent, input, wanted) in cases {
            assert_eq!(read(sent), (input.to_owned(), wanted), "{sent}");
        }
        let list: &RawValue = serde_json::from_str("[1]").unwrap();
        assert!(Arguments::read(Some(list)).is_err());
        assert_eq!(Arguments::read(None).unwrap().input.get(), "{}");
    }
}
