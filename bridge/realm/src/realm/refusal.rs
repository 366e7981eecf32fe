//! The refusal of a page or an MCP client.

use bridge_protocol::ErrorCode;

/// A page that may not connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: ErrorCode,
    pub message: String,
}
