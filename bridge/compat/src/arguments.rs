//! The arguments of a tool call. The page receives them as the client wrote them, without
//! `session_id`.

use std::borrow::Cow;

use bridge_protocol::to_well_formed;
use bridge_realm::definition::tool::SESSION_ARGUMENT;
use indexmap::IndexMap;
use memchr::memmem;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::page_selector::PageSelector;

/// The parsed arguments of a call.
#[derive(Debug)]
pub struct CompatArguments {
    /// The arguments without `session_id`, always a JSON object.
    pub input: Box<RawValue>,
    /// The page that `session_id` selects.
    pub selector: PageSelector,
}

/// The error for arguments that are neither an object nor absent nor `null`.
#[derive(Debug)]
pub struct InvalidArguments;

impl CompatArguments {
    /// Parses the `arguments` of a call. Absent arguments become an empty object.
    pub fn parse(raw: Option<&RawValue>) -> Result<Self, InvalidArguments> {
        let verbatim = |input| Self {
            input,
            selector: PageSelector::Any,
        };
        let object = match raw {
            Some(object) if object.get().starts_with('{') => object,
            Some(other) if other.get() != "null" => return Err(InvalidArguments),
            _ => {
                return to_raw_value(&json!({}))
                    .map(verbatim)
                    .map_err(|_| InvalidArguments);
            }
        };
        if !may_name_session(object.get()) {
            return Ok(verbatim(object.to_owned()));
        }
        let readable = to_well_formed(object.get());
        let mut fields = members(object.get())
            // An unpaired surrogate in a key is valid JSON but cannot be a Rust string.
            .or_else(|_| members(&readable))
            .map_err(|_| InvalidArguments)?;
        let Some(session) = fields.shift_remove(SESSION_ARGUMENT) else {
            return Ok(verbatim(object.to_owned()));
        };
        Ok(Self {
            input: to_raw_value(&fields).map_err(|_| InvalidArguments)?,
            selector: PageSelector::from_raw(Some(session)),
        })
    }
}

/// Parses an object into its members. The text of each value stays unchanged.
fn members(json: &str) -> serde_json::Result<IndexMap<Cow<'_, str>, &RawValue>> {
    serde_json::from_str(json)
}

/// Whether the arguments may have the key `session_id`, so that they must be parsed. A key can also
/// be written with Unicode escapes.
fn may_name_session(written: &str) -> bool {
    let written = written.as_bytes();
    memmem::find(written, SESSION_ARGUMENT.as_bytes()).is_some()
        || memmem::find(written, b"\\u").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> (String, PageSelector) {
        let sent: &RawValue = serde_json::from_str(json).unwrap();
        let arguments = CompatArguments::parse(Some(sent)).unwrap();
        (arguments.input.get().to_owned(), arguments.selector)
    }

    #[test]
    fn session_argument_is_removed_and_the_rest_kept_verbatim() {
        let session = || PageSelector::Session("s".into());
        let cases = [
            ("{ \"n\": 1.0 }", "{ \"n\": 1.0 }", PageSelector::Any),
            ("null", "{}", PageSelector::Any),
            (
                r#"{"a":1e2,"session_id":"s","b":{}}"#,
                r#"{"a":1e2,"b":{}}"#,
                session(),
            ),
            (r#"{"session\u005fid":"s"}"#, "{}", session()),
            (
                r#"{"x":{"session_id":"s"}}"#,
                r#"{"x":{"session_id":"s"}}"#,
                PageSelector::Any,
            ),
            (r#"{"session_id":""}"#, "{}", PageSelector::Any),
            (
                r#"{"half \ud83d":"\ud83d"}"#,
                r#"{"half \ud83d":"\ud83d"}"#,
                PageSelector::Any,
            ),
            (
                r#"{"session_id":"s","half":"\ud83d"}"#,
                r#"{"half":"\ud83d"}"#,
                session(),
            ),
            (r#"{"session_id":7}"#, "{}", PageSelector::Invalid),
        ];
        for (sent, input, selector) in cases {
            assert_eq!(parse(sent), (input.to_owned(), selector), "{sent}");
        }
        let list: &RawValue = serde_json::from_str("[1]").unwrap();
        assert!(CompatArguments::parse(Some(list)).is_err());
        assert_eq!(CompatArguments::parse(None).unwrap().input.get(), "{}");
    }
}
