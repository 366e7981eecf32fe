//! Why a query fails, with an error code of the wire protocol.

use std::fmt;

use bridge_protocol::ErrorCode;

/// Why a query fails. It contains no key and no token, because it is sent to the page and logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: ErrorCode,
    /// What happened, and to what.
    pub(crate) message: String,
    /// What to do next, if there is something to do.
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
