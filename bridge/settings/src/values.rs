//! The values of settings: how they are written, and which of them are allowed.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use uuid::Uuid;

/// A text that appears in no log and no error.
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

/// Parses a text that can be written unchanged in a header, a URL or a command line.
///
/// # Errors
///
/// The error describes the allowed values.
pub fn parse_visible_ascii(text: &str) -> Result<String, String> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(text.to_owned())
    } else {
        Err("allowed are visible ASCII characters without spaces".to_owned())
    }
}

/// Parses a whole number of at least 1.
///
/// # Errors
///
/// The error describes the allowed values.
pub fn parse_count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("allowed are whole numbers from 1 up".to_owned()),
    }
}

/// The maximum duration of a setting. A clock may be unable to represent the end of a longer one.
const MAX_DURATION: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// Parses a duration above zero: `250ms`, `5s`, `2m`.
///
/// # Errors
///
/// The error describes the allowed values.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    match parse_duration_or_zero(text) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err("allowed are times above zero, up to 366days, such as 250ms, 5s, 2m".to_owned()),
    }
}

/// Parses a duration that may be zero: `0s`, `250ms`, `5s`.
///
/// # Errors
///
/// The error describes the allowed values.
pub fn parse_duration_or_zero(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(duration) if duration <= MAX_DURATION => Ok(duration),
        _ => Err("allowed are times up to 366days, such as 0s, 250ms, 5s, 2m".to_owned()),
    }
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

    #[test]
    fn times_have_an_upper_limit() {
        assert_eq!(parse_duration("2m"), Ok(Duration::from_secs(120)));
        assert!(parse_duration("0s").is_err() && parse_duration("367days").is_err());
        assert_eq!(parse_duration_or_zero("0s"), Ok(Duration::ZERO));
    }
}
