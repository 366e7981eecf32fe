//! The token of a command: from the environment, or from a person or program at the standard input.

use std::io::{self, BufRead, BufReader, IsTerminal, Read, stdin};

use bridge_protocol::limits::MAX_TOKEN_BYTES;

/// Returns the token in the environment.
pub(crate) fn token_from_environment() -> Option<String> {
    std::env::var("AUTH_TOKEN").ok()
}

/// Reads the token from the standard input. A terminal does not show it.
pub(crate) fn read_token() -> Result<String, String> {
    let read = if stdin().is_terminal() {
        rpassword::prompt_password("Token of the page, from its configuration panel: ")
    } else {
        read_line(stdin())
    };
    let text = read.map_err(|error| format!("the token cannot be read: {error}"))?;
    let token = text.trim();
    if token.is_empty() {
        return Err(
            "no token is set: set AUTH_TOKEN to the one in the page's configuration panel, or write it \
             to the standard input"
                .to_owned(),
        );
    }
    Ok(token.to_owned())
}

/// Reads a line that is at most a little longer than the longest token. The input may stay open after it.
fn read_line(input: impl Read) -> io::Result<String> {
    let mut text = String::new();
    let limit = MAX_TOKEN_BYTES as u64 + 16;
    BufReader::new(input.take(limit)).read_line(&mut text)?;
    Ok(text)
}
