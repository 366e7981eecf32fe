//! The settings of what operators see of a bridge: metrics, the format of the log, and the audit log.

use bridge_output::LogFormat;
use bridge_settings::Secret;
use clap::{Args, ValueEnum};

/// Settings of what operators see of a bridge.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Monitoring")]
pub struct Monitoring {
    /// Token with which `GET /metrics` may be read, at least 32 characters. Without one, there is no
    /// such route.
    #[arg(
        long,
        env = "MCP_WEB_METRICS_TOKEN",
        value_name = "SECRET",
        hide_env_values = true
    )]
    pub metrics_token: Option<Secret>,

    /// Format of the log on stderr: text, or json with one object a line.
    #[arg(
        long,
        env = "MCP_WEB_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "text"
    )]
    pub log_format: LogFormat,

    /// Whether each call is logged when it ends, with its caller, its target and its outcome.
    #[arg(
        long,
        env = "MCP_WEB_AUDIT",
        value_enum,
        value_name = "WHAT",
        default_value = "off"
    )]
    pub audit: Audit,
}

/// The log entry of each call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Audit {
    /// Nothing.
    #[default]
    Off,
    /// A line without the arguments of the call.
    Calls,
    /// A line with the arguments of the call.
    CallsWithArguments,
}
