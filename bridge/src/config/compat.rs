//! The setting of compatibility with other projects.

use clap::{Args, ValueEnum};

/// Settings of compatibility with other projects.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Compatibility")]
pub struct Compatibility {
    /// Serve clients as another bridge did: `mcp-web` is the TypeScript project's 0.1, whose MCP every
    /// path then serves, with its lists, results and errors. Its pages are also served without this.
    /// On a loopback address, with loopback `allowed_hosts` only, any token (also as `?token=`) and any
    /// loopback origin may connect, as there.
    #[arg(long, env = "MCP_WEB_COMPAT", value_enum, value_name = "PROJECT")]
    pub compat: Option<Compat>,
}

/// A project whose pages and clients are served as it served them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "kebab-case")]
pub enum Compat {
    /// The TypeScript bridge mcp-web 0.1: MCP clients get its texts and shapes on every path.
    McpWeb,
}
