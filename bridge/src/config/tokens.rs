//! The settings of opaque tokens: the valid ones, from the list and from a file, and how many can be
//! used at the same time.

use std::io;
use std::path::{Path, PathBuf};

use bridge_settings::values;
use clap::Args;

/// Settings of opaque tokens.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Tokens")]
pub struct Tokens {
    /// Tokens that are valid, separated by commas. Without any, a page may open a realm with a
    /// token that it generates.
    #[arg(
        long = "tokens",
        env = "MCP_WEB_TOKENS",
        value_name = "TOKEN,…",
        value_delimiter = ',',
        hide_env_values = true
    )]
    pub tokens: Vec<String>,

    /// File with valid tokens, one on each line. Lines that begin with # are comments.
    #[arg(long, env = "MCP_WEB_TOKEN_FILE", value_name = "PATH")]
    pub token_file: Option<PathBuf>,

    /// Also accept the token as `?token=`. URLs are stored in logs and histories.
    #[arg(long, env = "MCP_WEB_ALLOW_TOKEN_IN_URL")]
    pub allow_token_in_url: bool,

    /// Tokens that pages can use at the same time, and tokens with which clients can wait for a
    /// page. Without it, as many as memory and connections allow.
    #[arg(long, env = "MCP_WEB_MAX_REALMS", value_name = "N", value_parser = values::parse_count)]
    pub max_realms: Option<usize>,
}

impl Tokens {
    /// Loads the configured tokens, from the list and from the file.
    pub(crate) fn load(&self) -> io::Result<Vec<String>> {
        let mut tokens = self.tokens.clone();
        if let Some(path) = &self.token_file {
            tokens.extend(load_token_file(path)?);
        }
        Ok(tokens)
    }
}

/// Loads the tokens of a file, one on each line. Lines that begin with `#` are comments.
fn load_token_file(path: &Path) -> io::Result<Vec<String>> {
    let in_file = |error: io::Error| {
        let message = format!("{}: {error}", path.display());
        io::Error::new(error.kind(), message)
    };
    let text = std::fs::read_to_string(path).map_err(in_file)?;
    parse_token_file(&text)
        .map_err(|message| in_file(io::Error::new(io::ErrorKind::InvalidData, message)))
}

fn parse_token_file(text: &str) -> Result<Vec<String>, String> {
    // Some editors begin a file of UTF-8 with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().map(str::trim).enumerate();
    let mut tokens = Vec::new();
    for (index, line) in lines {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.contains(char::is_whitespace) {
            return Err(format!(
                "line {} has white space within the token: write a token alone on its line, and \
                 a comment on a separate line that begins with `#`",
                index + 1
            ));
        }
        tokens.push(line.to_owned());
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_without_comments_and_byte_order_mark() {
        let text = "\u{feff}# our users\r\n\n  one-token-0123456789 \r\ntwo-token-0123456789";
        let tokens = parse_token_file(text).unwrap();
        assert_eq!(tokens, ["one-token-0123456789", "two-token-0123456789"]);
        let tokens = parse_token_file("\u{feff}one-token-0123456789").unwrap();
        assert_eq!(tokens, ["one-token-0123456789"]);
    }

    #[test]
    fn a_comment_behind_a_token_is_an_error_without_the_token() {
        let error = parse_token_file("# users\none-token-0123456789 # ada").unwrap_err();
        assert!(error.starts_with("line 2 "), "{error}");
        assert!(!error.contains("0123456789"), "{error}");
    }
}
