//! Compatibility with other projects.

use clap::ValueEnum;

/// A project whose pages and clients are served as it served them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "kebab-case")]
pub enum Compat {
    /// The TypeScript bridge mcp-web 0.1: MCP clients hear its words and shapes on every path.
    McpWeb,
}
