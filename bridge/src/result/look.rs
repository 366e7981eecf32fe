//! One pass over the text of a JSON value, without making the value.
//!
//! A long text is not gone through byte by byte: who wrote its beginning without white space wrote the
//! rest so, and what else matters is looked for with the processor's wide registers.

use memchr::{memchr2, memmem};

use crate::json::DEEPEST;

/// Longer texts are judged by so many bytes of their beginning.
const SAMPLE_BYTES: usize = 4096;

/// A string that is no longer is gone through byte by byte.
const SHORT: usize = 16;

/// So many brackets are counted at a time: fewer than may be within each other.
const BRACKETS: usize = 64;

/// What one pass over a text finds. The text must be JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    /// It is not as `JSON.stringify` writes it: white space, or escapes that need not be.
    pub(super) loose: bool,
    /// Too deep for most readers.
    pub(super) deep: bool,
    /// It may be an image, or have one, or have a `_meta` of its own (only of a text that is not
    /// loose).
    pub(super) lifts: bool,
}

impl Look {
    pub(super) fn at(json: &str) -> Self {
        let bytes = json.as_bytes();
        if bytes.len() <= 2 * SAMPLE_BYTES {
            return Self::closely(json);
        }
        let sample = Self::closely(&json[..json.floor_char_boundary(SAMPLE_BYTES)]);
        // Within a string is nothing that its beginning does not tell.
        let is_as_sampled = !sample.loose
            && (bytes[0] == b'"'
                || memchr2(b'\n', b'\r', bytes).is_none()
                    && !["_meta", "dataUrl"].iter().any(|name| has(bytes, name))
                    && is_shallow(bytes));
        match is_as_sampled {
            true => sample,
            false => Self::closely(json),
        }
    }

    /// Of each byte. The text may be cut off.
    fn closely(json: &str) -> Self {
        let bytes = json.as_bytes();
        let is_object = bytes.first() == Some(&b'{');
        let mut look = Self {
            lifts: json.starts_with("\"data:image/"),
            ..Self::default()
        };
        let (mut at, mut depth) = (0, 0_usize);
        while let Some(byte) = bytes.get(at) {
            at += 1;
            match byte {
                b'"' => {
                    let begin = at;
                    at = look.string_end(bytes, at);
                    if depth == 1 && is_object && bytes.get(at) == Some(&b':') {
                        let name = &bytes[begin..at - 1];
                        look.lifts |=
                            matches!(name, b"_meta" | b"dataUrl") || name.contains(&b'\\');
                    }
                }
                b'{' | b'[' => {
                    depth += 1;
                    look.deep |= depth > DEEPEST;
                }
                b'}' | b']' => depth = depth.saturating_sub(1),
                b' ' | b'\n' | b'\r' | b'\t' => look.loose = true,
                _ => {}
            }
        }
        look
    }

    /// Where the string ends that begins here, behind its quote.
    fn string_end(&mut self, bytes: &[u8], begin: usize) -> usize {
        let mut at = begin;
        // Most strings are short: wide registers would take longer to begin with them.
        while at < begin + SHORT {
            match bytes.get(at) {
                Some(b'"') => return at + 1,
                None => return bytes.len(),
                Some(b'\\') => break,
                Some(_) => at += 1,
            }
        }
        while let Some(found) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
            at += found;
            if bytes[at] == b'"' {
                return at + 1;
            }
            self.loose |= !is_needed(&bytes[at..]);
            at += 2;
        }
        bytes.len()
    }
}

fn has(json: &[u8], name: &str) -> bool {
    memmem::find(json, name.as_bytes()).is_some()
}

/// Whether the brackets of a text are never many within each other. Those in strings count too.
fn is_shallow(json: &[u8]) -> bool {
    let mut depth = 0_usize;
    for bytes in json.chunks(BRACKETS) {
        // `[` and `{` differ in one bit, and so do `]` and `}`.
        let count = |bracket: u8| -> usize {
            let found = bytes.iter().map(|byte| u8::from(byte | 0x20 == bracket));
            usize::from(found.sum::<u8>())
        };
        let (open, closed) = (count(b'{'), count(b'}'));
        if depth + open > DEEPEST {
            return false;
        }
        depth = (depth + open).saturating_sub(closed);
    }
    true
}

