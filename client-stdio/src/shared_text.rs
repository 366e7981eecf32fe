//! The text of a message, of which there is one copy however many hold it.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;

/// Shared text. A `String` becomes one without being copied, and one becomes a body likewise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SharedText(Arc<String>);

impl SharedText {
    /// As the body of an HTTP request.
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
