//! The names of servers, and how messages refer to them.

use std::path::Path;

use bridge_shared_files::excerpt;

use super::limits::MAX_NAME_CHARS;

/// Checks the name of a server. The error describes valid names.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_valid = name.len() <= MAX_NAME_CHARS
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.bytes().all(is_allowed);
    if is_valid {
        return Ok(());
    }
    Err(format!(
        "this name is not allowed: choose one of at most {MAX_NAME_CHARS} letters (a to z, A to Z), \
         digits, `-` and `_` that starts with a letter or a digit"
    ))
}

/// Returns the words with which messages refer to a server.
pub(super) fn server_location(path: &Path, name: &str) -> String {
    format!("the server `{}` in {}", excerpt(name), path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_has_letters_digits_hyphens_and_underscores() {
        let longest = "a".repeat(MAX_NAME_CHARS);
        for name in ["a", "7", "time", "Git_Hub-2", &longest] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        let too_long = "a".repeat(MAX_NAME_CHARS + 1);
        for name in ["", "-a", "_a", "a b", "a.b", "a/b", "é", "a\n", &too_long] {
            let problem = check_name(name).unwrap_err();
            assert!(problem.contains("at most 32 letters"), "{problem}");
        }
    }

    #[test]
    fn a_message_has_the_start_of_a_name_and_shows_invisible_characters() {
        let location = server_location(Path::new("/s.json"), "a\n\u{1b}[31m\u{3164}\u{fe00}");
        assert_eq!(
            location,
            r"the server `a\u{a}\u{1b}[31m\u{3164}\u{fe00}` in /s.json"
        );
        assert_eq!(excerpt(&"a".repeat(41)), "a".repeat(40) + "…");
    }
}
