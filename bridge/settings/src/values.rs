//! The values of settings: how they are written, and which of them are allowed.

use std::time::Duration;

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
    fn times_have_an_upper_limit() {
        assert_eq!(parse_duration("2m"), Ok(Duration::from_secs(120)));
        assert!(parse_duration("0s").is_err() && parse_duration("367days").is_err());
        assert_eq!(parse_duration_or_zero("0s"), Ok(Duration::ZERO));
    }
}
