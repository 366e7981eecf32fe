//! Separates thoughts from the text that follows them, for servers that do not parse the output of
//! their model: it begins with `<think>`, and the thoughts end with `</think>`.
//!
//! A text without the tag passes at once, as soon as it cannot become the tag any more.

use serde::de::IgnoredAny;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// The beginning of code in Markdown.
const FENCE: &str = "```";

/// Maximum number of bytes held back at the beginning. Some models write white space endlessly.
const MAX_HELD_BYTES: usize = 64;

/// Reads a text in pieces of any size.
#[derive(Debug, Default)]
pub(super) struct ThinkTags {
    position: Position,
    /// The end of what was read, which may be a part of a tag.
    held: String,
    has_opened: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Position {
    /// Before the first character that is not white space.
    #[default]
    Start,
    /// After `<think>`, before the first character that is not white space.
    BeforeThoughts,
    Thoughts,
    /// After `</think>`, before the first character that is not white space.
    BeforeText,
    Text,
}

/// The parts of a piece. The thoughts are before the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Separated {
    pub(super) thoughts: String,
    pub(super) text: String,
}

impl Separated {
    /// Creates a piece without thoughts.
    pub(super) fn of_text(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }
}

impl ThinkTags {
    /// Reads a piece. The white space around the tags is left out.
    pub(super) fn read(&mut self, piece: &str) -> Separated {
        let mut separated = Separated::default();
        self.held.push_str(piece);
        while self.advance(&mut separated) {}
        separated
    }

    /// Returns what is held back, at the end of the text.
    pub(super) fn finish(&mut self) -> Separated {
        let held = std::mem::take(&mut self.held);
        match self.position {
            Position::BeforeThoughts | Position::Thoughts => Separated {
                thoughts: held,
                ..Separated::default()
            },
            Position::Start | Position::BeforeText | Position::Text => Separated {
                text: held,
                ..Separated::default()
            },
        }
    }

    /// Whether the text has begun with the tag of thoughts.
    pub(super) fn has_opened(&self) -> bool {
        self.has_opened
    }

    /// Reads up to the next position. Returns whether it was reached.
    fn advance(&mut self, separated: &mut Separated) -> bool {
        match self.position {
            Position::Start => {
                let trimmed = self.held.trim_start();
                if let Some(rest) = trimmed.strip_prefix(OPEN) {
                    self.held = rest.to_owned();
                    self.has_opened = true;
                    self.position = Position::BeforeThoughts;
                } else if OPEN.starts_with(trimmed) && self.held.len() <= MAX_HELD_BYTES {
                    return false;
                } else {
                    self.position = Position::Text;
                }
            }
            Position::BeforeThoughts => return self.skip_white_space(Position::Thoughts),
            Position::Thoughts => {
                if let Some((thoughts, rest)) = self.held.split_once(CLOSE) {
                    separated.thoughts.push_str(thoughts);
                    self.held = rest.to_owned();
                    self.position = Position::BeforeText;
                } else {
                    let begun = (1..CLOSE.len()).rev();
                    let mut begun = begun.filter(|&len| self.held.ends_with(&CLOSE[..len]));
                    let passed = self.held.len() - begun.next().unwrap_or_default();
                    separated.thoughts.extend(self.held.drain(..passed));
                    return false;
                }
            }
            Position::BeforeText => return self.skip_white_space(Position::Text),
            Position::Text => {
                separated.text.push_str(&self.held);
                self.held.clear();
                return false;
            }
        }
        true
    }

    fn skip_white_space(&mut self, next: Position) -> bool {
        self.held = self.held.trim_start().to_owned();
        if self.held.is_empty() {
            return false;
        }
        self.position = next;
        true
    }
}

