//! The limits of a page's messages.

use std::time::Duration;

/// The limits of what a page may send, which the bridge also reports to the page.
#[derive(Clone, Copy, Debug)]
pub struct PageMessageLimits {
    /// The maximum number of definitions of one session.
    pub max_definitions: usize,
    /// The maximum size of the result of a call, in bytes.
    pub max_result_bytes: usize,
    /// The maximum size of a message, in bytes.
    pub max_message_bytes: usize,
    /// The interval between heartbeats.
    pub heartbeat: Duration,
}
