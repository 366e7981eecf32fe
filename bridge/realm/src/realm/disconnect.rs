//! The ways in which a connection of a page ends.

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disconnect {
    /// The document is gone (close code 1000 or 1001, or `leaving`).
    DocumentGone,
    /// The connection broke; the page may come back within the grace.
    ConnectionLost,
}
