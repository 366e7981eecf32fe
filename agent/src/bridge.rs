//! The bridge, as an MCP server: where the tools of the page are.

use bridge_protocol::{ErrorCode, QueryId};

use crate::failure::Failure;

/// The tools that the token of a query shows.
#[derive(Debug)]
pub(crate) struct BridgeTools {}

impl BridgeTools {
    /// Opens an MCP session at `{bridge_url}/mcp` with the query's own token.
    pub(crate) async fn connect(
        _bridge_url: &str,
        _query_token: &str,
        _query: &QueryId,
    ) -> Result<Self, Failure> {
        Err(Failure::new(
            ErrorCode::BridgeUnavailable,
            "there is no client yet",
        ))
    }
}
