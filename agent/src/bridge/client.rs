//! The HTTP client for one bridge.

use agent_tools::AgentFailure;
use bridge_edge::http_client;
use bridge_protocol::ErrorCode;
use reqwest::Url;

/// A bridge and the HTTP client for it. Clones share their connections.
#[derive(Clone, Debug)]
pub(crate) struct AgentBridge {
    url: Url,
    http: reqwest::Client,
}

impl AgentBridge {
    /// Creates a client for the bridge at `url`: the URL that pages connect to, without `/mcp`.
    pub(crate) fn new(url: Url) -> Result<Self, AgentFailure> {
        let http = http_client::build(&url).map_err(|error| {
            let message = format!("no connection to the bridge can be made: {error}");
            AgentFailure::new(ErrorCode::BridgeUnavailable, message)
        })?;
        Ok(Self { url, http })
    }

    /// Returns the HTTP client for the bridge, which follows no redirects.
    pub(crate) fn http(&self) -> &reqwest::Client {
        &self.http
    }

    /// Returns the URL of one of the bridge's routes. `path` contains the unescaped segments of its
    /// path.
    pub(crate) fn route(&self, path: &[&str]) -> Url {
        let mut url = self.url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    /// Creates the failure for a bridge that cannot be reached, or whose connection broke.
    pub(crate) fn unreachable(&self, reason: &str) -> AgentFailure {
        let origin = self.url.origin().ascii_serialization();
        let message = format!("the bridge at {origin} cannot be reached: {reason}");
        AgentFailure::new(ErrorCode::BridgeUnavailable, message)
            .with_loggable_message()
            .with_remedy("check that the bridge runs and that `bridge_url` is its address")
    }

    /// Creates the failure for a query whose token the bridge does not accept.
    pub(crate) fn token_refused(&self) -> AgentFailure {
        let origin = self.url.origin().ascii_serialization();
        let message = format!("the bridge at {origin} refuses the token of the query");
        AgentFailure::new(ErrorCode::BridgeUnavailable, message)
            .with_loggable_message()
            .with_remedy(
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
            let bridge = AgentBridge::new(url.parse().unwrap()).unwrap();
            assert_eq!(bridge.route(&["query", "a/b", "fail"]).as_str(), expected);
        }
    }
}
