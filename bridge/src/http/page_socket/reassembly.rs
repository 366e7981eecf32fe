//! Messages in parts.

use bridge_protocol::CloseCode;
use bridge_protocol::parts::{self, AssemblyStatus, PartError};

use bridge_realm::page_messages::CloseFrame;

/// Puts messages together from frames.
pub(super) struct Reassembler(parts::Assembler);

impl Reassembler {
    pub(super) fn new(limit: usize) -> Self {
        Self(parts::Assembler::new(limit))
    }

    /// Takes a part; `None` when more of its message follows.
    pub(super) fn push(&mut self, part: &str) -> Result<Option<String>, CloseFrame> {
        match self.0.take(part) {
            Ok(AssemblyStatus::Incomplete) => Ok(None),
            Ok(AssemblyStatus::Complete(message)) => Ok(Some(message.into_owned())),
            Err(error) => Err(close_frame_for(error)),
        }
    }

    /// Whether more of some message follows.
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
