//! The two ways in which a connection of a page can end.

/// How a connection has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disconnect {
    /// The document is gone (close code 1000 or 1001, or `leaving`).
    DocumentGone,
    /// The connection was lost; the page may reconnect within the grace period (`page_grace`).
    ConnectionLost,
}
