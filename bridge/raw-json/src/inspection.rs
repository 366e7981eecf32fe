//! One pass over the text of a JSON value, without parsing it.
//!
//! Long texts are not scanned byte by byte. If the beginning has no white space between tokens, the
//! rest is assumed to have none either, and everything else is searched for with SIMD instructions.

use memchr::{memchr2, memmem};

use crate::scanner::{MAX_JSON_DEPTH, must_be_unicode_escape};

/// Of texts that are longer than twice this many bytes, only the beginning is scanned byte by byte.
const SAMPLE_BYTES: usize = 4096;

/// Strings up to this length are scanned byte by byte.
const SHORT_STRING_BYTES: usize = 16;

/// The properties of a text that one pass finds. The text must be valid JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JsonTraits {
    /// The text is not as `JSON.stringify` writes it: it has white space or unnecessary escapes.
    pub needs_compacting: bool,
    /// The nesting exceeds [`MAX_JSON_DEPTH`].
    pub too_deep: bool,
    /// The value may be or contain an image, or may have a `_meta` member. Only meaningful if
    /// `needs_compacting` is false.
    pub needs_parsing: bool,
}

impl JsonTraits {
    /// Scans a text. Long texts are sampled.
    pub fn scan(json: &str) -> Self {
        let bytes = json.as_bytes();
        if bytes.len() <= 2 * SAMPLE_BYTES {
            return Self::scan_all(json);
        }
        let sample = Self::scan_all(&json[..json.floor_char_boundary(SAMPLE_BYTES)]);
        // The rest of a string cannot add traits.
        let is_as_sampled = !sample.needs_compacting
            && (bytes[0] == b'"'
                || memchr2(b'\n', b'\r', bytes).is_none()
                    && !["_meta", "dataUrl"]
                        .iter()
                        .any(|name| contains(bytes, name))
                    && has_few_brackets(bytes));
        if is_as_sampled {
            sample
        } else {
            Self::scan_all(json)
        }
    }

    /// Scans each byte. The text may be truncated.
    fn scan_all(json: &str) -> Self {
        let bytes = json.as_bytes();
        let is_object = bytes.first() == Some(&b'{');
        let mut traits = Self {
            needs_parsing: json.starts_with("\"data:image/"),
            ..Self::default()
        };
        let (mut at, mut depth) = (0, 0_usize);
        while let Some(byte) = bytes.get(at) {
            at += 1;
            match byte {
                b'"' => {
                    let begin = at;
                    at = traits.string_end(bytes, at);
                    if depth == 1 && is_object && bytes.get(at) == Some(&b':') {
                        let name = &bytes[begin..at - 1];
                        traits.needs_parsing |=
                            matches!(name, b"_meta" | b"dataUrl") || name.contains(&b'\\');
                    }
                }
                b'{' | b'[' => {
                    depth += 1;
                    traits.too_deep |= depth > MAX_JSON_DEPTH;
                }
                b'}' | b']' => depth = depth.saturating_sub(1),
                b' ' | b'\n' | b'\r' | b'\t' => traits.needs_compacting = true,
                _ => {}
            }
        }
        traits
    }

    /// The end of the string whose content begins at `begin`, after the opening quote.
    fn string_end(&mut self, bytes: &[u8], begin: usize) -> usize {
        let mut at = begin;
        // Most strings are short, and a SIMD search would take longer to start.
        while at < begin + SHORT_STRING_BYTES {
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
            self.needs_compacting |= !is_required_escape(&bytes[at..]);
            at += 2;
        }
        bytes.len()
    }
}

fn contains(json: &[u8], name: &str) -> bool {
    memmem::find(json, name.as_bytes()).is_some()
}

/// Whether there are so few opening brackets that the nesting cannot exceed [`MAX_JSON_DEPTH`].
/// Those in strings are counted too. Closing brackets are not subtracted, because those in strings
/// close nothing.
fn has_few_brackets(json: &[u8]) -> bool {
    // `[` and `{` differ in one bit.
    let opening = json.iter().filter(|byte| **byte | 0x20 == b'{');
    opening.count() <= MAX_JSON_DEPTH
}

/// Whether an escape is the one that `JSON.stringify` writes for its character.
fn is_required_escape(escape: &[u8]) -> bool {
    match escape {
        [_, b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't', ..] => true,
        [_, b'u', b'0', b'0', high, low, ..] => must_be_unicode_escape(*high, *low),
        _ => false,
    }
}

