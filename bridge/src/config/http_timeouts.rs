//! The settings of how long clients may take for requests and responses.

use std::time::Duration;

use bridge_settings::values;
use clap::Args;

/// Settings of how long clients may take for requests and responses.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Slow clients")]
pub struct HttpTimeouts {
    /// How long the head of a request may take to come, from its connection or from the request
    /// before.
    #[arg(long, env = "MCP_WEB_REQUEST_HEAD_WITHIN", value_name = "TIME", default_value = "60s", value_parser = values::parse_duration)]
    pub request_head_within: Duration,

    /// How long the bridge waits for each 64 KiB of the body of a request, and for what is left of
    /// it.
    #[arg(long, env = "MCP_WEB_REQUEST_BODY_PROGRESS_WITHIN", value_name = "TIME", default_value = "15s", value_parser = values::parse_duration)]
    pub request_body_progress_within: Duration,

    /// How long the bridge waits for the whole body of a request.
    #[arg(long, env = "MCP_WEB_REQUEST_BODY_WITHIN", value_name = "TIME", default_value = "5m", value_parser = values::parse_duration)]
    pub request_body_within: Duration,

    /// How long a client may take for each 64 KiB of a response that waits for it. A stream without
    /// anything to send has no limit.
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
