//! Short forms of texts for people.

/// Returns the beginning of a text, with an ellipsis if it has more characters than this.
pub(crate) fn shorten(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The maximum length of a name that others have chosen, in characters.
const MAX_NAME_CHARS: usize = 64;

/// Returns the beginning of a name that others have chosen, for a message.
pub(crate) fn shorten_name(name: &str) -> String {
    shorten(name, MAX_NAME_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_has_an_ellipsis() {
        assert_eq!(shorten("äöü", 3), "äöü");
        assert_eq!(shorten("äöüß", 3), "äöü…");
        assert_eq!(shorten("", 0), "");
    }
}
