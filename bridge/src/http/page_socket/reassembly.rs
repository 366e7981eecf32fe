//! Messages that arrive in several frames.

use bridge_protocol::CloseCode;
use bridge_protocol::message_parts::{self, AssemblyStatus, PartError};
use bridge_realm::page_messages::CloseFrame;

/// Puts messages together from their parts.
pub(super) struct Reassembler(message_parts::Assembler);

impl Reassembler {
    pub(super) fn new(max_message_bytes: usize) -> Self {
        Self(message_parts::Assembler::new(max_message_bytes))
    }

    /// Adds a part. Returns the message when it is complete.
    pub(super) fn push(&mut self, part: &str) -> Result<Option<String>, CloseFrame> {
        match self.0.push(part) {
            Ok(AssemblyStatus::Incomplete) => Ok(None),
            Ok(AssemblyStatus::Complete(message)) => Ok(Some(message.into_owned())),
            Err(error) => Err(close_frame_for(error)),
        }
    }

    /// The size of the incomplete messages, in bytes.
    pub(super) fn held_bytes(&self) -> usize {
        self.0.unfinished_bytes()
    }

    /// Whether a message is incomplete.
    pub(super) fn is_receiving(&self) -> bool {
        self.0.is_receiving()
    }
}

fn close_frame_for(error: PartError) -> CloseFrame {
    let code = match error {
        PartError::Malformed => CloseCode::UnsupportedData,
        PartError::TooLarge { .. } | PartError::TooManyUnfinished => CloseCode::MessageTooBig,
    };
    CloseFrame::new(code, error.to_string())
}
