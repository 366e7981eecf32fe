//! Media in an object, which a client receives as structured content and as text. No model can use
//! base64 in a text, so a note replaces it there.
//!
//! The JSON is not parsed: numbers stay as the page wrote them, however many values there are.

use std::borrow::Cow;

use crate::base64_text;

/// Objects up to this length, and strings in longer ones up to the second length, are repeated.
const MAX_REPEATED_BYTES: usize = 4096;
const MAX_REPEATED_STRING_BYTES: usize = 1024;

/// Longer types are not real.
const MAX_TYPE_BYTES: usize = 100;

/// Base64 is looked for in windows of so many bytes, each so many bytes after the one before. A
/// longer string of base64 has such a window.
const WINDOW_BYTES: usize = 64;
const STEP_BYTES: usize = 512;

/// Whether a JSON text is long and may have a long string with media. Reads only a part of the text,
/// unless it has other long strings.
pub fn may_repeat_media(json: &str) -> bool {
    if json.len() <= MAX_REPEATED_BYTES {
        return false;
    }
    let mut at = 0;
    while let Some(window) = json.as_bytes().get(at..at + WINDOW_BYTES) {
        if !window.iter().all(may_be_in_base64) {
            at += STEP_BYTES;
            continue;
        }
        let (before, after) = json.split_at(at);
        let start = before.rfind('"').map_or(0, |quote| quote + 1);
        if begins_as_media(&json[start..]) {
            return true;
        }
        let Some(end) = after.find('"') else {
            return false;
        };
        at += end + 1;
    }
    false
}

/// The JSON text of an object with a note in place of each long string with media, or `None` if it
/// has none. `json` is as `JSON.stringify` writes it.
pub(crate) fn without_media(json: &str) -> Option<String> {
    if !may_repeat_media(json) {
        return None;
    }
    let mut shorter = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(quote) = json[at..].find('"') {
        let start = at + quote + 1;
        let end = string_end(json, start)?;
        at = end + 1;
        let is_key = json.as_bytes().get(at) == Some(&b':');
        if !is_key && let Some(note) = describe(&json[start..end]) {
            shorter.push_str(&json[copied..start]);
            shorter.push_str(&note);
            copied = end;
        }
    }
    (copied > 0).then(|| shorter + &json[copied..])
}

/// The index of the quote that ends the string which begins at `start`.
fn string_end(json: &str, start: usize) -> Option<usize> {
    let bytes = json.as_bytes();
    let mut at = start;
    loop {
        let rest = bytes.get(at..)?;
        at += rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// Describes the media in the content of a string, as the content of a string.
fn describe(string: &str) -> Option<String> {
    if string.len() <= MAX_REPEATED_STRING_BYTES || !begins_as_media(string) {
        return None;
    }
    let text = if string.contains('\\') {
        Cow::Owned(serde_json::from_str(&format!("\"{string}\"")).ok()?)
    } else {
        Cow::Borrowed(string)
    };
    let parsed = base64_text::parse(&text).ok()?;
    let (mime_type, form) = match parsed.mime_type {
        Some(mime_type) => (mime_type, "a data URL"),
        None => (base64_text::picture_type(&parsed.data)?, "base64"),
    };
    let needs_escape = |c: char| matches!(c, '"' | '\\') || c.is_control();
    let is_plain = mime_type.len() <= MAX_TYPE_BYTES && !mime_type.contains(needs_escape);
    let length = text.len();
    is_plain
        .then(|| format!("({mime_type} in {form} of {length} characters: see structuredContent)"))
}

/// Whether the content of a string begins as a data URL or as a picture in base64.
fn begins_as_media(string: &str) -> bool {
    base64_text::strip_scheme(string).is_some() || base64_text::picture_type(string).is_some()
}

/// Whether a byte may be in base64 with line breaks, which are escaped.
fn may_be_in_base64(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=' | b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_are_described_wherever_they_are_in_an_object() {
        let data = "AAAA".repeat(400);
        let url = format!("data:image/png;base64,{data}");
        let (png, webp) = (
            format!("iVBORw0KGgo{data}A"),
            format!("UklGRiQAAABXRUJQ{data}"),
        );
        let note = |what: &str| format!("({what} characters: see structuredContent)");
        let url_note = note("image/png in a data URL of 1622");
        let png_note = note("image/png in base64 of 1612");
        let webp_note = note("image/webp in base64 of 1616");
        let filler = "some text; ".repeat(500);
        // Each line has 76 characters, as in MIME.
        let in_lines = |base64: &str| {
            let lines = base64.as_bytes().chunks(76);
            let lines: Vec<_> = lines
                .map(|line| std::str::from_utf8(line).unwrap())
                .collect();
            lines.join("\\n")
        };
        for (json, expected) in [
            (
                format!(r#"{{"a":"{url}","b":"{filler}"}}"#),
                Some(format!(r#"{{"a":"{url_note}","b":"{filler}"}}"#)),
            ),
            (
                format!(r#"{{"b":"{filler}","a":[{{"c":"{png}"}},1e400]}}"#),
                Some(format!(
                    r#"{{"b":"{filler}","a":[{{"c":"{png_note}"}},1e400]}}"#
                )),
            ),
            (
                format!(
                    r#"{{"a":"{webp}","b":"\"{filler}\\","c":"{png}","n":18446744073709551616}}"#
                ),
                Some(format!(
                    r#"{{"a":"{webp_note}","b":"\"{filler}\\","c":"{png_note}","n":18446744073709551616}}"#
                )),
            ),
            // Line breaks and other escapes, and a scheme in capitals.
            (
                format!(r#"{{"a":"{}","b":"{filler}"}}"#, in_lines(&png)),
                Some(format!(
                    r#"{{"a":"{}","b":"{filler}"}}"#,
                    note("image/png in base64 of 1633")
                )),
            ),
            (
                format!(r#"{{"a":"DATA:image\/png;base64,{data}","b":"{filler}"}}"#),
                Some(format!(r#"{{"a":"{url_note}","b":"{filler}"}}"#)),
            ),
            // Short objects, names, and text that is not a picture.
            (format!(r#"{{"a":"{url}"}}"#), None),
            (format!(r#"{{"{png}":1,"b":"{filler}"}}"#), None),
            (format!(r#"{{"a":"{data}","b":"{filler}"}}"#), None),
            (
                format!(r#"{{"a":"text;base64,{data}","b":"{filler}"}}"#),
                None,
            ),
            (
                format!(r#"{{"a":"data:a\"b;base64,{data}","b":"{filler}"}}"#),
                None,
            ),
            (
                format!(r#"{{"a":"data:a\nb;base64,{data}","b":"{filler}"}}"#),
                None,
            ),
            (
                format!(r#"{{"a":"{}","b":"{url}%%"}}"#, "x".repeat(100_000)),
                None,
            ),
        ] {
            assert_eq!(without_media(&json), expected, "{json}");
        }
    }

    #[test]
    fn a_long_string_with_media_is_found_at_every_place() {
        let data = "A".repeat(MAX_REPEATED_STRING_BYTES);
        for before in MAX_REPEATED_BYTES..MAX_REPEATED_BYTES + STEP_BYTES {
            let json = format!(r#"{{"b":"{}","a":"/9j/{data}"}}"#, " ".repeat(before));
            assert!(may_repeat_media(&json), "{before}");
        }
        let many = format!(
            r#"{{"a":["{}"]}}"#,
            vec!["x".repeat(70); 100_000].join("\",\"")
        );
        assert!(!may_repeat_media(&many));
    }
}