/// Divides a whole text whose thoughts end with a tag and begin without one, because the chat template
/// has written the first. Templates write the tag at the beginning or at the end of a line. A tag within
/// a line, in code or in JSON belongs to the text.
pub(super) fn split_unopened(text: &str) -> Option<(&str, &str)> {
    let (thoughts, rest) = text.split_once(CLOSE)?;
    let ends_line = rest
        .lines()
        .next()
        .is_none_or(|line| line.trim().is_empty());
    let is_text = !(ends_line || thoughts.trim().is_empty())
        || [OPEN, FENCE].iter().any(|it| thoughts.contains(it))
        || serde_json::from_str::<IgnoredAny>(text).is_ok();
    (!is_text).then(|| (thoughts.trim(), rest.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads pieces, and returns everything with the end.
    fn separate<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (String, String) {
        let mut tags = ThinkTags::default();
        let mut whole = Separated::default();
        let mut add = |part: Separated| {
            whole.thoughts.push_str(&part.thoughts);
            whole.text.push_str(&part.text);
        };
        for piece in pieces {
            add(tags.read(piece));
        }
        add(tags.finish());
        (whole.thoughts, whole.text)
    }

    #[test]
    fn thoughts_are_separated_in_pieces_of_any_size() {
        for (text, thoughts, answer) in [
            ("<think>Hm.</think>Yes", "Hm.", "Yes"),
            (
                "\n<think>\nHm < 3 </ 4.</think>\n\nÄ</think>",
                "Hm < 3 </ 4.",
                "Ä</think>",
            ),
            ("<think>\n\n</think>\n\nYes", "", "Yes"),
            ("<think>never </thi", "never </thi", ""),
            ("Yes <think>no</think>", "", "Yes <think>no</think>"),
            ("<thin ice", "", "<thin ice"),
            ("<thi", "", "<thi"),
            ("  Yes ", "", "  Yes "),
            ("<think>a</think><think>b</think>", "a", "<think>b</think>"),
            ("<think>", "", ""),
            ("", "", ""),
        ] {
            let expected = (thoughts.to_owned(), answer.to_owned());
            assert_eq!(separate([text]), expected, "{text:?}");
            let characters = text
                .char_indices()
                .map(|(at, it)| &text[at..at + it.len_utf8()]);
            assert_eq!(separate(characters), expected, "{text:?} in characters");
            for (cut, _) in text.char_indices() {
                let (one, other) = text.split_at(cut);
                assert_eq!(separate([one, other]), expected, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn only_what_can_become_a_tag_is_held_back() {
        let mut tags = ThinkTags::default();
        let steps = [
            ("<th", "", ""),
            ("ink>Hm", "Hm", ""),
            (" 1 < 2", " 1 < 2", ""),
            ("<", "", ""),
            ("b", "<b", ""),
            ("</think", "", ""),
            (">", "", ""),
            ("\n", "", ""),
            ("Yes", "", "Yes"),
            ("<", "", "<"),
        ];
        for (piece, thoughts, text) in steps {
            let separated = tags.read(piece);
            assert_eq!(
                (&*separated.thoughts, &*separated.text),
                (thoughts, text),
                "{piece}"
            );
        }
        let mut tags = ThinkTags::default();
        assert_eq!(tags.read("Y").text, "Y");
        assert_eq!(tags.read("<").text, "<");
    }

    #[test]
    fn thoughts_without_their_first_tag_are_divided_at_the_end() {
        for (text, expected) in [
            ("Hm.\n</think>\n\nYes", Some(("Hm.", "Yes"))),
            ("</think>Yes", Some(("", "Yes"))),
            ("Hm.</think>", Some(("Hm.", ""))),
            ("</think>b</think>", Some(("", "b</think>"))),
            ("Hm.</think> \r\nYes", Some(("Hm.", "Yes"))),
            ("a</think>b</think>", None),
            ("The tag </think> ends the thoughts.", None),
            ("Two tags: <b> and </think>.\nThey differ.", None),
            ("So:\n```\nHm.\n</think>\nYes\n```", None),
            ("Yes", None),
            ("Yes </thin", None),
            ("Write <think> and </think>", None),
            ("Close it with `</think>`", None),
            ("{\"a\":\"b</think>\"}", None),
        ] {
            assert_eq!(split_unopened(text), expected, "{text:?}");
        }
    }

    #[test]
    fn endless_white_space_passes() {
        let mut tags = ThinkTags::default();
        let passed: usize = (0..200).map(|_| tags.read("\n").text.len()).sum();
        assert_eq!(passed, 200);
    }
}
