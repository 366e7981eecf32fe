//! The arguments of `mcp-web agent plugin`.

use std::path::PathBuf;

use bridge_output::{LogFilter, log_filter};
use clap::{Args, Parser, Subcommand};

use super::source_flags::SourceFlags;
use crate::config::SecretSettings;

/// Serves sources of tools of the agent to other programs, each as a separate MCP server.
#[derive(Debug, Parser)]
#[command(name = "plugin", bin_name = "mcp-web agent plugin", after_long_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Serve a source as an MCP server over stdin and stdout, until stdin ends.
    ///
    /// An MCP client starts this command. The tools have the names that they have in the source,
    /// such as `read_file`. Profiles of the agent do not apply: the client decides which tools it
    /// may call.
    #[command(after_long_help = EXAMPLES)]
    Serve(ServeArguments),
}

#[derive(Debug, Args)]
pub(super) struct ServeArguments {
    #[command(flatten)]
    pub(super) secrets: SecretSettings,

    /// Log level on stderr: error, warn, info, debug, or a tracing filter.
    #[arg(
        long,
        env = "MCP_WEB_AGENT_LOG",
        value_name = "FILTER",
        default_value = "info",
        value_parser = log_filter,
        help_heading = "Program",
        global = true
    )]
    pub(super) log: LogFilter,

    #[command(subcommand)]
    pub(super) served: ServedType,
}

/// The source that is served.
#[derive(Debug, Subcommand)]
pub(super) enum ServedType {
    #[command(flatten)]
    BuiltIn(SourceFlags),
    /// Serve a source that `[sources.NAME]` of a file with tools defines
    #[command(after_long_help = SOURCE_EXAMPLE)]
    Source {
        /// The name of the source in the file.
        name: String,
        /// The tools file of an agent (`tools_file`). Relative paths in it begin at its folder.
        #[arg(long, env = "MCP_WEB_AGENT_TOOLS_FILE", value_name = "PATH")]
        tools_file: PathBuf,
    },
}

const EXAMPLES: &str = "\
Examples:
  mcp-web agent plugin serve filesystem --root notes=/srv/notes --read-only
  mcp-web agent plugin serve database --url sqlite:/srv/shop.db --table orders
  mcp-web agent plugin serve websearch --engine searxng --url http://127.0.0.1:8888
  mcp-web agent plugin serve github --repository 'owner/*' --token-file /run/secrets/github
  mcp-web agent plugin serve source notes --tools-file /etc/agent/tools.toml

In the file of a client, such as claude_desktop_config.json or ~/.cursor/mcp.json:
  { \"mcpServers\": { \"notes\": { \"command\": \"mcp-web\",
    \"args\": [\"agent\", \"plugin\", \"serve\", \"filesystem\", \"--root\", \"notes=/srv/notes\"] } } }

For another agent: mcp-web agent mcp add notes -- mcp-web agent plugin serve filesystem --root notes";

const SOURCE_EXAMPLE: &str = "\
Example, in the file of a client:
  { \"mcpServers\": { \"notes\": { \"command\": \"mcp-web\",
    \"args\": [\"agent\", \"plugin\", \"serve\", \"source\", \"notes\", \"--tools-file\", \"/etc/agent/tools.toml\"] } } }";
