//! The settings of MCP sessions and of listening clients: how many there can be, how long they last,
//! and what is stored for them.

use std::time::Duration;

use bridge_settings::values;
use clap::Args;

const DEFAULT_MAX_CLIENTS: usize = 64;

const DEFAULT_MAX_SUBSCRIPTIONS: usize = 256;

const DEFAULT_MAX_REPLAY_BYTES: usize = 64 * 1024 * 1024;

/// Settings of MCP sessions.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "MCP sessions")]
pub struct McpSessionLimits {
    /// MCP sessions and listening clients per token.
    #[arg(long, env = "MCP_WEB_MAX_CLIENTS", value_name = "N",
        default_value_t = DEFAULT_MAX_CLIENTS, value_parser = values::parse_count)]
    pub max_clients: usize,

    /// Resources that one MCP client can be subscribed to.
    #[arg(long, env = "MCP_WEB_MAX_SUBSCRIPTIONS", value_name = "N",
        default_value_t = DEFAULT_MAX_SUBSCRIPTIONS, value_parser = values::parse_count)]
    pub max_subscriptions: usize,

    /// MCP sessions in all. Without it, as many as the memory allows: each costs up to 16 KiB.
    #[arg(long, env = "MCP_WEB_MAX_MCP_SESSIONS", value_name = "N", value_parser = values::parse_count)]
    pub max_mcp_sessions: Option<usize>,

    /// Bytes of answers that are stored for clients whose stream broke, for all MCP sessions
    /// together. One stream can store an eighth of it. Beyond it, the session that stores most loses
    /// its oldest answers.
    #[arg(long, env = "MCP_WEB_MAX_REPLAY_BYTES", value_name = "BYTES",
        default_value_t = DEFAULT_MAX_REPLAY_BYTES, value_parser = values::parse_count)]
    pub max_replay_bytes: usize,

    /// An MCP session without any request or open stream is closed after this. With a `state_key` or
    /// `state_dir`, its next request opens it again.
    #[arg(long, env = "MCP_WEB_MCP_SESSION_IDLE", value_name = "TIME", default_value = "1h", value_parser = values::parse_duration)]
    pub mcp_session_idle: Duration,
}

impl Default for McpSessionLimits {
    fn default() -> Self {
        Self {
            max_clients: DEFAULT_MAX_CLIENTS,
            max_subscriptions: DEFAULT_MAX_SUBSCRIPTIONS,
            max_mcp_sessions: None,
            max_replay_bytes: DEFAULT_MAX_REPLAY_BYTES,
            mcp_session_idle: Duration::from_secs(60 * 60),
        }
    }
}
