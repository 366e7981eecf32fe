//! The page that a request selects.

use bridge_protocol::SessionId;
use serde_json::value::RawValue;

use crate::json_text::decode_string;

/// The page that a request selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageSelector {
    /// The only page.
    Any,
    Session(SessionId),
    /// The request has a selector that cannot be a session id.
    Invalid,
}

impl PageSelector {
    /// Converts the id of a session that a client sent. A value that is falsy in JavaScript selects
    /// no page.
    pub fn from_raw(raw: Option<&RawValue>) -> Self {
        let Some(raw) = raw else {
            return PageSelector::Any;
        };
        match (decode_string(raw.get()), raw.get()) {
            (Some(id), _) if id.is_empty() => PageSelector::Any,
            (Some(id), _) => PageSelector::Session(id.as_ref().into()),
            (None, "null" | "false" | "0") => PageSelector::Any,
            (None, _) => PageSelector::Invalid,
        }
    }

    /// This selector, or `other` if this one is [`Self::Any`].
    pub fn or_else(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            PageSelector::Any => other(),
            selector => selector,
        }
    }
}
