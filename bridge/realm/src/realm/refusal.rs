//! The refusal of a page or an MCP client.

use bridge_protocol::ErrorCode;

/// The reason why a page may not connect, or why an MCP client may not connect or subscribe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: ErrorCode,
    pub message: String,
}
