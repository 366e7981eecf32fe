//! The ways in which a connection of a page ends.

/// The way in which a connection has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disconnect {
    /// The document is gone (close code 1000 or 1001, or `leaving`).
    DocumentGone,
    /// The connection broke; the page may reconnect within the grace period (`page_grace`).
    ConnectionLost,
}
