//! The limits of conversations, and where they are stored.

use std::path::PathBuf;
use std::time::Duration;

use bridge_settings::values::{parse_count, parse_duration};
use clap::Args;

/// The limits of conversations, and where they are stored.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
#[command(next_help_heading = "Conversations")]
pub struct ConversationSettings {
    /// SQLite file in which conversations outlive the agent. Without it they are in memory.
    #[arg(long, env = "MCP_WEB_AGENT_CONVERSATIONS_FILE", value_name = "PATH")]
    pub conversations_file: Option<PathBuf>,

    /// Maximum number of queries in a conversation. Beyond it, the oldest are dropped.
    #[arg(long, env = "MCP_WEB_AGENT_MAX_CONVERSATION_QUERIES", value_name = "N", default_value_t = 200, value_parser = parse_count)]
    pub max_conversation_queries: usize,

    /// Maximum size of a conversation in bytes. Beyond it, the oldest queries are dropped.
    #[arg(long, env = "MCP_WEB_AGENT_MAX_CONVERSATION_BYTES", value_name = "BYTES",
        default_value_t = 1024 * 1024, value_parser = parse_count)]
    pub max_conversation_bytes: usize,

    /// Maximum number of conversations of one user, in all apps together. Beyond it, the oldest
    /// are dropped.
    #[arg(long, env = "MCP_WEB_AGENT_MAX_CONVERSATIONS_PER_USER", value_name = "N", default_value_t = 100, value_parser = parse_count)]
    pub max_conversations_per_user: usize,

    /// Maximum size of all conversations of one user in bytes. Beyond it, the oldest are dropped.
    #[arg(long, env = "MCP_WEB_AGENT_MAX_CONVERSATION_BYTES_PER_USER", value_name = "BYTES",
        default_value_t = 8 * 1024 * 1024, value_parser = parse_count)]
    pub max_conversation_bytes_per_user: usize,

    /// Maximum size of the conversations of all users in bytes. Beyond it, the oldest are dropped.
    #[arg(long, env = "MCP_WEB_AGENT_MAX_ALL_CONVERSATION_BYTES", value_name = "BYTES",
        default_value_t = 256 * 1024 * 1024, value_parser = parse_count)]
    pub max_all_conversation_bytes: usize,

    /// Time after its last query for which a conversation is kept.
    #[arg(long, env = "MCP_WEB_AGENT_CONVERSATION_LIFETIME", value_name = "TIME", default_value = "30days", value_parser = parse_duration)]
    pub conversation_lifetime: Duration,
}

impl ConversationSettings {
    /// Returns the earliest time of the last query of a conversation that is kept at `now`. Both
    /// are milliseconds since 1970.
    pub(crate) fn oldest_ms(&self, now: u64) -> u64 {
        let lifetime = u64::try_from(self.conversation_lifetime.as_millis());
        now.saturating_sub(lifetime.unwrap_or(u64::MAX))
    }
}

impl Default for ConversationSettings {
    /// The defaults, independent of the environment.
    fn default() -> Self {
        Self {
            conversations_file: None,
            max_conversation_queries: 200,
            max_conversation_bytes: 1024 * 1024,
            max_conversations_per_user: 100,
            max_conversation_bytes_per_user: 8 * 1024 * 1024,
            max_all_conversation_bytes: 256 * 1024 * 1024,
            conversation_lifetime: Duration::from_secs(30 * 24 * 60 * 60),
        }
    }
}
