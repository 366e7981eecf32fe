//! The token that authenticates the client to the bridge.

use std::sync::Arc;

use http::HeaderValue;

/// A bearer token. It implements neither `Debug` nor `Display`, so that it cannot be logged.
#[derive(Clone, PartialEq, Eq)]
pub struct BearerToken(Arc<str>);

impl BearerToken {
    /// Parses a token, with or without the scheme. Returns `None` if a header cannot contain it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let token = text.strip_prefix("Bearer ").unwrap_or(text).trim();
        let is_valid = header_value(token).is_ok();
        is_valid.then(|| Self(token.into()))
    }

    /// Returns the text of the token, for the `Authorization` header.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// Returns a text as the value of a header, if it has visible ASCII characters only.
pub(crate) fn header_value(text: &str) -> Result<HeaderValue, ()> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(());
    }
    HeaderValue::from_str(text).map_err(|_| ())
}
