//! The text frames of a page of mcp-web 0.1, before their fields are interpreted.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The largest time value of ECMAScript.
const MAX_TIMESTAMP_MS: f64 = 8.64e15;

/// Whether frames are interpreted exactly as by the bridge of mcp-web 0.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrictMode(pub bool);

/// The fields of all messages, so that each frame is parsed only once.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Frame<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) timestamp: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) resource: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) request_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) blob: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) mime_type: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

impl Frame<'_> {
    /// The `timestamp` in Unix milliseconds; `None` if it is absent or out of range.
    pub(super) fn timestamp_ms(&self) -> Option<u64> {
        // The number may have a fraction.
        let at: f64 = self.timestamp?.get().parse().ok()?;
        (0.0..=MAX_TIMESTAMP_MS).contains(&at).then_some(at as u64)
    }
}

/// The text of a field; `None` if it is not a string.
pub(super) fn string_field(field: Option<&RawValue>) -> Option<Cow<'_, str>> {
    field.and_then(|raw| serde_json::from_str(raw.get()).ok())
}
