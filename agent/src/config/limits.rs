//! What one query may cost.

use std::time::Duration;

use bridge_service::values::{parse_count, parse_duration};
use clap::Args;

/// What one query may cost.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
#[command(next_help_heading = "Limits of a query")]
pub struct Limits {
    /// Turns of the model. In the last one it must answer without tools.
    #[arg(long, env = "MCP_WEB_AGENT_MAX_ROUNDS", value_name = "N", default_value_t = 16, value_parser = parse_count)]
    pub max_rounds: usize,

    /// Calls of tools.
    #[arg(long, env = "MCP_WEB_AGENT_MAX_CALLS", value_name = "N", default_value_t = 64, value_parser = parse_count)]
    pub max_calls: usize,

    /// Calls that run at the same time.
    #[arg(long, env = "MCP_WEB_AGENT_PARALLEL_CALLS", value_name = "N", default_value_t = 4, value_parser = parse_count)]
    pub parallel_calls: usize,

    /// What the model may say in one turn, in tokens.
    #[arg(long, env = "MCP_WEB_AGENT_MAX_OUTPUT_TOKENS", value_name = "N", default_value_t = 8192, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_output_tokens: u32,

    /// What the model may read and say in all turns together, in tokens.
    #[arg(long, env = "MCP_WEB_AGENT_MAX_TOKENS", value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_tokens: u64,

    /// A query that is not answered fails after this; so does one that the page gave less time.
    #[arg(long, env = "MCP_WEB_AGENT_QUERY_TIMEOUT", value_name = "TIME", default_value = "10m", value_parser = parse_duration)]
    pub query_timeout: Duration,

    /// A tool that has not answered has failed after this, and the model hears so.
    #[arg(long, env = "MCP_WEB_AGENT_CALL_TIMEOUT", value_name = "TIME", default_value = "120s", value_parser = parse_duration)]
    pub call_timeout: Duration,

    /// What the model is given of a tool's result, in bytes; the rest is cut, and it is told so.
    #[arg(long, env = "MCP_WEB_AGENT_MAX_TOOL_RESULT_BYTES", value_name = "BYTES",
        default_value_t = 64 * 1024, value_parser = parse_count)]
    pub max_tool_result_bytes: usize,
}

impl Default for Limits {
    /// The defaults, whatever the environment says.
    fn default() -> Self {
        Self {
            max_rounds: 16,
            max_calls: 64,
            parallel_calls: 4,
            max_output_tokens: 8192,
            max_tokens: 200_000,
            query_timeout: Duration::from_secs(600),
            call_timeout: Duration::from_secs(120),
            max_tool_result_bytes: 64 * 1024,
        }
    }
}
