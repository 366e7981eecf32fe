//! The settings of restarts: how the bridge ends, and what outlives its process.

use std::path::PathBuf;
use std::time::Duration;

use bridge_settings::{Secret, values};
use clap::Args;

/// Settings of restarts.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Restarts")]
pub struct StateSettings {
    /// Secret that seals what clients carry for the bridge: the ids of MCP sessions, and the state
    /// between the rounds of a call. At least 32 characters. Without one, the key in `state_dir` is
    /// used; without both, clients must start new MCP sessions after a restart.
    #[arg(
        long,
        env = "MCP_WEB_STATE_KEY",
        value_name = "SECRET",
        hide_env_values = true
    )]
    pub state_key: Option<Secret>,

    /// Folder for what must survive a restart: the key, which MCP sessions have ended, and who is
    /// denied access. The bridge creates it, and only one bridge can use it. Other users must not be
    /// able to write to it.
    #[arg(long, env = "MCP_WEB_STATE_DIR", value_name = "PATH")]
    pub state_dir: Option<PathBuf>,

    /// How long SIGTERM waits for running calls and queries before it ends them. Meanwhile /readyz
    /// answers 503, and pages that are new get close code 1012.
    #[arg(long, env = "MCP_WEB_DRAIN_TIMEOUT", value_name = "TIME", default_value = "30s", value_parser = values::parse_duration_or_zero)]
    pub drain_timeout: Duration,

    /// How long the bridge accepts connections after SIGTERM, even without calls: the time in which a
    /// load balancer notices that /readyz answers 503.
    #[arg(long, env = "MCP_WEB_DRAIN_DELAY", value_name = "TIME", default_value = "0s", value_parser = values::parse_duration_or_zero)]
    pub drain_delay: Duration,
}

impl Default for StateSettings {
    fn default() -> Self {
        Self {
            state_key: None,
            state_dir: None,
            drain_timeout: Duration::from_secs(30),
            drain_delay: Duration::ZERO,
        }
    }
}
