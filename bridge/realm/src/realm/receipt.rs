//! The acknowledgement of a call by its page.

use std::time::Instant;

/// Whether the page has acknowledged a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    Awaited { until: Instant },
    Received,
}
