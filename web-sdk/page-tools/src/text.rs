//! Makes strings of a page safe for a text that a model reads.

use std::borrow::Cow;

use bridge_protocol::invisible::without_invisible;

/// Joins texts: `join_text!["a", name, decimal(3)]`. The build removes the standard library's
/// formatting from the wasm.
macro_rules! join_text {
    ($($part:expr),+ $(,)?) => {
        [$(AsRef::<str>::as_ref(&$part)),+].concat()
    };
}

pub(crate) use join_text;

/// Returns the text without the [invisible characters](bridge_protocol::invisible), which include
/// those that YAML forbids. Separators of lines and paragraphs become line feeds.
#[must_use]
pub fn clean(text: &str) -> Cow<'_, str> {
    without_invisible(text)
}

/// Returns the text as one trimmed line, cut after `max` characters.
#[must_use]
pub fn one_line(text: &str, max: usize) -> String {
    let cleaned = clean(text);
    let words: Vec<_> = cleaned.split_whitespace().collect();
    cut_chars(&words.join(" "), max)
}

/// Returns the cleaned text, cut after `max` characters.
#[must_use]
pub fn several_lines(text: &str, max: usize) -> String {
    let cleaned = clean(text);
    let lines: Vec<_> = cleaned.trim().lines().map(str::trim_end).collect();
    cut_chars(&lines.join("\n"), max)
}

/// Cuts the text after `max` characters and appends a note with the number of characters.
#[must_use]
pub fn cut_chars(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some((end, _)) => join_text![split_at(text, end).0, cut_note(text)],
    }
}

/// Cuts the text after `max` bytes and appends a note with the number of bytes.
#[must_use]
pub fn cut_bytes(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(max);
    join_text![split_at(text, end).0, cut_note(text)]
}

/// Splits a text at a character boundary. (An index would add the code for its panic message to the
/// download.)
#[must_use]
pub fn split_at(text: &str, end: usize) -> (&str, &str) {
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// Returns the number of characters. (`chars().count()` would need code that the build removes.)
#[must_use]
pub fn char_count(text: &str) -> usize {
    text.bytes()
        .fold(0, |count, byte| count + usize::from(byte & 0xc0 != 0x80))
}

/// Writes a number.
#[must_use]
pub fn decimal(number: usize) -> String {
    let mut digits = Vec::new();
    let mut rest = number;
    loop {
        digits.push(b"0123456789"[rest % 10]);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    digits.into_iter().rev().map(char::from).collect()
}

/// Writes a character as an HTML entity code.
#[must_use]
pub fn char_code(character: char) -> String {
    decimal(character as usize)
}

fn cut_note(text: &str) -> String {
    join_text!["… (of ", grouped(char_count(text)), " characters)"]
}

/// Writes a number with commas between thousands.
fn grouped(number: usize) -> String {
    let digits = decimal(number);
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Returns whether one text contains another, in linear time: the algorithm of Knuth, Morris and
/// Pratt. (That of the standard library would add 3 kB to the download.)
#[must_use]
pub fn contains(text: &str, part: &str) -> bool {
    let part = part.as_bytes();
    // For each prefix of the part: the length of its longest shorter prefix that is also its
    // suffix.
    let mut borders = vec![0];
    let extend = |borders: &[usize], mut length: usize, byte: u8| loop {
        if part.get(length) == Some(&byte) {
            return length + 1;
        }
        match length.checked_sub(1).and_then(|last| borders.get(last)) {
            Some(border) => length = *border,
            None => return 0,
        }
    };
    for byte in part.iter().skip(1) {
        let border = borders.last().copied().unwrap_or_default();
        borders.push(extend(&borders, border, *byte));
    }
    let mut bytes = text.bytes();
    let mut length = 0;
    part.is_empty()
        || bytes.any(|byte| {
            length = extend(&borders, length, byte);
            length == part.len()
        })
}

/// Returns whether a text contains a character.
#[must_use]
pub fn has_char(text: &str, character: char) -> bool {
    text.chars().any(|it| it == character)
}

/// Returns whether one text contains another, ignoring case.
#[must_use]
pub fn contains_ignoring_case(text: &str, part: &str) -> bool {
    contains(&lowercase(text), &lowercase(part))
}

/// Returns the text in lower case. The wasm uses the browser's tables for this.
#[must_use]
pub fn lowercase(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    #[cfg(target_arch = "wasm32")]
    return crate::js::convert::lowercase(text);
    #[cfg(not(target_arch = "wasm32"))]
    text.to_lowercase()
}

/// Returns whether the character may be part of a word: letters, digits, and all characters outside
/// of ASCII except space and punctuation of other scripts.
#[must_use]
pub fn is_word_char(character: char) -> bool {
    match character {
        '\0'..='\u{7f}' => character.is_ascii_alphanumeric(),
        '\u{80}'..='\u{bf}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' => false,
        _ => !character.is_whitespace(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_removed() {
        assert_eq!(
            clean("a\u{200b}b\u{202e}c\u{e0041}\u{0}\u{85}\td\r\n"),
            "abc\td\n"
        );
        assert_eq!(clean("a\u{2028}b\u{ffff}"), "a\nb");
        assert_eq!(
            clean("☀\u{fe0f}\u{fe0f}\u{e0100}ab\u{fe00}\u{2060}\u{3164}"),
            "☀\u{fe0f}ab"
        );
        assert!(matches!(clean("Grüße 👋🏽"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_cut_text_states_its_original_length() {
        assert_eq!(cut_chars("abc", 3), "abc");
        assert_eq!(cut_chars("abcd", 3), "abc… (of 4 characters)");
        let long = "ä".repeat(12_345);
        assert_eq!(cut_chars(&long, 1), "ä… (of 12,345 characters)");
        assert_eq!(cut_bytes("ä", 2), "ä");
        assert_eq!(cut_bytes("aä", 2), "a… (of 2 characters)");
    }

    #[test]
    fn lines_are_trimmed() {
        assert_eq!(one_line("  a \n\t b ", 10), "a b");
        assert_eq!(several_lines("\n a  \nb\n\n", 10), "a\nb");
    }
}
