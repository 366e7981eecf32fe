//! Truncation of results that are too long for the model.

use super::boundary::PromptBoundary;

/// Truncates a text to at most `max_bytes`, between characters, and appends a note on how much is
/// missing.
pub(super) fn truncate(mut text: String, max_bytes: usize, boundary: &PromptBoundary) -> String {
    let bytes = text.len();
    if bytes <= max_bytes {
        return text;
    }
    let end = text.floor_char_boundary(max_bytes);
    text.truncate(end);
    let missing = bytes - end;
    let note = format!(
        "This result is cut: {missing} of its {bytes} bytes are missing. Ask for less at once."
    );
    boundary.append_note(&mut text, &note);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncates_between_characters_with_a_note() {
        let boundary = PromptBoundary::from_text("m");
        assert_eq!(truncate("äöü".to_owned(), 6, &boundary), "äöü");
        let expected = "ä\n[service m] This result is cut: 4 of its 6 bytes are missing. Ask for \
            less at once.";
        assert_eq!(truncate("äöü".to_owned(), 3, &boundary), expected);
    }
}
