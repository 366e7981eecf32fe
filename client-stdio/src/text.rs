//! The text of a message, of which there is one copy however many hold it.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;

/// Shared text. A `String` becomes one without being copied, and one becomes a body likewise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text(Arc<String>);

impl Text {
    /// As the body of an HTTP request.
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes::from_owner(self.clone())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(Arc::new(text))
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Display for Text {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self)
    }
}
