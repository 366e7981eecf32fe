//! How the values of settings are written, and what is allowed.

use std::fmt;
use std::time::Duration;

/// A text that is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text, for the one place that needs it.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl std::str::FromStr for Secret {
    type Err = String;

    /// Fit for a header.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text_without_spaces(text).map(Self)
    }
}

/// A text that a header, a URL or a command line carries as it is.
pub(crate) fn text_without_spaces(text: &str) -> Result<String, String> {
    match !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(text.to_owned()),
        false => Err("allowed are visible ASCII characters without spaces".to_owned()),
    }
}

pub(crate) fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("allowed are whole numbers from 1 up".to_owned()),
    }
}

/// The longest time that can be set: the end of a longer one may be no time that a clock can show.
const MAX_DURATION: Duration = Duration::from_secs(366 * 24 * 60 * 60);

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(duration) if !duration.is_zero() && duration <= MAX_DURATION => Ok(duration),
        _ => Err("allowed are times above zero, up to 366days, such as 250ms, 5s, 2m".to_owned()),
    }
}
