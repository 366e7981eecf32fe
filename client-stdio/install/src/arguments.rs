//! The arguments of `mcp-web install` and `mcp-web uninstall`.

use clap::{Args, ValueEnum};

/// The address of a bridge with default settings. `localhost` is another address for clients that
/// prefer IPv6.
pub(crate) const DEFAULT_URL: &str = "http://127.0.0.1:3001/mcp";

/// The name of the server in clients.
pub(crate) const DEFAULT_NAME: &str = "mcp-web";

const INSTALL_HELP: &str = "\
The token is that of the page: AUTH_TOKEN in its configuration panel (in the demo, it is part of the
configuration under \"Connect a client\"). It is asked for, or read from the variable AUTH_TOKEN or from
standard input. It is never an argument, since other users can read those in the list of processes.

Examples:
  mcp-web install                       ask for the token and for each client that was found
  mcp-web install claude-code cursor    only these clients
  mcp-web install --all --dry-run       show what would change
  mcp-web install --print               print links and blocks for all clients";

/// The reach of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum InstallScope {
    /// All projects of the user.
    #[default]
    User,
    /// The current folder.
    Project,
}

/// Which clients, and which of their entries.
#[derive(Args, Clone, Debug, Default)]
pub struct Selection {
    /// The clients, by names such as claude-code, claude-desktop, codex, cursor and vscode
    #[arg(value_name = "CLIENT")]
    pub clients: Vec<String>,
    /// A client, like an argument without a flag; may be repeated
    #[arg(long = "client", value_name = "CLIENT")]
    pub more_clients: Vec<String>,
    /// All clients that are found
    #[arg(long, conflicts_with_all = ["clients", "more_clients"])]
    pub all: bool,
    /// Whether the entry is for all projects of the user, or for the project in the current folder
    #[arg(long, value_enum, default_value_t)]
    pub scope: InstallScope,
    /// The bridge: http://HOST:PORT/mcp or https://HOST/mcp
    #[arg(long, env = "MCP_SERVER_URL", value_name = "URL", default_value = DEFAULT_URL, hide_env_values = true)]
    pub url: String,
    /// Show the changes and make none
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
}

/// The arguments of `mcp-web install`.
#[derive(Args, Clone, Debug, Default)]
#[command(about = "Add MCP-Web to AI clients, or update the entries there", after_help = INSTALL_HELP)]
pub struct InstallArguments {
    /// The clients.
    #[command(flatten)]
    pub selection: Selection,
    /// The name of the server in the clients
    #[arg(long, value_name = "NAME", default_value = DEFAULT_NAME)]
    pub name: String,
    /// Let clients send requests to the bridge themselves, without a process of this program
    #[arg(long)]
    pub http: bool,
    /// Read the token from standard input
    #[arg(long)]
    pub token_stdin: bool,
    /// Print links for Cursor and VS Code and the configuration for the others, and change nothing
    #[arg(long)]
    pub print: bool,
}

/// The arguments of `mcp-web uninstall`.
#[derive(Args, Clone, Debug, Default)]
#[command(about = "Remove MCP-Web from AI clients")]
pub struct UninstallArguments {
    /// The clients.
    #[command(flatten)]
    pub selection: Selection,
    /// Remove only the entry of this name; without it, all entries that start this program
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
}
