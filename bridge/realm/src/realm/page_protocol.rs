//! The dialect that a page's socket speaks, and what follows from it for its session.

use std::time::{Duration, Instant};

use super::Receipt;

/// See the module documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageProtocol {
    /// Our own.
    V2,
    /// That of pages which were made for another bridge: they acknowledge nothing, answer no
    /// heartbeat, and register all anew on each connection. Their session ends with its connection.
    V1,
}

/// What the bridge that they were made for gives a call.
const V1_CALL_TIMEOUT: Duration = Duration::from_secs(30);

impl PageProtocol {
    /// How long the page has for a call.
    pub(super) fn call_timeout(self, configured: Duration) -> Duration {
        match self {
            PageProtocol::V2 => configured,
            PageProtocol::V1 => V1_CALL_TIMEOUT,
        }
    }

    /// The receipt of a call that is sent.
    pub(super) fn receipt(self, until: Instant) -> Receipt {
        match self {
            PageProtocol::V2 => Receipt::Awaited { until },
            PageProtocol::V1 => Receipt::Received,
        }
    }

    /// How long a session waits for another connection.
    pub(super) fn grace(self, configured: Duration) -> Duration {
        match self {
            PageProtocol::V2 => configured,
            PageProtocol::V1 => Duration::ZERO,
        }
    }

    /// How long queries wait for another document to attach to them.
    pub(super) fn attach_timeout(self, configured: Duration) -> Duration {
        self.grace(configured)
    }

    /// Whether page code answers heartbeats. Else only the browser is asked, see
    /// [`Effect::Ping`](super::Effect::Ping).
    pub(super) fn answers_heartbeats(self) -> bool {
        self == PageProtocol::V2
    }
}
