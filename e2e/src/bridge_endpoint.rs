//! Where clients and pages of a test connect to.

use crate::TestBed;

/// The address of a bridge, or of what is in front of several, and the token of pages and clients.
pub trait BridgeEndpoint {
    /// Returns the base URL, without a slash at the end.
    fn url(&self) -> String;

    /// Returns the token of the pages and clients.
    fn token(&self) -> &str;

    /// Returns the URL of the MCP endpoint.
    fn mcp_url(&self) -> String {
        format!("{}/mcp", self.url())
    }
}

impl BridgeEndpoint for TestBed {
    fn url(&self) -> String {
        self.url()
    }

    fn token(&self) -> &str {
        self.token()
    }
}
