//! JSON as the data of a server-sent event.
//!
//! Only CR and LF end a line of an event stream (WHATWG HTML, "Server-sent events"). Some readers,
//! such as `iter_lines` of httpx, also end it at U+0085, U+2028 and U+2029. JSON has these characters
//! in strings only, where they can be escaped.

/// The number of bytes that are checked together, without a branch for each of them.
const CHUNK_BYTES: usize = 64;

/// The bytes of each character at which some readers end a line, and its escape in JSON.
const SEPARATORS: [(&[u8], &[u8]); 3] = [
    ("\u{85}".as_bytes(), b"\\u0085"),
    ("\u{2028}".as_bytes(), b"\\u2028"),
    ("\u{2029}".as_bytes(), b"\\u2029"),
];

/// Writes JSON as data that every reader of event streams reads as one line: line breaks, which are
/// only between the tokens of JSON, become spaces, and line separators in strings are escaped.
pub fn from_json(mut json: Vec<u8>) -> Vec<u8> {
    for byte in &mut json {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    escape_separators(&json).unwrap_or(json)
}

/// Escapes the line separators in the strings of JSON. Returns `None` if it has none.
pub fn escape_separators(json: &[u8]) -> Option<Vec<u8>> {
    let mut separators = separators(json).peekable();
    separators.peek()?;
    let mut escaped = Vec::with_capacity(json.len() + json.len() / 8);
    let mut copied = 0;
    for (at, (separator, escape)) in separators {
        escaped.extend_from_slice(&json[copied..at]);
        escaped.extend_from_slice(escape);
        copied = at + separator.len();
    }
    escaped.extend_from_slice(&json[copied..]);
    Some(escaped)
}

/// Returns how many bytes [`escape_separators`] adds to a text.
pub fn added_bytes(text: &[u8]) -> usize {
    separators(text)
        .map(|(_, (separator, escape))| escape.len() - separator.len())
        .sum()
}

/// Returns the positions of the line separators in a text, which begins and ends with a character.
fn separators(text: &[u8]) -> impl Iterator<Item = (usize, (&'static [u8], &'static [u8]))> {
    let chunks = text.chunks(CHUNK_BYTES).enumerate();
    let chunks = chunks.filter(|(_, chunk)| may_have_separator(chunk));
    chunks.flat_map(move |(index, chunk)| {
        let start = index * CHUNK_BYTES;
        let positions = (start..).zip(chunk);
        let positions = positions.filter(|(_, byte)| is_first_byte(**byte));
        positions.filter_map(move |(at, _)| {
            let rest = &text[at..];
            let mut separators = SEPARATORS.into_iter();
            let found = separators.find(|(separator, _)| rest.starts_with(separator))?;
            Some((at, found))
        })
    })
}

/// Returns whether a chunk has the first byte of a separator. The compiler vectorizes this.
fn may_have_separator(chunk: &[u8]) -> bool {
    let is_first = |byte: &u8| u8::from(is_first_byte(*byte));
    chunk.iter().fold(0, |any, byte| any | is_first(byte)) != 0
}

fn is_first_byte(byte: u8) -> bool {
    matches!(byte, 0xc2 | 0xe2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_one_line_for_every_reader() {
        for (json, expected) in [
            ("{}", "{}"),
            ("{\r\n  \"a\": 1\n}", "{    \"a\": 1 }"),
            (r#""a\n\u2028b""#, r#""a\n\u2028b""#),
            ("\"\u{2028}\u{2029}\u{85}\"", r#""\u2028\u2029\u0085""#),
            (
                "\"–\u{a0}©→\u{2027}\u{202a}\u{80}é😀\"",
                "\"–\u{a0}©→\u{2027}\u{202a}\u{80}é😀\"",
            ),
            ("\"\\\\\u{2028}\\\"\"", r#""\\\u2028\"""#),
        ] {
            let data = String::from_utf8(from_json(json.into())).unwrap();
            assert_eq!(data, expected, "{json:?}");
            assert_eq!(json.len() + added_bytes(json.as_bytes()), expected.len());
        }
    }

    #[test]
    fn separators_are_found_at_each_position_of_a_chunk() {
        for separator in ["\u{85}", "\u{2028}", "\u{2029}"] {
            for before in 0..2 * CHUNK_BYTES {
                let text = "x".repeat(before) + separator + &"→".repeat(CHUNK_BYTES);
                let escaped = String::from_utf8(from_json(text.clone().into())).unwrap();
                let escape = format!("\\u{:04x}", u32::from(separator.chars().next().unwrap()));
                assert_eq!(escaped, text.replace(separator, &escape));
            }
        }
    }
}
