//! The text of a message, which is shared instead of copied.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;

/// A reference-counted text. Creating it from a `String` and using it as the body of an HTTP
/// request do not copy the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SharedText(Arc<String>);

impl SharedText {
    /// Returns the text as the body of an HTTP request.
    pub(crate) fn to_bytes(&self) -> Bytes {
        Bytes::from_owner(self.clone())
    }
}

impl From<String> for SharedText {
    fn from(text: String) -> Self {
        Self(Arc::new(text))
    }
}

impl Deref for SharedText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<[u8]> for SharedText {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Display for SharedText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self)
    }
}
