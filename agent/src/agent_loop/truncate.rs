//! Truncation of results that are too long for the model.

/// Truncates a text to at most `max_bytes`, between characters. Returns a note for the model on how much
/// is missing, if anything is.
pub(super) fn truncate(text: &mut String, max_bytes: usize) -> Option<String> {
    let bytes = text.len();
    if bytes <= max_bytes {
        return None;
    }
    let end = text.floor_char_boundary(max_bytes);
    text.truncate(end);
    let missing = bytes - end;
    Some(format!(
        "This result is cut: {missing} of its {bytes} bytes are missing. Ask for less at once."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncates_between_characters_with_a_note() {
        let mut text = "äöü".to_owned();
        assert_eq!((truncate(&mut text, 6), &*text), (None, "äöü"));
        let note = truncate(&mut text, 3).unwrap();
        assert_eq!(text, "ä");
        assert!(note.contains("4 of its 6 bytes are missing"), "{note}");
    }
}
