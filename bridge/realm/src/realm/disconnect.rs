//! The ways in which a connection of a page can end.

use bridge_protocol::CallId;

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