/// Writes the same value as `JSON.stringify` would, except for numbers and duplicate names, which
/// stay as they are. Returns `None` if a string is not valid.
pub fn compact(json: &str) -> Option<String> {
    let mut compacted = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find(['"', ' ', '\n', '\r', '\t']) {
        compacted.push_str(&rest[..at]);
        rest = &rest[at..];
        if !rest.starts_with('"') {
            rest = &rest[1..];
            continue;
        }
        let mut traits = JsonTraits::default();
        let end = traits.string_end(rest.as_bytes(), 1);
        let (string, after) = rest.split_at(end);
        if traits.needs_compacting {
            let parsed: String = serde_json::from_str(string).ok()?;
            compacted.push_str(&serde_json::to_string(&parsed).ok()?);
        } else {
            compacted.push_str(string);
        }
        rest = after;
    }
    compacted.push_str(rest);
    Some(compacted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_stringify_output_has_no_traits() {
        for json in [
            "null",
            "-1.5e+30",
            r#""a b\n\"\\\b\f\r\t\u0000\u0007\u000b\u001f""#,
            r#"{"a":[{"_meta":1,"dataUrl":" "},[" "]],"_metas":"_meta","b":"dataUrl"}"#,
        ] {
            assert_eq!(JsonTraits::scan(json), JsonTraits::default(), "{json}");
            assert_eq!(compact(json).as_deref(), Some(json));
        }
    }

    #[test]
    fn long_texts_are_sampled_without_missing_relevant_properties() {
        let rows = |row: &str| format!("{{\"rows\":[{}1]}}", format!("{row},").repeat(2_000));
        let usual = rows(r#"{"id":1,"name":"a \"b\" c","tags":["x",[]],"n":null}"#);
        assert_eq!(JsonTraits::scan(&usual), JsonTraits::default());
        let with = |member: &str| usual.replace("1]}", &format!("1],{member}}}"));
        assert!(JsonTraits::scan(&with(r#""_meta":{}"#)).needs_parsing);
        assert!(JsonTraits::scan(&with(r#""dataUrl":"""#)).needs_parsing);
        assert_eq!(
            JsonTraits::scan(&with(r#""a":"_meta""#)),
            JsonTraits::default()
        );
        assert!(JsonTraits::scan(&with("\n\"a\":1")).needs_compacting);
        assert!(JsonTraits::scan(&rows(r#"{"id": 1}"#)).needs_compacting);
        let deep = with(&format!(r#""a":{}{}"#, "[".repeat(200), "]".repeat(200)));
        assert!(JsonTraits::scan(&deep).too_deep);
        // Brackets in strings close nothing.
        let closing = r#"["]","#.repeat(MAX_JSON_DEPTH) + "1" + &"]".repeat(MAX_JSON_DEPTH);
        assert!(JsonTraits::scan(&with(&format!(r#""a":{closing}"#))).too_deep);
        // They may cause a scan of the whole text, but no trait.
        let bracket = rows(r#"{"text":"[[[[{{{{ ]"}"#);
        assert_eq!(JsonTraits::scan(&bracket), JsonTraits::default());
        let text = format!("\"{}\"", "a\\n_meta \\\"[".repeat(2_000));
        assert_eq!(JsonTraits::scan(&text), JsonTraits::default());
    }

    #[test]
    fn traits_are_found_and_compact_normalizes() {
        for lifting in [
            r#"{"a":{},"_meta":1}"#,
            r#"{"dataUrl":""}"#,
            r#""data:image/png""#,
            r#"{"\"":1}"#,
        ] {
            assert!(JsonTraits::scan(lifting).needs_parsing, "{lifting}");
        }
        for (loose, expected) in [
            (r#"{ "a" : [ 1 , " " ] }"#, r#"{"a":[1," "]}"#),
            (r#""\/\u00e9\u001F\u000a""#, r#""/é\u001f\n""#),
            ("[\n\t1\r\n]", "[1]"),
        ] {
            assert!(JsonTraits::scan(loose).needs_compacting, "{loose}");
            assert_eq!(compact(loose).as_deref(), Some(expected));
        }
        let nested = |depth| "[".repeat(depth) + &"]".repeat(depth);
        assert!(!JsonTraits::scan(&nested(MAX_JSON_DEPTH)).too_deep);
        assert!(JsonTraits::scan(&nested(MAX_JSON_DEPTH + 1)).too_deep);
        assert!(serde_json::from_str::<serde_json::Value>(&nested(MAX_JSON_DEPTH)).is_ok());
        assert!(serde_json::from_str::<serde_json::Value>(&nested(MAX_JSON_DEPTH + 1)).is_err());
    }
}
