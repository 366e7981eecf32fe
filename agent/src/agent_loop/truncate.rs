//! A result that is too long for the model.

use super::prompt::PromptBoundary;

/// Cuts a text between characters, and says how much of it is missing.
pub(super) fn truncate(mut text: String, most: usize, mark: &PromptBoundary) -> String {
    let bytes = text.len();
    if bytes <= most {
        return text;
    }
    let shown = text.floor_char_boundary(most);
    text.truncate(shown);
    let missing = bytes - shown;
    let note = format!(
        "This result is cut: {missing} of its {bytes} bytes are missing. Ask for less at once."
    );
    mark.append_note(&mut text, &note);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncates_between_characters_with_a_note() {
        let mark = PromptBoundary::from_text("m");
        assert_eq!(truncate("äöü".to_owned(), 6, &mark), "äöü");
        let expected = "ä\n[service m] This result is cut: 4 of its 6 bytes are missing. Ask for \
            less at once.";
        assert_eq!(truncate("äöü".to_owned(), 3, &mark), expected);
    }
}
