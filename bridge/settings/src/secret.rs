//! Secret texts, and the parsers of settings with secrets.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::values::parse_visible_ascii;

/// A text that does not appear in logs or errors.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A new secret of 64 hexadecimal digits. Two UUIDs of version 4 have 244 random bits (RFC 9562
    /// section 5.4).
    ///
    /// # Examples
    ///
    /// ```
    /// use bridge_settings::Secret;
    ///
    /// assert_ne!(Secret::random(), Secret::random());
    /// ```
    pub fn random() -> Self {
        let (one, other) = (Uuid::new_v4().simple(), Uuid::new_v4().simple());
        Self(format!("{one}{other}"))
    }

    /// Wraps a text that was validated before.
    pub fn from_trusted(text: String) -> Self {
        Self(text)
    }

    /// The text, for code that sends or compares it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl FromStr for Secret {
    type Err = String;

    /// Parses a [key](parse_key).
    fn from_str(text: &str) -> Result<Self, String> {
        parse_key(text)
    }
}

/// The minimum length of a key in characters: the output of HMAC-SHA256 has as many bytes (RFC 2104
/// section 3).
const MIN_KEY_CHARS: usize = 32;

/// Parses a secret for signing or sealing: at least 32 characters.
///
/// # Errors
///
/// The error describes the allowed values and does not contain the value.
pub fn parse_key(text: &str) -> Result<Secret, String> {
    if text.chars().count() < MIN_KEY_CHARS {
        return Err(format!(
            "allowed are secrets of at least {MIN_KEY_CHARS} characters"
        ));
    }
    Ok(Secret(text.to_owned()))
}

/// Parses a secret that another party chose: visible ASCII characters, which a header can contain.
///
/// # Errors
///
/// The error describes the allowed values and does not contain the value.
pub fn parse_credential(text: &str) -> Result<Secret, String> {
    parse_visible_ascii(text).map(Secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_shown() {
        let secret = parse_credential("hush-hush").unwrap();
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        assert!(parse_credential("hush hush").is_err() && parse_credential("").is_err());
        let error = parse_key("hush-hush").unwrap_err();
        assert!(error.contains("32") && !error.contains("hush"), "{error}");
    }
}
