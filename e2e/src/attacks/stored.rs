//! What a bridge stores for later, by its own metrics: results for `get_result`, events of streams,
//! definitions of closed apps, and MCP sessions.
//!
//! It is limited by settings and makes room for others, so it is not counted against the demand
//! that the memory of a bridge is what it was before an attack.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::clients::http;

/// The token for the metrics of the bridges that are attacked.
pub(super) const METRICS_TOKEN: &str = "the-token-for-metrics-0123456789abcdef";

/// The pools of `mcp_web_pool_bytes` whose bytes are stored for later.
const POOLS: [&str; 3] = ["kept_results", "replay", "catalogues"];

const MIB: f64 = 1024.0 * 1024.0;

/// What a bridge stores for later.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Stored {
    /// The bytes of these pools, in MiB.
    pub pools_mib: f64,
    /// The number of open MCP sessions.
    pub mcp_sessions: f64,
}

impl Stored {
    /// Asks a bridge.
    ///
    /// # Errors
    ///
    /// Returns an error if the bridge does not respond, or has no such metric.
    pub(super) async fn fetch(address: SocketAddr) -> Result<Self> {
        let url = format!("http://{address}/metrics");
        let request = http().get(url).bearer_auth(METRICS_TOKEN);
        let text = request.send().await?.error_for_status()?.text().await?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self> {
        let value = |name: &str| -> Result<f64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let value = line.and_then(|rest| rest.strip_prefix(' '));
            value
                .with_context(|| format!("no metric {name}"))?
                .parse()
                .context("not a number")
        };
        let mut bytes = 0.0;
        for pool in POOLS {
            bytes += value(&format!("mcp_web_pool_bytes{{pool=\"{pool}\"}}"))?;
        }
        Ok(Self {
            pools_mib: bytes / MIB,
            mcp_sessions: value("mcp_web_mcp_sessions")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_are_added_and_a_missing_metric_is_an_error() {
        let text = "# TYPE mcp_web_mcp_sessions gauge\nmcp_web_mcp_sessions 17\n\
                    mcp_web_pool_bytes{pool=\"kept_results\"} 1048576\n\
                    mcp_web_pool_bytes{pool=\"replay\"} 524288\n\
                    mcp_web_pool_bytes{pool=\"outboxes\"} 5\n\
                    mcp_web_pool_bytes{pool=\"catalogues\"} 0\n";
        let stored = Stored::parse(text).unwrap();
        assert_eq!((stored.pools_mib, stored.mcp_sessions), (1.5, 17.0));
        let error = Stored::parse(&text.replace("replay", "other")).unwrap_err();
        assert!(
            format!("{error:#}").contains("pool=\"replay\""),
            "{error:#}"
        );
    }
}
