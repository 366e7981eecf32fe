//! Messages in parts.

use bridge_protocol::CloseCode;
use bridge_protocol::parts::{self, PartError, Taken};

use crate::page_wire::Closing;

/// Puts messages together from frames.
pub(super) struct Assembler(parts::Assembler);

impl Assembler {
    pub(super) fn new(limit: usize) -> Self {
        Self(parts::Assembler::new(limit))
    }

    /// Takes a part; `None` when more of its message follows.
    pub(super) fn take(&mut self, part: &str) -> Result<Option<String>, Closing> {
        match self.0.take(part) {
            Ok(Taken::Unfinished) => Ok(None),
            Ok(Taken::Message(message)) => Ok(Some(message.into_owned())),
            Err(error) => Err(refused(error)),
        }
    }

    /// Whether more of some message follows.
    pub(super) fn is_receiving(&self) -> bool {
        self.0.is_receiving()
    }
}

fn refused(error: PartError) -> Closing {
    let code = match error {
        PartError::Malformed => CloseCode::UnsupportedData,
        PartError::TooLarge { .. } | PartError::TooMany => CloseCode::MessageTooBig,
    };
    Closing::new(code, error.to_string())
}
