//! Invisible characters, and those that change the direction of the text around them.
//!
//! They can carry instructions that only a model reads, and make a person approve something other
//! than what happens. Models receive texts without them ([`without_invisible`]). People see them
//! ([`visible_text`], [`visible_line`], [`escape_in_json`]).
//!
//! A character of the table stays where readers see its effect, so that texts stay readable:
//!
//! - a single variation selector after an emoji, or in the cap of a key (`1️⃣`);
//! - a zero-width joiner between two emojis;
//! - a joiner that changes the Arabic letter before it, and one beside a virama.
//!
//! Therefore no text has two of them in sequence, except U+FE0F and U+200D between emojis.
//!
//! The SDK shows texts by the same rule: a test generates `web-sdk/js/text/invisible.ts` from the
//! tables.

mod ranges;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use ranges::{EMOJI, INVISIBLE, JOINED, JOINING, VIRAMAS, contains};

const ZERO_WIDTH_NON_JOINER: char = '\u{200c}';
const ZERO_WIDTH_JOINER: char = '\u{200d}';
const TEXT_PRESENTATION: char = '\u{fe0e}';
const EMOJI_PRESENTATION: char = '\u{fe0f}';
const KEYCAP: char = '\u{20e3}';

/// Returns whether a character is in the table of invisible ones, whatever is around it. Control
/// characters are, except line feed and tab.
///
/// # Examples
///
/// ```
/// use bridge_protocol::invisible::is_invisible;
///
/// assert!(is_invisible('\u{202e}') && is_invisible('\r'));
/// assert!(!is_invisible('\n') && !is_invisible(' '));
/// ```
#[must_use]
pub fn is_invisible(character: char) -> bool {
    !is_visible_ascii(character) && contains(INVISIBLE, character)
}

/// Returns a text for a model: without invisible characters. Separators of lines and paragraphs become
/// line feeds.
///
/// # Examples
///
/// ```
/// use bridge_protocol::invisible::without_invisible;
///
/// assert_eq!(without_invisible("a\u{200b}b ☀\u{fe0f}\u{fe0f}"), "ab ☀\u{fe0f}");
/// ```
#[must_use]
pub fn without_invisible(text: &str) -> Cow<'_, str> {
    replace(text, |replaced, character| {
        if matches!(character, '\u{2028}' | '\u{2029}') {
            replaced.push('\n');
        }
    })
}

/// Returns a text for a person: invisible characters are shown, as `\u{202e}`. Line feeds and tabs are
/// unchanged.
///
/// # Examples
///
/// ```
/// use bridge_protocol::invisible::visible_text;
///
/// assert_eq!(visible_text("ann\u{202e}\n"), "ann\\u{202e}\n");
/// ```
#[must_use]
pub fn visible_text(text: &str) -> Cow<'_, str> {
    replace(text, push_escaped)
}

/// Returns a text for a person that stays on its line, such as a name: line feeds and tabs are also
/// shown.
///
/// # Examples
///
/// ```
/// use bridge_protocol::invisible::visible_line;
///
/// assert_eq!(visible_line("ann\u{202e}\n"), r"ann\u{202e}\u{a}");
/// ```
#[must_use]
pub fn visible_line(text: &str) -> Cow<'_, str> {
    let visible = visible_text(text);
    if !visible.contains(['\n', '\t']) {
        return visible;
    }
    let mut line = String::with_capacity(visible.len());
    for character in visible.chars() {
        match character {
            '\n' | '\t' => push_escaped(&mut line, character),
            _ => line.push(character),
        }
    }
    Cow::Owned(line)
}

/// Returns JSON of the same value in which every character of the table is escaped, as `\u202e`.
///
/// # Examples
///
/// ```
/// use bridge_protocol::invisible::escape_in_json;
///
/// assert_eq!(escape_in_json("\"\u{202e}\u{e0041}\""), r#""\u202e\udb40\udc41""#);
/// ```
#[must_use]
pub fn escape_in_json(json: &str) -> Cow<'_, str> {
    // Of the control characters below, JSON has only white space, and only outside of strings.
    let is_escaped = |character: char| character > ' ' && is_invisible(character);
    if !json.contains(is_escaped) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        if is_escaped(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                escaped += &format!("\\u{unit:04x}");
            }
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

fn push_escaped(text: &mut String, character: char) {
    text.extend(character.escape_unicode());
}

/// Replaces each character of the table that has no visible effect by what `push` appends.
fn replace(text: &str, push: impl Fn(&mut String, char)) -> Cow<'_, str> {
    if !text.chars().any(is_invisible) {
        return Cow::Borrowed(text);
    }
    let mut replaced = String::with_capacity(text.len());
    let mut before = ['\n'; 2];
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let next = characters.clone().next().unwrap_or('\n');
        if is_invisible(character) && !has_visible_effect(before, character, next) {
            push(&mut replaced, character);
        } else {
            replaced.push(character);
        }
        before = [before[1], character];
    }
    Cow::Owned(replaced)
}

/// Returns whether readers see what a character of the table does to those around it.
fn has_visible_effect([second_last, last]: [char; 2], character: char, next: char) -> bool {
    match character {
        TEXT_PRESENTATION | EMOJI_PRESENTATION => {
            contains(EMOJI, last) || next == KEYCAP && matches!(last, '#' | '*' | '0'..='9')
        }
        ZERO_WIDTH_JOINER => {
            let has_selector = last == EMOJI_PRESENTATION;
            let emoji = if has_selector { second_last } else { last };
            let joins_emojis = contains(EMOJI, emoji) && contains(EMOJI, next);
            // The letter is drawn as if another one followed.
            let joins_letter = contains(JOINING, last) && is_visible_ascii(next);
            joins_emojis || joins_letter || is_at_virama(last, next)
        }
        // The letter is drawn as if none followed.
        ZERO_WIDTH_NON_JOINER => {
            contains(JOINING, last) && contains(JOINED, next) || is_at_virama(last, next)
        }
        _ => false,
    }
}

/// Returns whether a joiner between these characters changes what a virama does.
fn is_at_virama(last: char, next: char) -> bool {
    let is_indic_letter = matches!(last, '\u{900}'..='\u{dff}');
    contains(VIRAMAS, last) || is_indic_letter && contains(VIRAMAS, next)
}

fn is_visible_ascii(character: char) -> bool {
    matches!(character, ' '..='~' | '\n' | '\t')
}
