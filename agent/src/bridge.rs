//! The bridge, as the agent reaches it: the page's tools, by MCP, and reports of agents in the way
//! of mcp-web 0.1. Both use the token of the query.
//!
//! Only [`tools`] knows rmcp.

mod reports;
mod tools;

use bridge_protocol::QueryId;
use reqwest::Url;

use crate::config::Secret;
use crate::failure::Failure;

pub(crate) use reports::Reports;
pub(crate) use tools::BridgeTools;

/// A bridge. Clones share its connections.
#[derive(Clone, Debug)]
pub(crate) struct Bridge {
    url: Url,
    http: reqwest::Client,
}

impl Bridge {
    /// The bridge at this address: the one that pages connect to, without `/mcp`.
    pub(crate) fn new(url: Url) -> Result<Self, Failure> {
        let http = reqwest::Client::new();
        Ok(Self { url, http })
    }

    /// The tools that a query may use, with its own token.
    pub(crate) async fn tools(
        &self,
        token: &Secret,
        query: &QueryId,
    ) -> Result<BridgeTools, Failure> {
        BridgeTools::connect(self, token, query).await
    }

    /// Reports on a query in the way of mcp-web 0.1.
    pub(crate) fn reports(&self, token: &Secret, query: &QueryId) -> Reports {
        Reports::new(self.clone(), token.clone(), query.clone())
    }

    /// For requests of other kinds: with the bridge's trust, without redirects.
    pub(crate) fn http(&self) -> &reqwest::Client {
        &self.http
    }

    /// The address of one of the bridge's routes, such as `query/UUID/complete`.
    pub(crate) fn route(&self, path: &str) -> Url {
        let mut url = self.url.clone();
        let before = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{before}/{path}"));
        url
    }
}
