//! One request to a bridge, for a command.

use std::process::ExitCode;

use bridge_output::{print_error, print_to_stderr};
use bridge_protocol::invisible::visible_text;
use client_stdio::{Config, ConfigError, ConnectionFlags, RouteError, ToolRoutes};
use tokio::runtime::Builder;

use crate::token_input::{read_token, token_from_environment};

/// The part of the help that all commands with a request have.
pub(crate) const AFTER_HELP: &str = "\
The token is that of the page's configuration panel. It is read from AUTH_TOKEN, from the output of the
token command, or from the standard input: on a terminal the command asks for it. It is never an argument,
because other users can read arguments in the list of processes.";

/// Sends a request and returns the JSON of the answer.
pub(crate) fn request(
    connection: &ConnectionFlags,
    send: impl AsyncFnOnce(ToolRoutes) -> Result<String, RouteError>,
) -> Result<String, String> {
    let config = configure(connection)?;
    warn_if_exposed(&config);
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
    let answer = runtime.block_on(async { send(ToolRoutes::new(&config)?).await });
    answer.map_err(|error| error.to_string())
}

/// Warns of an address to which the token is sent without encryption.
pub(crate) fn warn_if_exposed(config: &Config) {
    if config.exposes_token() {
        print_to_stderr(
            "warning: the token crosses the network over http://, and anyone who can read that network \
             can use it: use https://",
        );
    }
}

/// Prints the reason why a command has failed, which may contain text of a page.
pub(crate) fn fail(error: &str) -> ExitCode {
    print_error(visible_text(error));
    ExitCode::FAILURE
}

/// Returns the configuration, with the token from the first source that has one.
fn configure(connection: &ConnectionFlags) -> Result<Config, String> {
    let token = token_from_environment();
    let config = Config::new(connection, token.as_deref()).map_err(describe)?;
    if config.has_token() {
        return Ok(config);
    }
    let token = read_token()?;
    Config::new(connection, Some(&token)).map_err(describe)
}

/// Describes an error without flags that the command does not have.
pub(crate) fn describe(error: ConfigError) -> String {
    match error {
        ConfigError::Token => {
            "the token must be visible ASCII characters without spaces: copy it again from the page's \
             configuration panel"
                .to_owned()
        }
        ConfigError::TwoTokens => {
            "AUTH_TOKEN and --token-command (MCP_WEB_TOKEN_COMMAND) are both set: leave one of them out"
                .to_owned()
        }
        other => other.to_string(),
    }
}
