//! The size of encoded JSON in bytes, in an event of a stream: with line separators escaped
//! ([`event_data`]). In a JSON body, these are shorter.

use std::io;

use bridge_protocol::event_data;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::tool_result::CallToolResult;

/// The bytes of a response besides its result: JSON-RPC, the server-sent event that carries it, and
/// what the MCP service adds.
pub const ENVELOPE_BYTES: usize = 1024;

/// The longest escape of a character: `\u0000`.
const MAX_ESCAPE_BYTES: usize = 6;

/// Escaping makes a line separator at most this many times as long: U+0085 has two bytes.
const MAX_SEPARATOR_GROWTH: usize = 3;

/// An upper bound for the bytes of a value besides its text: commas, colons, quotes, brackets, a
/// number.
const NODE_OVERHEAD_BYTES: usize = 32;

/// The encoded size of a value, computed without allocating the text.
pub fn encoded_len(value: &impl Serialize) -> usize {
    struct Counter(usize);
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len() + event_data::added_bytes(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // The counter never returns an error.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

/// The encoded size of a result.
pub fn result_len(result: &CallToolResult) -> usize {
    match result {
        CallToolResult::Passthrough(passthrough) => {
            passthrough.encoded_len() + passthrough.separator_escape_bytes()
        }
        CallToolResult::Built(built) => encoded_len(built),
    }
}

/// The values of a result that are visited to estimate its size.
const MAX_ESTIMATED_VALUES: usize = 10_000;

/// The approximate encoded size of a result.
pub fn estimated_result_len(result: &CallToolResult) -> usize {
    match result {
        CallToolResult::Passthrough(passthrough) => passthrough.max_encoded_len(),
        CallToolResult::Built(built) => {
            let values = built.content.iter().chain(&built.structured);
            estimated_len(values.chain(built.meta.iter().flat_map(|meta| meta.values())))
        }
    }
}

/// The approximate encoded size of an object.
pub fn estimated_object_len(fields: &Map<String, Value>) -> usize {
    estimated_len(fields.values())
}

/// The approximate encoded size of values. If there are very many, the size of the rest is assumed
/// to be large.
fn estimated_len<'a>(values: impl Iterator<Item = &'a Value>) -> usize {
    const LARGE: usize = 8 * 1024 * 1024;
    let mut open: Vec<&Value> = values.take(MAX_ESTIMATED_VALUES).collect();
    let (mut bytes, mut visited) = (0, open.len());
    while let Some(value) = open.pop() {
        bytes += NODE_OVERHEAD_BYTES;
        let inner = match value {
            Value::String(text) => {
                bytes += text.len();
                0
            }
            Value::Array(items) => items.len(),
            Value::Object(fields) => fields.len(),
            _ => 0,
        };
        visited += inner;
        if visited >= MAX_ESTIMATED_VALUES {
            return bytes + LARGE;
        }
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.values()),
            _ => {}
        }
    }
    bytes
}

/// Whether an upper bound of the encoded size is at most `bytes`. Visits at most as many values as
/// fit, and scans text only if line separators in it could make the difference.
pub fn fits_within(result: &CallToolResult, bytes: usize) -> bool {
    let built = match result {
        CallToolResult::Passthrough(passthrough) => {
            let max_len = passthrough.max_encoded_len();
            return MAX_SEPARATOR_GROWTH * max_len <= bytes
                || max_len <= bytes && max_len + passthrough.separator_escape_bytes() <= bytes;
        }
        CallToolResult::Built(built) => built,
    };
    let left = bytes.checked_sub(4 * NODE_OVERHEAD_BYTES);
    let mut values = built.content.iter().chain(&built.structured);
    let left = left.and_then(|left| values.try_fold(left, remaining_after));
    let meta = built.meta.as_ref();
    left.is_some_and(|left| meta.is_none_or(|meta| object_fits_within(meta, left)))
}

/// Whether an upper bound of the encoded size of an object is at most `bytes`.
pub fn object_fits_within(fields: &Map<String, Value>, bytes: usize) -> bool {
    remaining_after_fields(bytes, fields).is_some()
}

fn remaining_after(left: usize, value: &Value) -> Option<usize> {
    let left = left.checked_sub(NODE_OVERHEAD_BYTES)?;
    match value {
        Value::String(text) => remaining_after_text(left, text),
        Value::Array(items) => items.iter().try_fold(left, remaining_after),
        Value::Object(fields) => remaining_after_fields(left, fields),
        _ => Some(left),
    }
}

fn remaining_after_fields(left: usize, fields: &Map<String, Value>) -> Option<usize> {
    let mut fields = fields.iter();
    fields.try_fold(left, |left, (key, inner)| {
        remaining_after(remaining_after_text(left, key)?, inner)
    })
}

