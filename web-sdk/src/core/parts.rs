//! Messages in parts, as a page sends and receives them: see `bridge_protocol::parts`.
//!
//! The texts stay the browser's own strings. Their lengths are counted in UTF-16 units, of which a text
//! never has more than bytes: whoever keeps to a limit in bytes is never refused.

use bridge_protocol::limits::{MAX_UNFINISHED_MESSAGES, PART_BYTES};

/// A message longer than this is sent in parts of at most this, in UTF-16 units: each has at most three
/// bytes, and before the text there are a few.
pub const MAX_PART_UNITS: usize = (PART_BYTES - 32) / 3;

/// What a part begins with, up to the space: `#+`, or `#.` for the last one, and at most 20 digits.
pub const MAX_HEAD_UNITS: usize = 22;

/// A page sends a whole message before the next one begins, so that one id is enough.
pub const PART_PREFIX: &str = "#+1 ";

/// The last part of a message that a page sends.
pub const LAST_PART_PREFIX: &str = "#.1 ";

/// Where the part that begins at `start` ends: never between the two units of a character.
/// Nothing when all the rest fits.
pub fn split_point(start: usize, length: usize, unit_at: impl Fn(usize) -> u16) -> Option<usize> {
    if length - start <= MAX_PART_UNITS {
        return None;
    }
    let end = start + MAX_PART_UNITS;
    let is_second = (0xdc00..0xe000).contains(&unit_at(end));
    Some(end - usize::from(is_second))
}

/// A frame that begins like a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<V> {
    /// What is before the first space, or before the end.
    pub head: String,
    /// What is behind it.
    pub text: V,
    /// The length of the text, in UTF-16 units.
    pub length: usize,
}

/// Messages of which parts have arrived on this connection.
#[derive(Debug)]
pub(super) struct Assembler<V>(Vec<PartialMessage<V>>);

#[derive(Debug)]
struct PartialMessage<V> {
    id: String,
    texts: Vec<V>,
    length: usize,
}

/// A part without a number, more in parts than the limit, or parts of too many messages at a time.
#[derive(Debug)]
pub(super) struct PartError;

impl<V> Assembler<V> {
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    /// Takes a part. `Ok(Some)`: the message is whole, and these are its texts in order.
    ///
    /// # Errors
    /// The bridge did what it must not do.
    pub(super) fn push(
        &mut self,
        part: Part<V>,
        limit: usize,
    ) -> Result<Option<Vec<V>>, PartError> {
        let (id, is_last) = parse_head(&part.head).ok_or(PartError)?;
        let under_way: usize = self.0.iter().map(|unfinished| unfinished.length).sum();
        if under_way + part.length > limit {
            return Err(PartError);
        }
        let known = self.0.iter().position(|unfinished| unfinished.id == id);
        let place = match known {
            Some(place) => place,
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
        let unfinished = &mut self.0[place];
        unfinished.length += part.length;
        unfinished.texts.push(part.text);
        Ok(is_last.then(|| self.0.swap_remove(place).texts))
    }

    /// Another connection, which knows nothing of what was under way.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// The id of a part, and whether it is the last.
fn parse_head(head: &str) -> Option<(&str, bool)> {
    let (id, is_last) = match head.strip_prefix("#.") {
        Some(id) => (id, true),
        None => (head.strip_prefix("#+")?, false),
    };
    let is_number = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && head.len() <= MAX_HEAD_UNITS).then_some((id, is_last))
}
