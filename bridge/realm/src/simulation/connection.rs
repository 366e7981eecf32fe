//! One socket of a simulated bridge.

use std::time::Duration;

use bridge_protocol::SessionId;
use bridge_protocol::parts::Assembler;

/// When a token ends, since the beginning of the simulation; `None` when it is not valid.
pub type TokenLifetime = fn(&str) -> Option<Option<Duration>>;

/// One socket.
#[derive(Debug)]
pub(super) struct SimulatedConnection {
    pub(super) session: SessionId,
    pub(super) authenticated: bool,
    pub(super) assembler: Assembler,
    /// Messages that were sent in parts.
    pub(super) split_messages: u64,
}

impl SimulatedConnection {
    pub(super) fn is_authenticated_for(&self, session: &SessionId) -> bool {
        self.authenticated && self.session == *session
    }
}
