//! The token of the page: where it comes from.

use bridge_settings::{Secret, parse_credential};

use crate::arguments::InstallArguments;
use crate::client_entry::TOKEN_VARIABLE;
use crate::console::Console;
use crate::environment::Environment;
use crate::error::InstallError;

/// The question for the token.
const QUESTION: &str = "Token of the page (AUTH_TOKEN in its configuration panel; \
                        nothing keeps the token of entries that exist)";

/// Returns the token from standard input, from the variable, or from the person. `None` keeps the
/// tokens of existing entries.
pub(crate) fn page_token(
    arguments: &InstallArguments,
    environment: &Environment,
    console: &mut dyn Console,
) -> Result<Option<Secret>, InstallError> {
    if arguments.token_stdin {
        let text = console.input().map_err(InstallError::Input)?;
        return parse(&text).map(Some);
    }
    if let Some(text) = environment.variable(TOKEN_VARIABLE) {
        return parse(text).map(Some);
    }
    // A list of changes or of links needs no token.
    if !console.is_terminal() || arguments.print || arguments.selection.dry_run {
        return Ok(None);
    }
    let text = console.ask_secret(QUESTION).map_err(InstallError::Input)?;
    match text.trim() {
        "" => Ok(None),
        text => parse(text).map(Some),
    }
}

/// Parses a token, which may have been copied from a header.
fn parse(text: &str) -> Result<Secret, InstallError> {
    let text = text.trim();
    let token = text.strip_prefix("Bearer ").unwrap_or(text).trim();
    parse_credential(token).map_err(|_| InstallError::Token)
}
