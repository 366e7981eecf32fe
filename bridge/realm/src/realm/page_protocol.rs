//! The version of the page protocol, and how a session depends on it.

use std::time::Duration;
use web_time::Instant;

use super::Receipt;

/// The version of the protocol that a page uses on its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageProtocol {
    /// The protocol of the crate `bridge-protocol`.
    V2,
    /// The protocol of pages that were written for mcp-web 0.1. They acknowledge nothing, answer no
    /// heartbeat, and register everything again on each connection. Their session ends with its
    /// connection.
    V1,
}

/// The call timeout of the bridge of mcp-web 0.1, on which V1 pages rely.
const V1_CALL_TIMEOUT: Duration = Duration::from_secs(30);

impl PageProtocol {
    /// The maximum duration of a call.
    pub(super) fn call_timeout(self, configured: Duration) -> Duration {
        match self {
            PageProtocol::V2 => configured,
            PageProtocol::V1 => V1_CALL_TIMEOUT,
        }
    }

    /// The receipt state of a call that is sent now.
    pub(super) fn receipt(self, until: Instant) -> Receipt {
        match self {
            PageProtocol::V2 => Receipt::Awaited { until },
            PageProtocol::V1 => Receipt::Received,
        }
    }

    /// How long a session waits for its page to reconnect.
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

    /// Whether the page answers heartbeats. If not, only the browser can be checked, with
    /// [`Effect::Ping`](super::Effect::Ping).
    pub(super) fn answers_heartbeats(self) -> bool {
        self == PageProtocol::V2
    }
}
