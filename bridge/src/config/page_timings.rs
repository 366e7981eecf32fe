//! The settings of the timings of pages: how long they may take, and how long the bridge keeps their
//! state.

use std::time::Duration;

use bridge_protocol::limits;
use bridge_settings::values;
use clap::Args;

/// Settings of the timings of pages.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Page timings")]
pub struct PageTimings {
    /// A page must authenticate within this.
    #[arg(long, env = "MCP_WEB_AUTHENTICATE_WITHIN", value_name = "TIME", default_value = "10s", value_parser = values::parse_duration)]
    pub authenticate_within: Duration,

    /// How often page code must show that it is alive.
    #[arg(long, env = "MCP_WEB_HEARTBEAT", value_name = "TIME", default_value = "25s", value_parser = values::parse_duration)]
    pub heartbeat: Duration,

    /// How long a page whose connection broke keeps its tools and calls. 0s: not at all.
    #[arg(long, env = "MCP_WEB_PAGE_GRACE", value_name = "TIME", default_value = "5s", value_parser = values::parse_duration_or_zero)]
    pub page_grace: Duration,

    /// How long a page that navigates or reloads may take to come back and continue the calls that
    /// it hands over. 0s: no hand-over.
    #[arg(long, env = "MCP_WEB_PAGE_RETURN", value_name = "TIME", default_value = "15s", value_parser = values::parse_duration_or_zero)]
    pub page_return: Duration,

    /// A call that the page has not acknowledged fails after this: its tab is suspended.
    #[arg(long, env = "MCP_WEB_CALL_RECEIPT", value_name = "TIME", default_value = "5s", value_parser = values::parse_duration)]
    pub call_receipt: Duration,

    /// How long the queries of a page that is gone continue, so that it can attach to them again.
    /// 0s: not at all.
    #[arg(long, env = "MCP_WEB_QUERY_ATTACH", value_name = "TIME", default_value = "30s", value_parser = values::parse_duration_or_zero)]
    pub query_attach: Duration,

    /// A session ends after this, also while it is in use. 0s: never.
    #[arg(long, env = "MCP_WEB_MAX_SESSION_DURATION", value_name = "TIME", default_value = "0s", value_parser = values::parse_duration_or_zero)]
    pub max_session_duration: Duration,

    /// How long the tools of an app stay listed after its last page has left. 0s: not at all.
    #[arg(long, env = "MCP_WEB_CATALOGUE_TTL", value_name = "TIME", default_value = "24h", value_parser = values::parse_duration_or_zero)]
    pub catalogue_ttl: Duration,
}

impl Default for PageTimings {
    fn default() -> Self {
        Self {
            authenticate_within: limits::AUTHENTICATE_TIMEOUT,
            heartbeat: limits::HEARTBEAT_INTERVAL,
            page_grace: limits::PAGE_GRACE,
            page_return: limits::PAGE_RETURN,
            call_receipt: limits::RECEIPT_TIMEOUT,
            query_attach: Duration::from_secs(30),
            max_session_duration: Duration::ZERO,
            catalogue_ttl: Duration::from_secs(24 * 60 * 60),
        }
    }
}
