//! Sending and receiving of messages in parts (see [`bridge_protocol::message_parts`]).
//!
//! The texts stay strings of the browser, and their lengths are counted in UTF-16 units. A text has
//! at most as many units as bytes, so a bridge that keeps to a limit in bytes is never rejected.

use bridge_protocol::limits::{MAX_UNFINISHED_MESSAGES, PART_BYTES};

/// A message longer than this, in UTF-16 units, is sent in parts of at most this length. A unit has
/// at most three bytes, and the head of a part needs a few.
pub const MAX_PART_UNITS: usize = (PART_BYTES - 32) / 3;

/// The longest head of a part, which ends before the space: `#+`, or `#.` for the last part, and at
/// most 20 digits.
pub const MAX_HEAD_UNITS: usize = 22;

/// The prefix of a part. A page finishes one message before it begins the next, so that one id is
/// enough.
pub const PART_PREFIX: &str = "#+1 ";

/// The prefix of the last part of a message.
pub const LAST_PART_PREFIX: &str = "#.1 ";

/// Returns the end of the part that begins at `start`, which never splits a surrogate pair, or
/// `None` if the rest fits into one part.
pub fn split_point(start: usize, length: usize, unit_at: impl Fn(usize) -> u16) -> Option<usize> {
    if length - start <= MAX_PART_UNITS {
        return None;
    }
    let end = start + MAX_PART_UNITS;
    let splits_pair = (0xdc00..0xe000).contains(&unit_at(end));
    Some(end - usize::from(splits_pair))
}

/// A frame that begins like a part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<J> {
    /// The text before the first space, or the whole frame.
    pub head: String,
    /// The text after the first space.
    pub text: J,
    /// The length of the text, in UTF-16 units.
    pub length: usize,
}

/// Assembles messages from the parts that arrive on a connection.
#[derive(Debug)]
pub(super) struct Assembler<J>(Vec<PartialMessage<J>>);

#[derive(Debug)]
struct PartialMessage<J> {
    id: String,
    texts: Vec<J>,
    length: usize,
}

/// The error of an invalid part: a malformed head, a message that is too large, or too many
/// unfinished messages.
#[derive(Debug)]
pub(super) struct PartError;

impl<J> Assembler<J> {
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a part. Returns the texts of the message in order when it is complete.
    ///
    /// # Errors
    /// Returns [`PartError`] when the bridge breaks the rules of parts.
    pub(super) fn push(
        &mut self,
        part: Part<J>,
        limit: usize,
    ) -> Result<Option<Vec<J>>, PartError> {
        let (id, is_last) = parse_head(&part.head).ok_or(PartError)?;
        let received: usize = self.0.iter().map(|message| message.length).sum();
        if received + part.length > limit {
            return Err(PartError);
        }
        let existing = self.0.iter().position(|message| message.id == id);
        let index = match existing {
            Some(index) => index,
            None if is_last => return Ok(Some(vec![part.text])),
            None if self.0.len() >= MAX_UNFINISHED_MESSAGES => return Err(PartError),
            None => {
                self.0.push(PartialMessage {
                    id: id.to_owned(),
                    texts: Vec::new(),
                    length: 0,
                });
                self.0.len() - 1
            }
        };
        let message = &mut self.0[index];
        message.length += part.length;
        message.texts.push(part.text);
        Ok(is_last.then(|| self.0.swap_remove(index).texts))
    }

    /// Drops all unfinished messages, because there is a new connection.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Parses the head of a part into its id, and whether it is the last part.
fn parse_head(head: &str) -> Option<(&str, bool)> {
    let (id, is_last) = match head.strip_prefix("#.") {
        Some(id) => (id, true),
        None => (head.strip_prefix("#+")?, false),
    };
    let is_number = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && head.len() <= MAX_HEAD_UNITS).then_some((id, is_last))
}
