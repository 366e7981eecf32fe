//! The settings of calls: how many can run, how long they and the questions of their handlers may
//! take, and how clients are notified of their progress.

use std::time::Duration;

use bridge_settings::values;
use clap::Args;

const DEFAULT_MAX_CALLS: usize = 256;

/// Settings of calls.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Calls")]
pub struct CallSettings {
    /// Calls in flight per token.
    #[arg(long, env = "MCP_WEB_MAX_CALLS", value_name = "N",
        default_value_t = DEFAULT_MAX_CALLS, value_parser = values::parse_count)]
    pub max_calls: usize,

    /// A call that the page has not answered fails after this.
    #[arg(long, env = "MCP_WEB_CALL_TIMEOUT", value_name = "TIME", default_value = "2m", value_parser = values::parse_duration)]
    pub call_timeout: Duration,

    /// The longest time that a tool may set for itself in place of `call_timeout`.
    #[arg(long, env = "MCP_WEB_MAX_CALL_TIMEOUT", value_name = "TIME", default_value = "1h", value_parser = values::parse_duration)]
    pub max_call_timeout: Duration,

    /// How long a call waits for the client to answer a request of its handler: the person's input,
    /// or the model's answer. That time does not count as the call's own.
    #[arg(long, env = "MCP_WEB_INPUT_TIMEOUT", value_name = "TIME", default_value = "10m", value_parser = values::parse_duration)]
    pub input_timeout: Duration,

    /// How long a client waits for a call, unless it has requested progress or its profile says so.
    /// It gets a handle for a longer call, which continues in the page. Most MCP clients give up
    /// after 60 s.
    #[arg(long, env = "MCP_WEB_CLIENT_PATIENCE", value_name = "TIME", default_value = "50s", value_parser = values::parse_duration)]
    pub client_patience: Duration,

    /// How often a client that wants progress is notified that the page is still at work. 0s: only
    /// of progress that the page reports.
    #[arg(long, env = "MCP_WEB_PROGRESS_EVERY", value_name = "TIME", default_value = "10s", value_parser = values::parse_duration_or_zero)]
    pub progress_every: Duration,
}

impl Default for CallSettings {
    fn default() -> Self {
        Self {
            max_calls: DEFAULT_MAX_CALLS,
            call_timeout: Duration::from_secs(2 * 60),
            max_call_timeout: Duration::from_secs(60 * 60),
            input_timeout: Duration::from_secs(10 * 60),
            client_patience: Duration::from_secs(50),
            progress_every: Duration::from_secs(10),
        }
    }
}