/// Whether an escape is the one that `JSON.stringify` writes for its character.
fn is_needed(escape: &[u8]) -> bool {
    match escape {
        [_, b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't', ..] => true,
        [_, b'u', b'0', b'0', b'0', low, ..] => matches!(low, b'0'..=b'7' | b'b' | b'e' | b'f'),
        [_, b'u', b'0', b'0', b'1', low, ..] => matches!(low, b'0'..=b'9' | b'a'..=b'f'),
        _ => false,
    }
}

/// The same value as `JSON.stringify` would write it, but for its numbers and for names that stand
/// twice. `None` for a string that cannot be read.
pub(super) fn tight(json: &str) -> Option<String> {
    let mut tight = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find(['"', ' ', '\n', '\r', '\t']) {
        tight.push_str(&rest[..at]);
        rest = &rest[at..];
        if !rest.starts_with('"') {
            rest = &rest[1..];
            continue;
        }
        let mut look = Look::default();
        let end = look.string_end(rest.as_bytes(), 1);
        let (string, after) = rest.split_at(end);
        if look.loose {
            let read: String = serde_json::from_str(string).ok()?;
            tight.push_str(&serde_json::to_string(&read).ok()?);
        } else {
            tight.push_str(string);
        }
        rest = after;
    }
    tight.push_str(rest);
    Some(tight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_json_stringify_writes_is_left_alone() {
        for json in [
            "null",
            "-1.5e+30",
            r#""a b\n\"\\\b\f\r\t\u0000\u0007\u000b\u001f""#,
            r#"{"a":[{"_meta":1,"dataUrl":" "},[" "]],"_metas":"_meta","b":"dataUrl"}"#,
        ] {
            assert_eq!(Look::at(json), Look::default(), "{json}");
            assert_eq!(tight(json).as_deref(), Some(json));
        }
    }

    #[test]
    fn a_long_text_is_judged_by_its_beginning_and_by_what_must_not_be_missed() {
        let rows = |row: &str| format!("{{\"rows\":[{}1]}}", format!("{row},").repeat(2_000));
        let usual = rows(r#"{"id":1,"name":"a \"b\" c","tags":["x",[]],"n":null}"#);
        assert_eq!(Look::at(&usual), Look::default());
        let with = |member: &str| usual.replace("1]}", &format!("1],{member}}}"));
        assert!(Look::at(&with(r#""_meta":{}"#)).lifts);
        assert!(Look::at(&with(r#""dataUrl":"""#)).lifts);
        assert_eq!(Look::at(&with(r#""a":"_meta""#)), Look::default());
        assert!(Look::at(&with("\n\"a\":1")).loose);
        assert!(Look::at(&rows(r#"{"id": 1}"#)).loose);
        let deep = with(&format!(r#""a":{}{}"#, "[".repeat(200), "]".repeat(200)));
        assert!(Look::at(&deep).deep);
        // Brackets in strings raise no more than a doubt.
        let bracket = rows(r#"{"text":"[[[[{{{{ ]"}"#);
        assert_eq!(Look::at(&bracket), Look::default());
        let text = format!("\"{}\"", "a\\n_meta \\\"[".repeat(2_000));
        assert_eq!(Look::at(&text), Look::default());
    }

    #[test]
    fn what_must_be_looked_into_is_seen() {
        for lifting in [
            r#"{"a":{},"_meta":1}"#,
            r#"{"dataUrl":""}"#,
            r#""data:image/png""#,
            r#"{"\"":1}"#,
        ] {
            assert!(Look::at(lifting).lifts, "{lifting}");
        }
        for (loose, expected) in [
            (r#"{ "a" : [ 1 , " " ] }"#, r#"{"a":[1," "]}"#),
            (r#""\/\u00e9\u001F\u000a""#, r#""/é\u001f\n""#),
            ("[\n\t1\r\n]", "[1]"),
        ] {
            assert!(Look::at(loose).loose, "{loose}");
            assert_eq!(tight(loose).as_deref(), Some(expected));
        }
        let nested = |depth| "[".repeat(depth) + &"]".repeat(depth);
        assert!(!Look::at(&nested(DEEPEST)).deep);
        assert!(Look::at(&nested(DEEPEST + 1)).deep);
        assert!(serde_json::from_str::<serde_json::Value>(&nested(DEEPEST)).is_ok());
        assert!(serde_json::from_str::<serde_json::Value>(&nested(DEEPEST + 1)).is_err());
    }
}
