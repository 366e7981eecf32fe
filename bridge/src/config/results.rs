//! The settings of long calls and large results: their timeouts and sizes, and how many results are
//! stored.

use std::time::Duration;

use bridge_settings::values;
use clap::Args;

/// Settings of long calls and large results.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Long calls and large results")]
pub struct Results {
    /// The longest time that a tool may set for itself in place of `call_timeout`.
    #[arg(long, env = "MCP_WEB_MAX_CALL_TIMEOUT", value_name = "TIME", default_value = "1h", value_parser = values::parse_duration)]
    pub max_call_timeout: Duration,

    /// How often a client that wants progress hears that the page is still at work. 0s: only what
    /// the page says.
    #[arg(long, env = "MCP_WEB_PROGRESS_EVERY", value_name = "TIME", default_value = "10s", value_parser = values::parse_duration_or_zero)]
    pub progress_every: Duration,

    /// The largest answer to a tool call, in bytes as it is sent, for clients without a profile.
    /// More is cut, and the whole kept for `get_result`.
    #[arg(long, env = "MCP_WEB_MAX_CLIENT_RESULT_BYTES", value_name = "BYTES",
        default_value_t = 15 * 1024 * 1024, value_parser = values::parse_count)]
    pub max_client_result_bytes: usize,

    /// How long a result is kept for `get_result`.
    #[arg(long, env = "MCP_WEB_RESULT_TTL", value_name = "TIME", default_value = "10m", value_parser = values::parse_duration)]
    pub result_ttl: Duration,

    /// Calls and results kept for `get_result`, per token. Over it the oldest result goes.
    #[arg(long, env = "MCP_WEB_MAX_KEPT_RESULTS", value_name = "N", default_value_t = 64, value_parser = values::parse_count)]
    pub max_kept_results: usize,

    /// Bytes of all kept results. Over it the oldest go.
    #[arg(long, env = "MCP_WEB_MAX_KEPT_BYTES", value_name = "BYTES",
        default_value_t = 256 * 1024 * 1024, value_parser = values::parse_count)]
    pub max_kept_bytes: usize,

    /// Bytes of answers to calls that wait for their clients to read them. One token may have half
    /// of it. Over it an answer is an error.
    #[arg(long, env = "MCP_WEB_MAX_UNREAD_BYTES", value_name = "BYTES",
        default_value_t = 512 * 1024 * 1024, value_parser = values::parse_count)]
    pub max_unread_bytes: usize,
}

impl Default for Results {
    fn default() -> Self {
        Self {
            max_call_timeout: Duration::from_secs(3600),
            progress_every: Duration::from_secs(10),
            max_client_result_bytes: 15 * 1024 * 1024,
            result_ttl: Duration::from_secs(600),
            max_kept_results: 64,
            max_kept_bytes: 256 * 1024 * 1024,
            max_unread_bytes: 512 * 1024 * 1024,
        }
    }
}
