//! Why a query fails, in the words of the wire.

use std::fmt;

use bridge_protocol::ErrorCode;

/// Why a query fails. Holds no key and no token: it is shown to the page and logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: ErrorCode,
    /// What happened, to what.
    pub(crate) message: String,
    /// What to do next, where there is something to do.
    pub(crate) remedy: Option<String>,
}

impl Failure {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            remedy: None,
        }
    }

    pub(crate) fn with_remedy(self, remedy: impl Into<String>) -> Self {
        Self {
            remedy: Some(remedy.into()),
            ..self
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}
