//! When a page that was refused may connect again, as the bridge writes it into the reason of a
//! close frame. A browser shows a page nothing else of the refusal.

use std::fmt;

/// The longest hint has this number of digits.
const MAX_DIGITS: usize = 4;

/// The reason of a close frame after which a page connects again:
/// `RealmLimitExceeded, retry in 10 s: …`, or without a code `retry in 1 s: …`.
///
/// The time comes first, because a reason has at most 123 bytes.
///
/// # Examples
///
/// ```
/// use bridge_protocol::RetryHint;
///
/// let hint = RetryHint { code: None, after_s: 1, message: "pages wait" };
/// let reason = hint.to_string();
/// assert_eq!(reason, "retry in 1 s: pages wait");
/// assert_eq!(RetryHint::parse(&reason), Some(hint));
/// assert_eq!(RetryHint::parse("the bridge is shutting down"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryHint<'a> {
    /// The code of the error, if it has one.
    pub code: Option<&'a str>,
    /// The minimum time until the next attempt, in seconds.
    pub after_s: u16,
    /// The reason in words, with what to do.
    pub message: &'a str,
}

impl<'a> RetryHint<'a> {
    /// Parses the reason of a close frame. Returns `None` if it has no time.
    pub fn parse(reason: &'a str) -> Option<Self> {
        let name = reason.bytes().take_while(u8::is_ascii_alphabetic).count();
        let code = reason.get(..name)?;
        let (code, rest) = match reason.get(name..)?.strip_prefix(", ") {
            Some(rest) => (Some(code), rest),
            None => (None, reason),
        };
        let rest = rest.strip_prefix("retry in ")?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number = rest.get(..digits)?;
        let message = rest.get(digits..)?.strip_prefix(" s: ")?;
        let is_number = (1..=MAX_DIGITS).contains(&digits);
        is_number.then(|| Self {
            code,
            after_s: number
                .bytes()
                .fold(0, |number, digit| number * 10 + u16::from(digit - b'0')),
            message,
        })
    }
}

impl fmt::Display for RetryHint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(code) = self.code {
            write!(f, "{code}, ")?;
        }
        write!(f, "retry in {} s: {}", self.after_s, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_parsed_from_its_text() {
        for (code, after_s, message) in [
            (None, 1, "512 pages are connecting: é"),
            (Some("RealmLimitExceeded"), 9999, ""),
        ] {
            let hint = RetryHint {
                code,
                after_s,
                message,
            };
            assert_eq!(RetryHint::parse(&hint.to_string()), Some(hint));
        }
    }

    #[test]
    fn other_reasons_have_no_hint() {
        for reason in [
            "",
            "é",
            "retry in ",
            "retry in s: a",
            "retry in 1 s",
            "retry in 10000 s: too long",
            "retry in -1 s: a",
            "retry later",
            "InvalidAuthentication",
            "InvalidAuthentication, the token is wrong",
            "two words, retry in 1 s: a",
        ] {
            assert_eq!(RetryHint::parse(reason), None, "{reason}");
        }
    }
}
