//! The bridge, as the agent reaches it: the page's tools, by MCP, and reports of agents in the way
//! of mcp-web 0.1. Both use the token of the query.
//!
//! Only [`tools`] knows rmcp.

mod reports;
mod tools;

use bridge_protocol::{ErrorCode, QueryId};
use bridge_service::{Secret, http_client};
use reqwest::Url;

use crate::failure::Failure;

pub(crate) use reports::QueryReporter;
pub(crate) use tools::{BridgeTools, PageCallResult, PageTool};

/// A bridge. Clones share its connections.
#[derive(Clone, Debug)]
pub(crate) struct BridgeClient {
    url: Url,
    http: reqwest::Client,
}

impl BridgeClient {
    /// The bridge at this address: the one that pages connect to, without `/mcp`.
    pub(crate) fn new(url: Url) -> Result<Self, Failure> {
        let http = http_client::build(&url).map_err(|error| {
            let message = format!("no connection to the bridge can be made: {error}");
            Failure::new(ErrorCode::BridgeUnavailable, message)
        })?;
        Ok(Self { url, http })
    }

    /// The tools that a query may use, with its own token.
    pub(crate) async fn connect_tools(
        &self,
        token: &Secret,
        query: &QueryId,
    ) -> Result<BridgeTools, Failure> {
        BridgeTools::connect(self, token, query).await
    }

    /// Reports on a query in the way of mcp-web 0.1.
    pub(crate) fn reporter(&self, token: &Secret, query: &QueryId) -> QueryReporter {
        QueryReporter::new(self.clone(), token.clone(), query.clone())
    }

    /// For requests of other kinds: with the bridge's trust, without redirects.
    pub(crate) fn http(&self) -> &reqwest::Client {
        &self.http
    }

    /// The address of one of the bridge's routes: its path in pieces, each escaped.
    pub(crate) fn route(&self, path: &[&str]) -> Url {
        let mut url = self.url.clone();
        if let Ok(mut pieces) = url.path_segments_mut() {
            pieces.pop_if_empty().extend(path);
        }
        url
    }

    /// It cannot be reached, or not any more.
    fn unreachable(&self, why: &str) -> Failure {
        let at = self.url.origin().ascii_serialization();
        let message = format!("the bridge at {at} cannot be reached: {why}");
        Failure::new(ErrorCode::BridgeUnavailable, message)
            .with_remedy("see whether the bridge runs, and whether `bridge_url` is its address")
    }

    /// It does not know the token of the query.
    fn token_refused(&self) -> Failure {
        let at = self.url.origin().ascii_serialization();
        let message = format!("the bridge at {at} refuses the token of the query");
        Failure::new(ErrorCode::BridgeUnavailable, message).with_remedy(
            "the query has ended there, or `bridge_url` is not the bridge that the page uses",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_appended_to_the_bridge_path_and_escaped() {
        for (url, expected) in [
            (
                "http://127.0.0.1:3001",
                "http://127.0.0.1:3001/query/a%2Fb/fail",
            ),
            (
                "http://127.0.0.1:3001/tools/",
                "http://127.0.0.1:3001/tools/query/a%2Fb/fail",
            ),
            (
                "http://127.0.0.1:3001/tools",
                "http://127.0.0.1:3001/tools/query/a%2Fb/fail",
            ),
        ] {
            let bridge = BridgeClient::new(url.parse().unwrap()).unwrap();
            assert_eq!(bridge.route(&["query", "a/b", "fail"]).as_str(), expected);
        }
    }
}
