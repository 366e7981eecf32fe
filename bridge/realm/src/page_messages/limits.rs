//! The limits of a page's messages.

use std::time::Duration;

/// What a page may send, and what the bridge tells it about itself.
#[derive(Clone, Copy, Debug)]
pub struct PageMessageLimits {
    /// Definitions of one session.
    pub max_definitions: usize,
    /// The largest result of a call, in bytes.
    pub max_result_bytes: usize,
    /// The largest message, in bytes.
    pub max_message_bytes: usize,
    /// The interval of heartbeats.
    pub heartbeat: Duration,
}
