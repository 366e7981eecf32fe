//! The protocols that pages use with the target.

use clap::ValueEnum;

use super::route::Route;

/// The protocol between pages and the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Dialect {
    /// The page protocol as the SDK uses it.
    V2,
    /// The page protocol of mcp-web 0.1.
    V1,
    /// The protocol of the floor that forwards bytes: `ID BYTES`, without a handshake.
    Bytes,
    /// The protocol of the floor that writes MCP: calls and responses of the page protocol, without
    /// a handshake and without receipts.
    Minimum,
}

impl Dialect {
    /// Returns the dialect of a bridge's pages whose callers use this route.
    pub(super) fn for_route(route: Route) -> Self {
        match route {
            Route::V1 => Self::V1,
            _ => Self::V2,
        }
    }
}

/// How a page acknowledges a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Receipt {
    /// In a frame of its own, written together with the answer.
    Together,
    /// In a frame and a write of its own.
    Apart,
    /// Not at all.
    None,
}
