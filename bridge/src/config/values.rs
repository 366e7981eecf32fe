//! How the values of settings are written, and what is allowed.

use std::time::Duration;

/// A text that is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A new one. Two UUIDs of version 4 have 244 random bits (RFC 9562 section 5.4).
    pub(crate) fn random() -> Self {
        let (one, other) = (uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
        Self(format!("{one}{other}"))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    pub(crate) fn expose_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// As many bytes as HMAC-SHA256 gives (RFC 2104 section 3).
const MIN_SECRET_CHARS: usize = 32;

impl std::str::FromStr for Secret {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.chars().count() < MIN_SECRET_CHARS {
            return Err(format!(
                "allowed are secrets of at least {MIN_SECRET_CHARS} characters"
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

/// A secret that somebody else has chosen: of any length, and fit for a header.
pub(super) fn credential(text: &str) -> Result<Secret, String> {
    match !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(Secret(text.to_owned())),
        false => Err("allowed are visible ASCII characters without spaces".to_owned()),
    }
}

/// The most bytes of the URI of an icon: each client hears it when it connects.
const MAX_ICON_BYTES: usize = 64 * 1024;

/// The URI of an icon (MCP 2025-11-25, "Icons").
pub(super) fn icon(text: &str) -> Result<String, String> {
    let schemes = ["https://", "http://", "data:image/"];
    let is_icon = schemes.iter().any(|scheme| text.starts_with(scheme))
        && text.bytes().all(|byte| byte.is_ascii_graphic())
        && text.len() <= MAX_ICON_BYTES;
    match is_icon {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "allowed are https://, http:// and data:image/ URIs of at most {MAX_ICON_BYTES} bytes"
        )),
    }
}

pub(super) fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("allowed are whole numbers from 1 up".to_owned()),
    }
}

/// A result is held in memory several times on its way.
const MAX_RESULT_BYTES: usize = 1024 * 1024 * 1024;

pub(super) fn result_bytes(text: &str) -> Result<usize, String> {
    match count(text)? {
        bytes if bytes <= MAX_RESULT_BYTES => Ok(bytes),
        _ => Err(format!("allowed are 1 to {MAX_RESULT_BYTES}")),
    }
}

/// The longest time that can be set: the end of a longer one may be no time that a clock can show.
const MAX_DURATION: Duration = Duration::from_secs(366 * 24 * 60 * 60);

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    match duration_or_none(text) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err("allowed are times above zero, up to 366days, such as 250ms, 5s, 2m".to_owned()),
    }
}

pub(super) fn duration_or_none(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(duration) if duration <= MAX_DURATION => Ok(duration),
        _ => Err("allowed are times up to 366days, such as 0s, 250ms, 5s, 2m".to_owned()),
    }
}
