//! The values that events of a realm have: their time, the sockets and clients that they come from,
//! how a connection ended, and the refusal of a page or an MCP client.

use bridge_protocol::{CallId, ErrorCode};
use web_time::Instant;

/// The time of an event: a monotonic instant for deadlines, and Unix milliseconds for display.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    pub instant: Instant,
    pub unix_ms: u64,
}

impl Now {
    /// The time since an earlier event in milliseconds, whatever happens to the clock of the host.
    pub(super) fn ms_since(self, earlier: Instant) -> u64 {
        let elapsed = self.instant.saturating_duration_since(earlier);
        u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
    }
}

/// Identifies a socket. The numbers increase and are never reused while the bridge runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// Identifies a connected MCP client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);

/// How a connection has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disconnect {
    /// The document is gone (close code 1000 or 1001).
    DocumentGone,
    /// The document has reported its end (`leaving`), and hands these calls over.
    Leaving { hands_over: Vec<CallId> },
    /// The connection was lost; the page may reconnect within the grace period (`page_grace`).
    ConnectionLost,
}

/// The reason why a page may not connect, or why an MCP client may not connect or subscribe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: ErrorCode,
    pub message: String,
}
