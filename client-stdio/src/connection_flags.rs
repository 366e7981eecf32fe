//! The flags that name a bridge and its token, for the proxy and for commands that ask a bridge once.

use clap::Args;

/// The address of a bridge that is not named.
pub const DEFAULT_URL: &str = "http://127.0.0.1:3001/mcp";

/// The default of `--token-command-timeout`.
pub(crate) const DEFAULT_TOKEN_COMMAND_TIMEOUT: &str = "30s";

/// The flags as text. They are not parsed by clap, because its errors repeat the value, which may
/// contain a secret.
#[derive(Args)]
pub struct ConnectionFlags {
    /// The bridge: http://HOST:PORT or https://HOST with or without /mcp; credentials are ignored
    #[arg(
        long,
        env = "MCP_SERVER_URL",
        value_name = "URL",
        default_value = DEFAULT_URL,
        hide_env_values = true
    )]
    pub(crate) url: String,
    /// A command that prints the token; it runs again before the token expires, and when the bridge refuses
    /// it
    #[arg(
        long,
        env = "MCP_WEB_TOKEN_COMMAND",
        value_name = "COMMAND",
        hide_env_values = true
    )]
    pub(crate) token_command: Option<String>,
    /// How long the token command may run, in seconds
    #[arg(
        long,
        env = "MCP_WEB_TOKEN_COMMAND_TIMEOUT",
        value_name = "TIME",
        default_value = DEFAULT_TOKEN_COMMAND_TIMEOUT
    )]
    pub(crate) token_command_timeout: String,
}
