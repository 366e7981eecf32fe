//! The forms in which a value may occur in a text: unchanged and encoded.
//!
//! Encoders differ in the characters that they leave unchanged, so one encoding has several forms.
//! Most tokens consist of letters and digits only, for which most of these forms are equal.

use std::collections::HashMap;
use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::Value;

/// The characters beside letters and digits that URL encoders leave unchanged.
const KEPT_IN_URLS: [&str; 8] = [
    // Nothing, such as `NON_ALPHANUMERIC` of the crate percent-encoding.
    "",
    // The unreserved characters of RFC 3986 section 2.3, as Python's `quote` leaves them.
    "-._~",
    "-._~/",
    // `encodeURIComponent` of JavaScript, and forms (URL Standard section 5.2).
    "-._~!'()*",
    "-._*",
    // The user, the path and the query of a URL (URL Standard section 1.3).
    "-._~!'()*$%&+,",
    "-._~!'()*$%&+,/:;=@[\\]|",
    "-._~!'()*$%&+,/:;=@[\\]|?^`{}",
];

/// The characters that encoders of JSON escape by their numbers, whether also those that are not
/// ASCII, and whether the digits are uppercase.
const ESCAPED_IN_JSON: [(&str, bool, bool); 5] = [
    ("", false, false),
    // Go.
    ("<>&\u{2028}\u{2029}", false, false),
    // Python and PHP.
    ("", true, false),
    ("", true, true),
    // .NET.
    ("<>&'+`", true, true),
];

/// The characters beside a form that also contain bits of the value.
#[derive(Clone, Copy, Default)]
pub(super) struct SharedChars {
    pub(super) before: bool,
    pub(super) after: bool,
}

/// Returns the forms of a value, each of them once.
pub(super) fn encoded_forms(value: &str) -> HashMap<String, SharedChars> {
    let mut forms = HashMap::new();
    for offset in 0..3 {
        forms.extend([
            base64_form(value, offset, &STANDARD_NO_PAD),
            base64_form(value, offset, &URL_SAFE_NO_PAD),
        ]);
    }
    let mut insert = |form: String| forms.insert(form, SharedChars::default());
    insert(value.to_owned());
    for kept in KEPT_IN_URLS {
        for uppercase in [false, true] {
            let form = url_form(value, kept, uppercase);
            insert(form.replace("%20", "+"));
            insert(form);
        }
    }
    let minimal = json_string(value);
    for (escaped, ascii, uppercase) in ESCAPED_IN_JSON {
        let form = json_form(&minimal, escaped, ascii, uppercase);
        insert(form.replace('/', "\\/"));
        insert(form);
    }
    // JSON in a text of JSON, which results of tools often are.
    insert(json_string(&minimal));
    forms
}

/// Returns the base64 of a value that begins some bytes after the start of what is encoded, as the
/// password in `user:password` does. Only the characters that depend on nothing else are returned.
fn base64_form(value: &str, offset: usize, engine: &impl Engine) -> (String, SharedChars) {
    let mut bytes = vec![0; offset];
    bytes.extend_from_slice(value.as_bytes());
    let (start, end) = (offset * 8, bytes.len() * 8);
    let form = engine.encode(&bytes)[start.div_ceil(6)..end / 6].to_owned();
    let shared = SharedChars {
        before: !start.is_multiple_of(6),
        after: !end.is_multiple_of(6),
    };
    (form, shared)
}

fn url_form(value: &str, kept: &str, uppercase: bool) -> String {
    let mut form = String::new();
    for byte in value.bytes() {
        // Writing to a `String` cannot fail.
        let _ = match char::from(byte) {
            char if char.is_ascii_alphanumeric() || kept.contains(char) => form.write_char(char),
            _ if uppercase => write!(form, "%{byte:02X}"),
            _ => write!(form, "%{byte:02x}"),
        };
    }
    form
}

/// Returns a text as a string of JSON has it, without the quotes.
fn json_string(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn json_form(minimal: &str, escaped: &str, ascii: bool, uppercase: bool) -> String {
    let mut form = String::new();
    for char in minimal.chars() {
        if !escaped.contains(char) && (char.is_ascii() || !ascii) {
            form.push(char);
            continue;
        }
        for unit in char.encode_utf16(&mut [0; 2]) {
            let _ = if uppercase {
                write!(form, "\\u{unit:04X}")
            } else {
                write!(form, "\\u{unit:04x}")
            };
        }
    }
    form
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_of_letters_and_digits_has_few_forms() {
        let forms = encoded_forms("ghp0123456789abcdef");
        let mut texts: Vec<_> = forms.keys().map(String::as_str).collect();
        texts.sort_unstable();
        // Its own text, and base64 at three positions.
        assert_eq!(texts.len(), 4, "{texts:?}");
        assert!(texts.contains(&"ghp0123456789abcdef"));
    }

    #[test]
    fn forms_are_those_of_common_encoders() {
        let forms = encoded_forms("p/s+w=r d\"<\n~é('");
        for expected in [
            // JSON.stringify, and inside of another text of JSON.
            "p/s+w=r d\\\"<\\n~é('",
            "p/s+w=r d\\\\\\\"<\\\\n~é('",
            // json.Marshal of Go, json.dumps of Python, json_encode of PHP, System.Text.Json.
            "p/s+w=r d\\\"\\u003c\\n~é('",
            "p/s+w=r d\\\"<\\n~\\u00e9('",
            "p\\/s+w=r d\\\"<\\n~\\u00e9('",
            "p/s\\u002Bw=r d\\\"\\u003C\\n~\\u00E9(\\u0027",
            // encodeURIComponent, URLSearchParams, urllib.parse.quote, url.QueryEscape of Go.
            "p%2Fs%2Bw%3Dr%20d%22%3C%0A~%C3%A9('",
            "p%2Fs%2Bw%3Dr+d%22%3C%0A%7E%C3%A9%28%27",
            "p/s%2Bw%3Dr%20d%22%3C%0A~%C3%A9%28%27",
            "p%2Fs%2Bw%3Dr+d%22%3C%0A~%C3%A9%28%27",
            // The password and the query of `new URL`, and lowercase digits.
            "p%2Fs+w%3Dr%20d%22%3C%0A~%C3%A9('",
            "p/s+w=r%20d%22%3C%0A~%C3%A9('",
            "p%2fs%2bw%3dr%20d%22%3c%0a~%c3%a9('",
        ] {
            assert!(forms.contains_key(expected), "{expected}");
        }
    }

    #[test]
    fn base64_is_found_at_every_position() {
        for value in ["12345678", "123456789", "1234567890", "ÿþ?>~~~ÿ"] {
            let forms = encoded_forms(value);
            for (before, after) in [
                ("", ""),
                ("a", ""),
                ("ab", "c"),
                ("abc", "de"),
                ("user:", "fgh"),
            ] {
                let text = format!("{before}{value}{after}");
                for encoded in [STANDARD_NO_PAD.encode(&text), URL_SAFE_NO_PAD.encode(&text)] {
                    let is_found = forms.keys().any(|form| encoded.contains(form));
                    assert!(is_found, "{text}");
                }
            }
        }
    }
}
