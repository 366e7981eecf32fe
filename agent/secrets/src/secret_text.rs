//! The value of a secret in memory.

use std::fmt;
use std::mem;

use zeroize::{Zeroize, Zeroizing};

/// The value of a secret: a text that is overwritten when it is dropped, and that no log shows.
pub struct SecretText(Zeroizing<String>);

impl SecretText {
    /// Wraps a text.
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// Wraps bytes that are UTF-8, and returns `None` for others.
    pub fn from_utf8(mut bytes: Zeroizing<Vec<u8>>) -> Option<Self> {
        match String::from_utf8(mem::take(&mut *bytes)) {
            Ok(text) => Some(Self::new(text)),
            Err(error) => {
                error.into_bytes().zeroize();
                None
            }
        }
    }

    /// The text, for code that sends or compares it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText(…)")
    }
}
