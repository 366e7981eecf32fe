//! The protocols of a floor.

/// How a floor changes the messages that it forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloorProtocol {
    /// It adds an id before the body for the page, and removes it from the page's answer.
    Bytes,
    /// It sends the page the `tool-call` that the bridge would send, and the caller the answer that
    /// the bridge would give.
    Mcp,
}