fn remaining_after_text(left: usize, text: &str) -> Option<usize> {
    left.checked_sub(MAX_ESCAPE_BYTES * text.len())
}

/// The longest prefix of a text that has at most `bytes` bytes as the content of a JSON string.
pub fn truncate_to_encoded_len(text: &str, bytes: usize) -> &str {
    let mut left = bytes;
    for (at, character) in text.char_indices() {
        match left.checked_sub(escaped_len(character)) {
            Some(rest) => left = rest,
            None => return &text[..at],
        }
    }
    text
}

/// The length of a text in UTF-16 code units, as JavaScript clients count it.
pub fn utf16_len(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The longest prefix of a text that has at most `max` UTF-16 code units.
pub fn truncate_to_utf16_len(text: &str, max: usize) -> &str {
    let mut left = max;
    for (at, character) in text.char_indices() {
        match left.checked_sub(character.len_utf16()) {
            Some(rest) => left = rest,
            None => return &text[..at],
        }
    }
    text
}

/// The length in bytes of a character in an event: as serde_json writes it, or the escape of a line
/// separator.
fn escaped_len(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' | '\u{85}' | '\u{2028}' | '\u{2029}' => MAX_ESCAPE_BYTES,
        other => other.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn every_kind_of_character() -> String {
        let controls = (0..0x20u8).map(char::from);
        controls
            .chain("\"\\aé→😀\u{7f}\u{85}\u{2028}\u{2029}".chars())
            .collect()
    }

    /// The length of a text in an event, without its quotes.
    fn len_in_event(text: &str) -> usize {
        let json = serde_json::to_vec(text).unwrap();
        event_data::from_json(json).len() - 2
    }

    #[test]
    fn escaped_len_matches_the_data_of_an_event() {
        for character in every_kind_of_character().chars() {
            let expected = len_in_event(&character.to_string());
            assert_eq!(escaped_len(character), expected, "{character:?}");
        }
        let text = every_kind_of_character();
        assert_eq!(encoded_len(&text), len_in_event(&text) + 2);
    }

    #[test]
    fn truncation_to_encoded_len_is_maximal_and_on_a_char_boundary() {
        let text = every_kind_of_character();
        let whole = len_in_event(&text);
        for bytes in 0..=whole + 1 {
            let truncated = truncate_to_encoded_len(&text, bytes);
            assert!(text.starts_with(truncated));
            assert!(len_in_event(truncated) <= bytes);
            let next = text[truncated.len()..].chars().next();
            let longer: String = truncated.chars().chain(next).collect();
            assert!(next.is_none() || len_in_event(&longer) > bytes, "{bytes}");
        }
    }

    #[test]
    fn truncation_to_utf16_len_is_maximal_and_on_a_char_boundary() {
        let text = every_kind_of_character();
        for max in 0..=utf16_len(&text) + 1 {
            let truncated = truncate_to_utf16_len(&text, max);
            assert!(text.starts_with(truncated) && utf16_len(truncated) <= max);
            let next = text[truncated.len()..].chars().next();
            let longer = next.map(|next| utf16_len(truncated) + next.len_utf16());
            assert!(longer.is_none_or(|longer| longer > max), "{max}");
        }
    }

    #[test]
    fn fits_within_never_underestimates() {
        let text = every_kind_of_character();
        let value = json!({ text.clone(): [1, text, null, {}] });
        let mut result = CallToolResult::from_value(Some(value)).into_parsed();
        result.meta = json!({ "k": { "v": -1.234e-100 } }).as_object().cloned();
        let result = CallToolResult::from(result);
        let bytes = encoded_len(&result);
        assert!((0..bytes).all(|fewer| !fits_within(&result, fewer)));
        assert!(fits_within(&result, 10 * bytes));
    }

    #[test]
    fn line_separators_count_as_they_are_sent_in_an_event() {
        let text = format!("\"{}\"", "\u{85}".repeat(1_000));
        for (json, bytes) in [
            (text.clone(), 6_000),
            // The text and the structured content.
            (format!("{{\"a\":{text}}}"), 12_000),
        ] {
            let raw = serde_json::value::RawValue::from_string(json).unwrap();
            let result = CallToolResult::from_raw_json(Some(raw.into())).unwrap();
            assert!(matches!(result, CallToolResult::Passthrough(_)));
            assert!((bytes..bytes + 200).contains(&result_len(&result)));
            assert!((0..result_len(&result)).all(|fewer| !fits_within(&result, fewer)));
            assert!(fits_within(&result, 3 * bytes));
        }
    }
}
