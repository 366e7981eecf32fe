//! Why a server cannot be connected to.

/// Why a server cannot be connected to, with a remedy.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OpenError {
    /// A description of what has happened, which models also read.
    pub(super) reason: String,
    /// The remedy for the operator, if one is known.
    pub(super) remedy: Option<&'static str>,
    /// The words of the server, such as the end of its stderr. They may contain secrets: only
    /// commands of the operator show them.
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

    /// Adds words of the server after those that the error has already.
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
