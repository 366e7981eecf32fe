//! A result that is too long for the model.

use super::prompt::Mark;

/// Cuts a text between characters, and says how much of it is missing.
pub(super) fn cut(mut text: String, most: usize, mark: &Mark) -> String {
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
    mark.note(&mut text, &note);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_cut_between_characters_and_says_so() {
        let mark = Mark::of("m");
        assert_eq!(cut("äöü".to_owned(), 6, &mark), "äöü");
        let expected = "ä\n[service m] This result is cut: 4 of its 6 bytes are missing. Ask for \
            less at once.";
        assert_eq!(cut("äöü".to_owned(), 3, &mark), expected);
    }
}
