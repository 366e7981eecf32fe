//! Why a server cannot be connected to.

/// Why a server cannot be connected to, and what to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OpenError {
    /// What has happened. Models read it, too.
    pub(super) reason: String,
    /// What an operator can do, if it is known.
    pub(super) remedy: Option<&'static str>,
    /// What the server says itself, such as the end of its stderr. It may have secrets: only commands
    /// of the operator show it.
    pub(super) words: String,
    /// Whether it has no slot for its process.
    pub(super) is_room_missing: bool,
}

impl OpenError {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            remedy: None,
            words: String::new(),
            is_room_missing: false,
        }
    }

    pub(super) fn with_remedy(self, remedy: &'static str) -> Self {
        Self {
            remedy: Some(remedy),
            ..self
        }
    }

    /// Adds what the server says. It replaces nothing: the first words are those of the error itself.
    pub(super) fn with_words(self, words: &str) -> Self {
        let parts = [self.words.as_str(), words].into_iter();
        let words: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
        Self {
            words: words.join("\n"),
            ..self
        }
    }
}

impl From<String> for OpenError {
    fn from(reason: String) -> Self {
        Self::new(reason)
    }
}
