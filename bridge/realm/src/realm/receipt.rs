//! The acknowledgement of a call by its page.

use std::time::Duration;
use web_time::Instant;

use bridge_protocol::limits::STALE_AFTER;

/// The number of pings that the page's browser must answer before a call without a receipt counts
/// as not started. A browser may send its first pong before data that waits for the network, and
/// sends that data right after it.
pub(super) const PROBE_ROUNDS: u8 = 2;

/// The maximum time for the answer to a ping, and for the bridge to read what has arrived before a
/// call times out.
pub(super) const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the bridge waits before it repeats a ping whose answer came after other data.
pub(super) const PROBE_RETRY_DELAY: Duration = Duration::from_secs(1);

/// The earliest time after sending a call at which the absence of its receipt can prove anything.
///
/// The page sends the receipt and then starts the handler without asking only within
/// [`STALE_AFTER`]. The rest is for the way from the page's thread to the process that answers
/// pings.
pub(super) const EARLIEST_PROOF: Duration = STALE_AFTER.saturating_add(Duration::from_secs(1));

/// Whether the page has acknowledged a call, or waits for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// The page must acknowledge the call before `until`.
    Awaited { until: Instant },
    /// The receipt is overdue, and the page was sent the ping with this number, which is the
    /// `round`th one because of this call.
    Probed {
        probe: u64,
        round: u8,
        until: Instant,
    },
    /// The call waits for the next document of its session, which must register the item before
    /// `until`. The current document, if there is one, does not know the call.
    AwaitsDocument { until: Instant },
    /// The page has acknowledged the call, or does not acknowledge calls at all.
    Received,
}

impl Receipt {
    /// When the bridge must act if the receipt has not arrived.
    pub(super) fn until(self) -> Option<Instant> {
        match self {
            Receipt::Awaited { until }
            | Receipt::Probed { until, .. }
            | Receipt::AwaitsDocument { until } => Some(until),
            Receipt::Received => None,
        }
    }

    /// Whether the call waits for the next document of its session.
    pub(super) fn awaits_document(self) -> bool {
        matches!(self, Receipt::AwaitsDocument { .. })
    }

    /// The same receipt, expected later by this time.
    pub(super) fn extended(self, by: Duration) -> Self {
        match self {
            Receipt::Awaited { until } => Receipt::Awaited { until: until + by },
            Receipt::Probed {
                probe,
                round,
                until,
            } => Receipt::Probed {
                probe,
                round,
                until: until + by,
            },
            Receipt::AwaitsDocument { until } => Receipt::AwaitsDocument { until: until + by },
            Receipt::Received => Receipt::Received,
        }
    }
}
