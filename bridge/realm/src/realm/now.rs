//! The time of an event, as the caller reads it from its clocks.

use web_time::Instant;

/// The time of an event: a monotonic instant for deadlines, and Unix milliseconds for display.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    pub instant: Instant,
    pub unix_ms: u64,
}
