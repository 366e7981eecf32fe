//! Why a query fails, with an error code of the wire protocol.

use std::fmt;

use bridge_protocol::ErrorCode;

/// Why a query fails. It contains no key and no token, because it is sent to the page and logged.
/// `message` may quote the prompt, arguments or results: at the default level, only `log_message` is
/// logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFailure {
    /// The code that the page is sent.
    pub code: ErrorCode,
    /// A description of what happened, and to what.
    pub message: String,
    /// The next step for the reader, if there is one.
    pub remedy: Option<String>,
    /// The message in the log, which quotes nothing of the conversation.
    pub log_message: Option<String>,
    /// Whether the provider may have refused the messages of the conversation: without the pictures and
    /// thoughts in them, it may accept the request.
    pub is_about_messages: bool,
}

impl AgentFailure {
    /// Creates a failure without a remedy, of which the log shows only the code.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            remedy: None,
            log_message: None,
            is_about_messages: false,
        }
    }

    /// Creates the failure for a fault of the agent itself, such as a panic.
    pub fn fault() -> Self {
        let message = "the agent has a fault, which its log shows";
        Self::new(ErrorCode::AgentFailed, message).with_loggable_message()
    }

    /// Adds the next step for the reader.
    pub fn with_remedy(self, remedy: impl Into<String>) -> Self {
        Self {
            remedy: Some(remedy.into()),
            ..self
        }
    }

    /// Logs the whole message, which quotes nothing of the conversation.
    pub fn with_loggable_message(self) -> Self {
        let message = self.message.clone();
        self.with_log_message(message)
    }

    /// Marks a failure for which the messages of the conversation may be the reason.
    pub fn about_messages(self) -> Self {
        Self {
            is_about_messages: true,
            ..self
        }
    }

    /// Sets the message that the log shows.
    pub fn with_log_message(self, log_message: impl Into<String>) -> Self {
        Self {
            log_message: Some(log_message.into()),
            ..self
        }
    }
}

impl fmt::Display for AgentFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}
