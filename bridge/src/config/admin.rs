//! The settings of administration.

use std::path::PathBuf;

use clap::Args;

/// Settings of administration.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Administration")]
pub struct AdminSettings {
    /// Unix socket for `mcp-web admin`, such as /run/mcp-web/admin.sock. Only root and the user
    /// who runs the bridge can use it. Without it, a running bridge cannot be administered. Not on
    /// Windows.
    #[arg(long, env = "MCP_WEB_ADMIN_SOCKET", value_name = "PATH")]
    pub admin_socket: Option<PathBuf>,
}
