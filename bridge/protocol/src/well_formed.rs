//! Repair of JavaScript strings that are not valid Unicode.

use std::borrow::Cow;

/// Replaces escaped surrogates without a partner by U+FFFD, as `String.toWellFormed` does.
///
/// A JavaScript string can end in the middle of a surrogate pair, and `JSON.stringify` escapes the
/// single surrogate. The result is valid JSON (RFC 8259 section 8.2), but not Unicode text.
pub fn to_well_formed(json: &str) -> Cow<'_, str> {
    // Most texts have no escaped surrogate at all.
    if !json.contains("\\u") || !json.contains("\\ud") && !json.contains("\\uD") {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let (escape, length) = match (
            leading_surrogate(rest),
            rest.get(6..).and_then(leading_surrogate),
        ) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (&rest[..12], 12),
            (Some(_), _) => ("\\ufffd", 6),
            // The escape includes the character after the backslash, so that `\\` is one escape.
            (None, _) => {
                let length = 1 + rest.chars().nth(1).map_or(0, char::len_utf8);
                (&rest[..length], length)
            }
        };
        text.push_str(escape);
        rest = &rest[length..];
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// Returns the surrogate if the text begins with an escaped one.
fn leading_surrogate(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let unit = u16::from_str_radix(digits, 16).ok()?;
    (0xd800..=0xdfff).contains(&unit).then_some(unit)
}

#[cfg(test)]
mod tests {
    use super::to_well_formed;

    #[test]
    fn only_surrogates_without_a_partner_are_replaced() {
        for (json, expected) in [
            (r#""plain \n \u00e9""#, r#""plain \n \u00e9""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\uD83D""#, r#""\ufffd""#),
            (r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#),
            (r#""\ud83d\ud83d\ude00x""#, r#""\ufffd\ud83d\ude00x""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\\\ud83dé""#, r#""\\\ufffdé""#),
            (r#""\ud8é""#, r#""\ud8é""#),
            (r#""\ud83d\"#, r#""\ufffd\"#),
        ] {
            assert_eq!(to_well_formed(json), expected, "{json}");
        }
    }
}
