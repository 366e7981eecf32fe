//! Base64 as MCP has it: the standard alphabet of RFC 4648, section 4, with padding and without line
//! breaks.

use std::borrow::Cow;

/// The beginnings of pictures in base64, with their types.
const PICTURE_BEGINNINGS: [(&str, &str); 5] = [
    ("iVBORw0KGgo", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGODdh", "image/gif"),
    ("R0lGODlh", "image/gif"),
    ("PHN2Zy", "image/svg+xml"),
];

/// Binary data from a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Base64<'a> {
    pub(crate) data: Cow<'a, str>,
    /// The type in front of the data, if they are a data URL with one.
    pub(crate) mime_type: Option<&'a str>,
}

/// Reads base64 in another spelling: a data URL, the alphabet of RFC 4648, section 5, line breaks,
/// and no padding.
///
/// # Errors
///
/// Describes what the text is instead.
pub(crate) fn parse(text: &str) -> Result<Base64<'_>, String> {
    if is_base64(text.as_bytes()) {
        return Ok(Base64 {
            data: Cow::Borrowed(text),
            mime_type: None,
        });
    }
    let (mime_type, encoded) = match strip_scheme(text) {
        None => (None, text),
        Some(url) => {
            let (head, data) = url
                .split_once(',')
                .filter(|(head, _)| head.to_ascii_lowercase().ends_with(";base64"))
                .ok_or("it is a data URL without base64: return its data as base64")?;
            let mime_type = head.split(';').next().filter(|it| !it.is_empty());
            (mime_type, data)
        }
    };
    let mut data = String::with_capacity(encoded.len() + 2);
    let end = |c: char| c == '=' || c.is_ascii_whitespace();
    for c in encoded.trim_start().trim_end_matches(end).chars() {
        match c {
            '-' => data.push('+'),
            '_' => data.push('/'),
            c if c.is_ascii_alphanumeric() || c == '+' || c == '/' => data.push(c),
            '\r' | '\n' | '\t' => {}
            c => return Err(format!("{c:?} is not a character of base64")),
        }
    }
    match data.len() % 4 {
        1 => return Err("it is cut off: base64 never has this length".to_owned()),
        rest => data.extend(std::iter::repeat_n('=', (4 - rest) % 4)),
    }
    Ok(Base64 {
        data: Cow::Owned(data),
        mime_type,
    })
}

/// Whether a text is base64 as MCP has it.
pub(crate) fn is_base64(text: &[u8]) -> bool {
    let padding = text.iter().rev().take(2).take_while(|byte| **byte == b'=');
    let data = &text[..text.len() - padding.count()];
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    text.len().is_multiple_of(4) && data.iter().all(is_digit)
}

/// The type of a picture, by the beginning of its data in base64.
pub(crate) fn picture_type(data: &str) -> Option<&'static str> {
    // The bytes from 9 to 11 of a RIFF file are the end of its form's name.
    if data.starts_with("UklGR") && data.get(12..16) == Some("RUJQ") {
        return Some("image/webp");
    }
    let found = PICTURE_BEGINNINGS
        .iter()
        .find(|(beginning, _)| data.starts_with(beginning));
    found.map(|(_, mime_type)| *mime_type)
}

/// Returns what follows `data:` in a data URL.
pub(crate) fn strip_scheme(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let scheme = text.get(.."data:".len())?;
    scheme
        .eq_ignore_ascii_case("data:")
        .then(|| &text["data:".len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_spellings_become_standard_base64() {
        for (text, data, mime_type) in [
            ("", "", None),
            ("AAAA", "AAAA", None),
            ("+/+/", "+/+/", None),
            ("-_-_", "+/+/", None),
            ("AAA", "AAA=", None),
            ("AA", "AA==", None),
            ("AA=", "AA==", None),
            ("AAAA====", "AAAA", None),
            (" AA\r\nAA\t", "AAAA", None),
            ("AA==\n", "AA==", None),
            ("data:image/png;base64,AAAA", "AAAA", Some("image/png")),
            (
                "DATA:image/png;name=a;BASE64,AA-A",
                "AA+A",
                Some("image/png"),
            ),
            ("data:;base64,AA", "AA==", None),
            ("data:base64;base64,", "", Some("base64")),
        ] {
            let parsed = parse(text).unwrap();
            assert_eq!(
                (&*parsed.data, parsed.mime_type),
                (data, mime_type),
                "{text}"
            );
            assert!(is_base64(data.as_bytes()));
            assert_eq!(is_base64(text.as_bytes()), text == data, "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused_with_the_reason() {
        for (text, why) in [
            ("%%%", "'%' is not a character"),
            ("A", "cut off"),
            ("AAAAA", "cut off"),
            ("A=AA", "'=' is not"),
            ("no base", "' ' is not"),
            ("https://example.com/a.png", "':' is not"),
            ("data:image/svg+xml,<svg/>", "without base64"),
            ("data:image/png", "without base64"),
            ("data:image/png;base64,ä", "'ä' is not"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
            assert!(!is_base64(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn pictures_are_recognized_by_their_beginning() {
        for (data, mime_type) in [
            ("iVBORw0KGgoAAAANSUhEUg", Some("image/png")),
            ("/9j/4AAQ", Some("image/jpeg")),
            ("R0lGODlhAQABAIAAAAUE", Some("image/gif")),
            ("UklGRiIAAABXRUJQVlA4", Some("image/webp")),
            ("UklGRiQAAABXQVZFZm10", None),
            ("UklG", None),
            ("AAAA", None),
        ] {
            assert_eq!(picture_type(data), mime_type, "{data}");
        }
    }
}
