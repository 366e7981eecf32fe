//! Messages in parts: a message longer than [`PART_BYTES`] is sent as several text frames.
//!
//! A frame that begins with `{` is a complete message. Any other frame is a part: `#+ID TEXT`, or
//! `#.ID TEXT` for the last part. `ID` is a decimal number that the sender chooses for each of its
//! messages in parts. The message is the concatenation of the texts. Parts of different messages
//! may be interleaved with each other and with complete messages.
//!
//! ```
//! use bridge_protocol::message_parts::{Assembler, AssemblyStatus, split};
//!
//! let message = format!("{{\"type\":\"x\",\"data\":\"{}\"}}", "é".repeat(200_000));
//! let mut assembler = Assembler::new(1024 * 1024);
//! let mut frames = split(&message, 7).peekable();
//! while let Some(frame) = frames.next() {
//!     match assembler.push(&frame).unwrap() {
//!         AssemblyStatus::Incomplete => assert!(frames.peek().is_some()),
//!         AssemblyStatus::Complete(received) => assert_eq!(received, message),
//!     }
//! }
//! ```

use std::borrow::Cow;
use std::fmt;

use crate::limits::{MAX_UNFINISHED_MESSAGES, PART_BYTES};

/// The longest id, in digits: `u64::MAX` has 20.
const MAX_ID_DIGITS: usize = 20;

/// Returns whether a frame is a part of a message.
///
/// ```
/// use bridge_protocol::message_parts::is_part;
///
/// assert!(is_part("#.1 {}"));
/// assert!(!is_part("{}"));
/// ```
pub fn is_part(frame: &str) -> bool {
    frame.starts_with('#')
}

/// Splits a message into the frames of its parts.
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

/// The error of a frame that breaks the rules of parts. Each one closes the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartError {
    /// The frame begins like a part and is not a valid one.
    Malformed,
    /// The unfinished messages have more bytes than the limit.
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// There are more than [`MAX_UNFINISHED_MESSAGES`] unfinished messages.
    TooManyUnfinished,
}

impl fmt::Display for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartError::Malformed => {
                f.write_str("invalid part: expected `#+ID text`, or `#.ID text` for the last one")
            }
            PartError::TooLarge { limit } => write!(f, "the message is larger than {limit} bytes"),
            PartError::TooManyUnfinished => {
                write!(f, "more than {MAX_UNFINISHED_MESSAGES} unfinished messages")
            }
        }
    }
}

impl std::error::Error for PartError {}

/// The state of a message after a frame of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssemblyStatus<'a> {
    /// The message is complete.
    Complete(Cow<'a, str>),
    /// More parts of the message follow.
    Incomplete,
}

/// Assembles messages from the frames of one connection.
#[derive(Clone, Debug)]
pub struct Assembler {
    /// The maximum of `bytes`.
    limit: usize,
    /// The size of all unfinished messages together.
    bytes: usize,
    unfinished: Vec<(u64, String)>,
}

impl Assembler {
    /// Creates an assembler. `limit` is the maximum size in bytes of a message in parts, and of all
    /// unfinished messages together.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            bytes: 0,
            unfinished: Vec::new(),
        }
    }

    /// Returns whether there is an unfinished message, which shows that the sender is alive.
    pub fn is_receiving(&self) -> bool {
        !self.unfinished.is_empty()
    }

    /// Returns the size of all unfinished messages together, in bytes.
    pub fn unfinished_bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a frame.
    ///
    /// # Errors
    /// [`PartError`] when the sender breaks the rules. The connection must be closed.
    pub fn push<'a>(&mut self, frame: &'a str) -> Result<AssemblyStatus<'a>, PartError> {
        let Some(part) = frame.strip_prefix('#') else {
            return Ok(AssemblyStatus::Complete(Cow::Borrowed(frame)));
        };
        let (id, is_last, text) = parse_part(part).ok_or(PartError::Malformed)?;
        if text.len() > self.limit - self.bytes {
            return Err(PartError::TooLarge { limit: self.limit });
        }
        let index = self.unfinished.iter().position(|(other, _)| *other == id);
        match (index, is_last) {
            (None, true) => Ok(AssemblyStatus::Complete(Cow::Borrowed(text))),
            (None, false) if self.unfinished.len() >= MAX_UNFINISHED_MESSAGES => {
                Err(PartError::TooManyUnfinished)
            }
            (None, false) => {
                self.bytes += text.len();
                self.unfinished.push((id, text.to_owned()));
                Ok(AssemblyStatus::Incomplete)
            }
            (Some(index), false) => {
                self.bytes += text.len();
                let message = &mut self.unfinished[index].1;
                reserve(message, text.len(), self.limit);
                message.push_str(text);
                Ok(AssemblyStatus::Incomplete)
            }
            (Some(index), true) => {
                let (_, mut message) = self.unfinished.swap_remove(index);
                self.bytes -= message.len();
                message.push_str(text);
                Ok(AssemblyStatus::Complete(Cow::Owned(message)))
            }
        }
    }
}

/// Grows the message to four times its size, up to the limit, when its capacity is too small.
///
/// Messages in parts are long: few reallocations copy less, and memory that is not written to costs
/// nothing.
fn reserve(message: &mut String, more: usize, limit: usize) {
    if message.capacity() - message.len() < more {
        let max = limit.saturating_sub(message.len()).max(more);
        message.reserve_exact((3 * message.len()).clamp(more, max));
    }
}

/// Parses a part after its `#` into its id, whether it is the last one, and its text.
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
        assert_eq!(assembler.push("#+1 {\"a\""), Ok(AssemblyStatus::Incomplete));
        assert_eq!(assembler.push("{}"), Ok(message("{}")));
        assert_eq!(assembler.push("#+2 {\"b\""), Ok(AssemblyStatus::Incomplete));
        assert!(assembler.is_receiving());
        assert_eq!(assembler.push("#.1 :1}"), Ok(message("{\"a\":1}")));
        assert_eq!(assembler.push("#+2 :"), Ok(AssemblyStatus::Incomplete));
        assert_eq!(assembler.push("#.2 2}"), Ok(message("{\"b\":2}")));
        assert!(!assembler.is_receiving());
        assert_eq!(assembler.bytes, 0);
    }

    #[test]
    fn too_many_bytes_or_unfinished_messages_are_rejected() {
        let mut assembler = Assembler::new(10);
        assert_eq!(assembler.push("#+1 123456"), Ok(AssemblyStatus::Incomplete));
        let too_large = Err(PartError::TooLarge { limit: 10 });
        assert_eq!(assembler.push("#.1 78901"), too_large);
        assert_eq!(assembler.push("#.1 7890"), Ok(message("1234567890")));

        let mut assembler = Assembler::new(1000);
        for id in 0..MAX_UNFINISHED_MESSAGES {
            let frame = format!("#+{id} x");
            assert_eq!(assembler.push(&frame), Ok(AssemblyStatus::Incomplete));
        }
        assert_eq!(assembler.push("#+99 x"), Err(PartError::TooManyUnfinished));
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
            assert_eq!(assembler.push(frame), Err(PartError::Malformed), "{frame}");
        }
    }
}
