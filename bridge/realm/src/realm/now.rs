//! The time of an event, as the caller reads it from its clocks.

use std::time::Instant;

/// The time of an event: monotonic for deadlines, Unix milliseconds for people.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    pub instant: Instant,
    pub unix_ms: u64,
}
