//! The right to use the database for a call.

use std::time::Instant;

use agent_tools::CallPermit;

/// The right to use the database for a call.
#[derive(Debug)]
pub(super) struct Slot {
    /// When the call ends.
    pub(super) deadline: Instant,
    pub(super) _permit: CallPermit,
}
