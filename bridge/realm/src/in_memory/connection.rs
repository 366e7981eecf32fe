//! A socket of an in-memory bridge.

use std::time::Duration;

use bridge_protocol::SessionId;
use bridge_protocol::message_parts::Assembler;

/// Returns when a token expires, relative to the creation of the bridge: `None` if the token is
/// invalid, `Some(None)` if it does not expire.
pub type TokenLifetime = fn(&str) -> Option<Option<Duration>>;

/// The state of one socket.
#[derive(Debug)]
pub(super) struct InMemoryConnection {
    pub(super) session: SessionId,
    pub(super) authenticated: bool,
    pub(super) assembler: Assembler,
    /// The number of messages that were sent in parts.
    pub(super) split_messages: u64,
}

impl InMemoryConnection {
    pub(super) fn is_authenticated_for(&self, session: &SessionId) -> bool {
        self.authenticated && self.session == *session
    }
}
