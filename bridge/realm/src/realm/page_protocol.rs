//! The version of the page protocol, and what follows from it for a session.

use std::time::{Duration, Instant};

use super::Receipt;

/// The version of the protocol that a page uses on its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageProtocol {
    /// The protocol of the crate `bridge-protocol`.
    V2,
    /// The protocol of pages that were written for mcp-web 0.1: they acknowledge nothing, answer no
    /// heartbeat, and register everything again on each connection. Their session ends with its
    /// connection.
    V1,
}

/// The call timeout of the bridge of mcp-web 0.1, for which these pages were written.
const V1_CALL_TIMEOUT: Duration = Duration::from_secs(30);

impl PageProtocol {
    /// How long the page may take for a call.
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

    /// Whether the page answers heartbeats. Otherwise only the browser can be asked, with
    /// [`Effect::Ping`](super::Effect::Ping).
    pub(super) fn answers_heartbeats(self) -> bool {
        self == PageProtocol::V2
    }
}
