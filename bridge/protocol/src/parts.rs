//! Messages in parts: a message longer than [`PART_BYTES`] travels as several text frames.
//!
//! A frame that begins with `{` is a whole message. Any other is a part: `#+ID TEXT`, or `#.ID TEXT`
//! for the last one, where `ID` is a decimal number that the sender gives to each of its messages in
//! parts. The texts, one after the other, are the message. Parts of different messages, and whole
//! messages, may come between.
//!
//! ```
//! use bridge_protocol::parts::{Assembler, Taken, split};
//!
//! let message = format!("{{\"type\":\"x\",\"data\":\"{}\"}}", "é".repeat(200_000));
//! let mut assembler = Assembler::new(1024 * 1024);
//! let mut frames = split(&message, 7).peekable();
//! while let Some(frame) = frames.next() {
//!     match assembler.take(&frame).unwrap() {
//!         Taken::Unfinished => assert!(frames.peek().is_some()),
//!         Taken::Message(whole) => assert_eq!(whole, message),
//!     }
//! }
//! ```

use std::borrow::Cow;
use std::fmt;

use crate::limits::{MAX_UNFINISHED_MESSAGES, PART_BYTES};

/// More digits are no id.
const MAX_ID_DIGITS: usize = 20;

/// Whether a frame is a part of a message.
///
/// ```
/// use bridge_protocol::parts::is_part;
///
/// assert!(is_part("#.1 {}"));
/// assert!(!is_part("{}"));
/// ```
pub fn is_part(frame: &str) -> bool {
    frame.starts_with('#')
}

/// The frames of a message in parts.
pub fn split(message: &str, id: u64) -> impl Iterator<Item = String> {
    let mut rest = Some(message);
    std::iter::from_fn(move || {
        let text = rest?;
        let (part, after) = text.split_at(text.floor_char_boundary(PART_BYTES));
        rest = (!after.is_empty()).then_some(after);
        let mark = if rest.is_some() { '+' } else { '.' };
        Some(format!("#{mark}{id} {part}"))
    })
}

/// Why a frame is refused. Each closes the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartError {
    /// It begins like a part and is none.
    Malformed,
    /// The messages under way have more bytes than the limit.
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// More than [`MAX_UNFINISHED_MESSAGES`] messages are under way.
    TooManyUnfinished,
}

impl fmt::Display for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartError::Malformed => {
                f.write_str("a part is `#+ID text`, and `#.ID text` the last one")
            }
            PartError::TooLarge { limit } => write!(f, "a message may have {limit} bytes"),
            PartError::TooManyUnfinished => {
                write!(f, "{MAX_UNFINISHED_MESSAGES} messages may be under way")
            }
        }
    }
}

impl std::error::Error for PartError {}

/// What became of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssemblyStatus<'a> {
    /// A message is whole.
    Complete(Cow<'a, str>),
    /// More of it follows.
    Incomplete,
}

/// Puts messages together that came in parts. One for each connection.
#[derive(Clone, Debug)]
pub struct Assembler {
    /// The most bytes that all messages under way may have together.
    limit: usize,
    bytes: usize,
    unfinished: Vec<(u64, String)>,
}

impl Assembler {
    /// `limit`: the most bytes that a message, and all messages under way together, may have.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            bytes: 0,
            unfinished: Vec::new(),
        }
    }

    /// Whether a message is under way: whoever sends it is alive.
    pub fn is_receiving(&self) -> bool {
        !self.unfinished.is_empty()
    }

    /// Takes a frame.
    ///
    /// # Errors
    /// [`PartError`]: the sender does not keep to the rules, and the connection must be closed.
    pub fn take<'a>(&mut self, frame: &'a str) -> Result<AssemblyStatus<'a>, PartError> {
        let Some(part) = frame.strip_prefix('#') else {
            return Ok(AssemblyStatus::Complete(Cow::Borrowed(frame)));
        };
        let (id, is_last, text) = parse_part(part).ok_or(PartError::Malformed)?;
        if text.len() > self.limit - self.bytes {
            return Err(PartError::TooLarge { limit: self.limit });
        }
        let known = self.unfinished.iter().position(|(known, _)| *known == id);
        match (known, is_last) {
            (None, true) => Ok(AssemblyStatus::Complete(Cow::Borrowed(text))),
            (None, false) if self.unfinished.len() >= MAX_UNFINISHED_MESSAGES => {
                Err(PartError::TooManyUnfinished)
            }
            (None, false) => {
                self.bytes += text.len();
                self.unfinished.push((id, text.to_owned()));
                Ok(AssemblyStatus::Incomplete)
            }
            (Some(place), false) => {
                self.bytes += text.len();
                let message = &mut self.unfinished[place].1;
                reserve(message, text.len(), self.limit);
                message.push_str(text);
                Ok(AssemblyStatus::Incomplete)
            }
            (Some(place), true) => {
                let (_, mut message) = self.unfinished.swap_remove(place);
                self.bytes -= message.len();
                message.push_str(text);
                Ok(AssemblyStatus::Complete(Cow::Owned(message)))
            }
        }
    }
}

