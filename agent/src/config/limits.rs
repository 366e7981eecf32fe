//! The limits of one query.

use std::time::Duration;

use agent_tools::AskFor;
use bridge_settings::values::{parse_count, parse_duration};
use clap::Args;

/// The limits of one query.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
#[command(next_help_heading = "Limits of a query")]
pub struct AgentLimits {
    /// Maximum number of turns of the model. In the last one it must answer without tools.
    #[arg(long, env = "MCP_WEB_AGENT_MAX_ROUNDS", value_name = "N", default_value_t = 16, value_parser = parse_count)]
    pub max_rounds: usize,

    /// Maximum number of tool calls.
    #[arg(long, env = "MCP_WEB_AGENT_MAX_CALLS", value_name = "N", default_value_t = 64, value_parser = parse_count)]
    pub max_calls: usize,

    /// Maximum number of tool calls that run at the same time.
    #[arg(long, env = "MCP_WEB_AGENT_PARALLEL_CALLS", value_name = "N", default_value_t = 4, value_parser = parse_count)]
    pub parallel_calls: usize,

    /// Maximum output of the model in one turn, in tokens.
    #[arg(long, env = "MCP_WEB_AGENT_MAX_OUTPUT_TOKENS", value_name = "N", default_value_t = 8192, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_output_tokens: u32,

    /// Maximum input and output of the model in all turns together, in tokens.
    #[arg(long, env = "MCP_WEB_AGENT_MAX_TOKENS", value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_tokens: u64,

    /// Time after which a query that is not answered fails. A page can set a shorter one for its
    /// query.
    #[arg(long, env = "MCP_WEB_AGENT_QUERY_TIMEOUT", value_name = "TIME", default_value = "10m", value_parser = parse_duration)]
    pub query_timeout: Duration,

    /// Time after which a tool call without a result fails. The model is notified.
    #[arg(long, env = "MCP_WEB_AGENT_CALL_TIMEOUT", value_name = "TIME", default_value = "120s", value_parser = parse_duration)]
    pub call_timeout: Duration,

    /// Maximum size of a tool result for the model, in bytes. A longer one is truncated, with a
    /// note for the model.
    #[arg(long, env = "MCP_WEB_AGENT_MAX_TOOL_RESULT_BYTES", value_name = "BYTES",
        default_value_t = 64 * 1024, value_parser = parse_count)]
    pub max_tool_result_bytes: usize,

    /// Maximum size of earlier queries of a conversation in the input of the model, in bytes.
    /// Beyond it, the oldest results of calls are left out first, then the oldest queries.
    #[arg(long, env = "MCP_WEB_AGENT_MAX_HISTORY_BYTES", value_name = "BYTES",
        default_value_t = 128 * 1024, value_parser = parse_count)]
    pub max_history_bytes: usize,

    /// Kinds of tools whose calls a person must approve in the page first: `write` for all that
    /// change something, `destructive` for those that may destroy something or have no hint about
    /// it, `open-world` for those that reach beyond the app. A page can name more tools in its
    /// query.
    #[arg(
        long,
        env = "MCP_WEB_AGENT_ASK",
        value_name = "KIND,…",
        value_enum,
        value_delimiter = ','
    )]
    pub ask: Vec<AskFor>,

    /// Time after which a call is not made if the person has not approved it.
    #[arg(long, env = "MCP_WEB_AGENT_APPROVAL_TIMEOUT", value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    pub approval_timeout: Duration,
}

impl Default for AgentLimits {
    /// The defaults, independent of the environment.
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
            max_history_bytes: 128 * 1024,
            ask: Vec::new(),
            approval_timeout: Duration::from_secs(60),
        }
    }
}
