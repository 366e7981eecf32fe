//! The settings of results: their sizes, and how many of them are stored.

use std::time::Duration;

use bridge_protocol::limits;
use bridge_settings::values;
use clap::Args;

/// The maximum of `max_result_bytes`. Several copies of a result can be in memory at a time.
const MAX_RESULT_BYTES: usize = 1024 * 1024 * 1024;

const DEFAULT_MAX_CLIENT_RESULT_BYTES: usize = 15 * 1024 * 1024;

/// The TypeScript SDKs end a session on stdio when 10 MiB are in their buffer: a line, and up to
/// 64 KiB of the next one, because Node reads a pipe in chunks of that size.
const DEFAULT_MAX_STDIO_MESSAGE_BYTES: usize = 10 * 1024 * 1024 - 64 * 1024;

/// A lower limit would leave no room for a log message, whose data has up to 64 KiB before line
/// separators are escaped.
const MIN_STDIO_MESSAGE_BYTES: usize = 256 * 1024;

const DEFAULT_MAX_KEPT_RESULTS: usize = 64;

const DEFAULT_MAX_KEPT_BYTES: usize = 256 * 1024 * 1024;

const DEFAULT_MAX_UNREAD_BYTES: usize = 512 * 1024 * 1024;

/// Settings of results.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Results")]
pub struct Results {
    /// Largest tool result, in bytes of JSON. Messages of more than 256 KiB are sent in parts.
    #[arg(long, env = "MCP_WEB_MAX_RESULT_BYTES", value_name = "BYTES",
        default_value_t = limits::MAX_RESULT_BYTES, value_parser = parse_result_bytes)]
    pub max_result_bytes: usize,

    /// Largest answer to a tool call on the wire, in bytes, for clients without a profile. A larger
    /// one is truncated, and the whole is stored for `get_result`.
    #[arg(long, env = "MCP_WEB_MAX_CLIENT_RESULT_BYTES", value_name = "BYTES",
        default_value_t = DEFAULT_MAX_CLIENT_RESULT_BYTES, value_parser = values::parse_count)]
    pub max_client_result_bytes: usize,

    /// Largest message to a client of `mcp-web stdio` whose profile allows no larger result, in
    /// bytes, at least 262,144. A larger result is truncated, a longer list has several pages, and
    /// others fail.
    #[arg(long, env = "MCP_WEB_MAX_STDIO_MESSAGE_BYTES", value_name = "BYTES",
        default_value_t = DEFAULT_MAX_STDIO_MESSAGE_BYTES, value_parser = parse_stdio_bytes)]
    pub max_stdio_message_bytes: usize,

    /// How long a result is stored for `get_result`.
    #[arg(long, env = "MCP_WEB_RESULT_TTL", value_name = "TIME", default_value = "10m", value_parser = values::parse_duration)]
    pub result_ttl: Duration,

    /// Calls and results stored for `get_result`, per token. Beyond it, the oldest result is
    /// dropped.
    #[arg(long, env = "MCP_WEB_MAX_KEPT_RESULTS", value_name = "N", default_value_t = DEFAULT_MAX_KEPT_RESULTS, value_parser = values::parse_count)]
    pub max_kept_results: usize,

    /// Bytes of all stored results. Beyond it, the oldest are dropped.
    #[arg(long, env = "MCP_WEB_MAX_KEPT_BYTES", value_name = "BYTES",
        default_value_t = DEFAULT_MAX_KEPT_BYTES, value_parser = values::parse_count)]
    pub max_kept_bytes: usize,

    /// Bytes of answers to calls that wait for their clients to read them. One token may have half
    /// of it. Beyond it, an answer is an error.
    #[arg(long, env = "MCP_WEB_MAX_UNREAD_BYTES", value_name = "BYTES",
        default_value_t = DEFAULT_MAX_UNREAD_BYTES, value_parser = values::parse_count)]
    pub max_unread_bytes: usize,
}

fn parse_result_bytes(text: &str) -> Result<usize, String> {
    match values::parse_count(text)? {
        bytes if bytes <= MAX_RESULT_BYTES => Ok(bytes),
        _ => Err(format!("allowed are 1 to {MAX_RESULT_BYTES}")),
    }
}

fn parse_stdio_bytes(text: &str) -> Result<usize, String> {
    match values::parse_count(text)? {
        bytes if bytes >= MIN_STDIO_MESSAGE_BYTES => Ok(bytes),
        _ => Err(format!("allowed are {MIN_STDIO_MESSAGE_BYTES} and more")),
    }
}

impl Default for Results {
    fn default() -> Self {
        Self {
            max_result_bytes: limits::MAX_RESULT_BYTES,
            max_client_result_bytes: DEFAULT_MAX_CLIENT_RESULT_BYTES,
            max_stdio_message_bytes: DEFAULT_MAX_STDIO_MESSAGE_BYTES,
            result_ttl: Duration::from_secs(600),
            max_kept_results: DEFAULT_MAX_KEPT_RESULTS,
            max_kept_bytes: DEFAULT_MAX_KEPT_BYTES,
            max_unread_bytes: DEFAULT_MAX_UNREAD_BYTES,
        }
    }
}
