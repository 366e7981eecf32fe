//! Short forms of texts for people.

/// Returns the beginning of a text, with an ellipsis if it has more characters than this.
pub fn shorten(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the beginning of a text, with an ellipsis if it has more bytes than this.
pub fn shorten_bytes(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(max_bytes)])
}

/// The maximum length of a name that others have chosen, in characters.
const MAX_NAME_CHARS: usize = 64;

/// Returns the beginning of a name that others have chosen, for a message.
pub fn shorten_name(name: &str) -> String {
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
        assert_eq!(shorten_bytes("äöü", 6), "äöü");
        assert_eq!(shorten_bytes("äöü", 3), "ä…");
    }
}
