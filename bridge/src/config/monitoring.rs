//! The settings of what operators see of a bridge: metrics.

use bridge_service::Secret;
use clap::Args;

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
}
