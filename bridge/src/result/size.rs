//! How many bytes JSON has as it is sent.

use std::io;

use serde::Serialize;
use serde_json::{Map, Value};

use super::ToolResult;

/// What an answer has beside its result: JSON-RPC, the event that carries it, what the MCP leg adds.
pub(crate) const ENVELOPE_BYTES: usize = 1024;

/// What a character may become: `\u0000`.
const LONGEST_ESCAPE: usize = 6;

/// What a value has beside its text: commas, colons, quotes, brackets, a number.
const NODE_BYTES: usize = 32;

/// The size of a value as JSON, without making the text.
pub(crate) fn encoded(value: &impl Serialize) -> usize {
    struct Counter(usize);
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // Counting cannot fail.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

/// The size of a result.
pub(crate) fn of(result: &ToolResult) -> usize {
    match &result.raw {
        Some(raw) => raw.encoded(),
        None => encoded(result),
    }
}

/// Whether a result surely has no more bytes than this. Looks at no text, and at few values.
pub(crate) fn is_surely_within(result: &ToolResult, bytes: usize) -> bool {
    if let Some(raw) = &result.raw {
        return raw.at_most() <= bytes;
    }
    let left = bytes.checked_sub(4 * NODE_BYTES);
    let mut values = result.content.iter().chain(&result.structured);
    let left = left.and_then(|left| values.try_fold(left, less));
    let meta = result.meta.as_ref();
    left.is_some_and(|left| meta.is_none_or(|meta| are_surely_within(meta, left)))
}

/// The same of an object.
pub(crate) fn are_surely_within(fields: &Map<String, Value>, bytes: usize) -> bool {
    less_fields(bytes, fields).is_some()
}

fn less(left: usize, value: &Value) -> Option<usize> {
    let left = left.checked_sub(NODE_BYTES)?;
    match value {
        Value::String(text) => less_text(left, text),
        Value::Array(items) => items.iter().try_fold(left, less),
        Value::Object(fields) => less_fields(left, fields),
        _ => Some(left),
    }
}

fn less_fields(left: usize, fields: &Map<String, Value>) -> Option<usize> {
    let mut fields = fields.iter();
    fields.try_fold(left, |left, (key, inner)| {
        less(less_text(left, key)?, inner)
    })
}

fn less_text(left: usize, text: &str) -> Option<usize> {
    left.checked_sub(LONGEST_ESCAPE * text.len())
}

/// The longest beginning of a text that has no more bytes than this within a JSON string.
pub(crate) fn beginning(text: &str, bytes: usize) -> &str {
    let mut left = bytes;
    for (at, character) in text.char_indices() {
        match left.checked_sub(escaped(character)) {
            Some(rest) => left = rest,
            None => return &text[..at],
        }
    }
    text
}

/// The characters of a text as clients in JavaScript count them: UTF-16 code units.
pub(crate) fn characters(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The longest beginning of a text that has no more characters than this, counted so.
pub(crate) fn first_characters(text: &str, most: usize) -> &str {
    let mut left = most;
    for (at, character) in text.char_indices() {
        match left.checked_sub(character.len_utf16()) {
            Some(rest) => left = rest,
            None => return &text[..at],
        }
    }
    text
}

/// As serde_json writes it.
fn escaped(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => LONGEST_ESCAPE,
        other => other.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn every_kind_of_character() -> String {
        let controls = (0..0x20u8).map(char::from);
        controls.chain("\"\\aé→😀\u{7f}\u{2028}".chars()).collect()
    }

    #[test]
    fn characters_are_counted_as_they_are_written() {
        for character in every_kind_of_character().chars() {
            let written = serde_json::to_string(&character.to_string()).unwrap();
            assert_eq!(escaped(character), written.len() - 2, "{character:?}");
        }
    }

    #[test]
    fn a_beginning_ends_between_characters_and_is_the_longest() {
        let text = every_kind_of_character();
        let whole = serde_json::to_string(&text).unwrap().len() - 2;
        for bytes in 0..=whole + 1 {
            let beginning = beginning(&text, bytes);
            assert!(text.starts_with(beginning));
            assert!(serde_json::to_string(beginning).unwrap().len() - 2 <= bytes);
            let next = text[beginning.len()..].chars().next();
            let longer: String = beginning.chars().chain(next).collect();
            let longer = serde_json::to_string(&longer).unwrap().len() - 2;
            assert!(next.is_none() || longer > bytes, "{bytes}");
        }
    }

    #[test]
    fn the_first_characters_end_between_characters() {
        let text = every_kind_of_character();
        for most in 0..=characters(&text) + 1 {
            let first = first_characters(&text, most);
            assert!(text.starts_with(first) && characters(first) <= most);
            let next = text[first.len()..].chars().next();
            let longer = next.map(|next| characters(first) + next.len_utf16());
            assert!(longer.is_none_or(|longer| longer > most), "{most}");
        }
    }

    #[test]
    fn what_is_surely_within_is_within() {
        let text = every_kind_of_character();
        let mut result = ToolResult::from_value(Some(json!({ text.clone(): [1, text, null, {}] })));
        result.meta = json!({ "k": { "v": -1.234e-100 } }).as_object().cloned();
        let bytes = encoded(&result);
        assert!((0..bytes).all(|fewer| !is_surely_within(&result, fewer)));
        assert!(is_surely_within(&result, 10 * bytes));
    }
}
