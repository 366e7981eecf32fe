//! The acknowledgement of a call by its page.

use std::time::Instant;

/// Whether the call has reached page code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    Awaited { until: Instant },
    Received,
}
