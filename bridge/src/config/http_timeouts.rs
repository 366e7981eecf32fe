//! The settings of how long clients may take for requests and responses.

use std::time::Duration;

use bridge_settings::values;
use clap::Args;

/// Settings of how long clients may take for requests and responses.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Slow clients")]
pub struct HttpTimeouts {
    /// Timeout for the head of a request, from the connection or from the previous request.
    #[arg(long, env = "MCP_WEB_REQUEST_HEAD_WITHIN", value_name = "TIME", default_value = "60s", value_parser = values::parse_duration)]
    pub request_head_within: Duration,

    /// Timeout for each 64 KiB of the body of a request, and for the remainder.
    #[arg(long, env = "MCP_WEB_REQUEST_BODY_PROGRESS_WITHIN", value_name = "TIME", default_value = "15s", value_parser = values::parse_duration)]
    pub request_body_progress_within: Duration,

    /// Timeout for the whole body of a request.
    #[arg(long, env = "MCP_WEB_REQUEST_BODY_WITHIN", value_name = "TIME", default_value = "5m", value_parser = values::parse_duration)]
    pub request_body_within: Duration,

    /// Timeout for a client to read each 64 KiB of a response. A stream without data to send has no
    /// limit.
    #[arg(long, env = "MCP_WEB_RESPONSE_PROGRESS_WITHIN", value_name = "TIME", default_value = "60s", value_parser = values::parse_duration)]
    pub response_progress_within: Duration,
}

impl Default for HttpTimeouts {
    fn default() -> Self {
        Self {
            request_head_within: Duration::from_secs(60),
            request_body_progress_within: Duration::from_secs(15),
            request_body_within: Duration::from_secs(300),
            response_progress_within: Duration::from_secs(60),
        }
    }
}
