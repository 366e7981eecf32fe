//! The marker that distinguishes the service's own lines from text of the page.

use std::fmt;

use uuid::Uuid;

/// A random marker in the service's own lines of a prompt. A page does not know it, so its text
/// cannot imitate such a line.
#[derive(Clone, Debug)]
pub(super) struct PromptBoundary(String);

impl PromptBoundary {
    pub(super) fn new() -> Self {
        let mut marker = Uuid::new_v4().simple().to_string();
        // These are too many digits to guess within one query, and few tokens.
        marker.truncate(12);
        Self(marker)
    }

    /// Appends a line of the service to a text.
    pub(super) fn append_note(&self, text: &mut String, note: &str) {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("[service {self}] {note}"));
    }

    #[cfg(test)]
    pub(super) fn from_text(marker: &str) -> Self {
        Self(marker.to_owned())
    }
}

impl fmt::Display for PromptBoundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_are_random() {
        assert_ne!(
            PromptBoundary::new().to_string(),
            PromptBoundary::new().to_string()
        );
    }
}
