//! The acknowledgement of a call by its page.

use std::time::Instant;

/// Whether the page has acknowledged a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// The page must acknowledge the call before `until`.
    Awaited { until: Instant },
    /// The page has acknowledged the call, or does not acknowledge calls at all.
    Received,
}