/// A message in parts has many: room for four times as many each time it must be moved. Room that
/// nothing is written to costs nothing.
fn reserve(message: &mut String, more: usize, limit: usize) {
    if message.capacity() - message.len() < more {
        let most = limit.saturating_sub(message.len()).max(more);
        message.reserve_exact((3 * message.len()).clamp(more, most));
    }
}

/// The id of a part, whether it is the last, and its text.
fn parse_part(part: &str) -> Option<(u64, bool, &str)> {
    let is_last = match part.as_bytes().first()? {
        b'+' => false,
        b'.' => true,
        _ => return None,
    };
    let (id, text) = part[1..].split_once(' ')?;
    let is_number = id.len() <= MAX_ID_DIGITS && id.bytes().all(|byte| byte.is_ascii_digit());
    Some((is_number.then(|| id.parse().ok())??, is_last, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> AssemblyStatus<'_> {
        AssemblyStatus::Complete(Cow::Borrowed(text))
    }

    #[test]
    fn a_long_message_splits_into_numbered_parts() {
        let text = "é".repeat(PART_BYTES / 2 + 1);
        let frames: Vec<_> = split(&text, 12).collect();
        assert_eq!(frames.len(), 2);
        assert!(frames[0].starts_with("#+12 é"));
        assert_eq!(frames[1], "#.12 é");
        assert_eq!(split("{}", 3).collect::<Vec<_>>(), ["#.3 {}"]);
    }

    #[test]
    fn parts_of_different_messages_may_interleave() {
        let mut assembler = Assembler::new(100);
        assert_eq!(assembler.take("#+1 {\"a\""), Ok(AssemblyStatus::Incomplete));
        assert_eq!(assembler.take("{}"), Ok(message("{}")));
        assert_eq!(assembler.take("#+2 {\"b\""), Ok(AssemblyStatus::Incomplete));
        assert!(assembler.is_receiving());
        assert_eq!(assembler.take("#.1 :1}"), Ok(message("{\"a\":1}")));
        assert_eq!(assembler.take("#+2 :"), Ok(AssemblyStatus::Incomplete));
        assert_eq!(assembler.take("#.2 2}"), Ok(message("{\"b\":2}")));
        assert!(!assembler.is_receiving());
        assert_eq!(assembler.bytes, 0);
    }

    #[test]
    fn too_many_bytes_or_unfinished_messages_are_rejected() {
        let mut assembler = Assembler::new(10);
        assert_eq!(assembler.take("#+1 123456"), Ok(AssemblyStatus::Incomplete));
        let too_large = Err(PartError::TooLarge { limit: 10 });
        assert_eq!(assembler.take("#.1 78901"), too_large);
        assert_eq!(assembler.take("#.1 7890"), Ok(message("1234567890")));

        let mut assembler = Assembler::new(1000);
        for id in 0..MAX_UNFINISHED_MESSAGES {
            let frame = format!("#+{id} x");
            assert_eq!(assembler.take(&frame), Ok(AssemblyStatus::Incomplete));
        }
        assert_eq!(assembler.take("#+99 x"), Err(PartError::TooManyUnfinished));
    }

    #[test]
    fn malformed_parts_are_rejected() {
        let mut assembler = Assembler::new(1000);
        for frame in [
            "#",
            "#1 x",
            "#+ x",
            "#+1",
            "#+-1 x",
            "#+123456789012345678901 x",
            "#.+1 x",
        ] {
            assert_eq!(assembler.take(frame), Err(PartError::Malformed), "{frame}");
        }
    }
}
