//! The file of `token_file`: one token on each line.

use std::io;
use std::path::Path;

/// Reads the tokens of a file. Lines that begin with `#` are comments.
pub(super) fn read(path: &Path) -> io::Result<Vec<String>> {
    let in_file = |error: io::Error| {
        let message = format!("{}: {error}", path.display());
        io::Error::new(error.kind(), message)
    };
    let text = std::fs::read_to_string(path).map_err(in_file)?;
    parse(&text).map_err(|message| in_file(io::Error::new(io::ErrorKind::InvalidData, message)))
}

fn parse(text: &str) -> Result<Vec<String>, String> {
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
                 a comment on a line of its own that begins with `#`",
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
        let tokens = parse(text).unwrap();
        assert_eq!(tokens, ["one-token-0123456789", "two-token-0123456789"]);
        let tokens = parse("\u{feff}one-token-0123456789").unwrap();
        assert_eq!(tokens, ["one-token-0123456789"]);
    }

    #[test]
    fn a_comment_behind_a_token_is_an_error_without_the_token() {
        let error = parse("# users\none-token-0123456789 # ada").unwrap_err();
        assert!(error.starts_with("line 2 "), "{error}");
        assert!(!error.contains("0123456789"), "{error}");
    }
}
