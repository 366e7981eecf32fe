//! The settings of what outlives the process of the bridge.

use std::path::PathBuf;

use bridge_settings::Secret;
use clap::Args;

/// Settings of what outlives the process.
#[derive(Clone, Debug, Default, Args)]
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

    /// Folder for what must survive a restart: the key, and which MCP sessions have ended. The
    /// bridge creates it, and only one bridge can use it. Other users must not be able to write to it.
    #[arg(long, env = "MCP_WEB_STATE_DIR", value_name = "PATH")]
    pub state_dir: Option<PathBuf>,
}
