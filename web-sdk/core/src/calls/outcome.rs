//! The outcome of a handler, and the message that reports it.

use bridge_protocol::{CallId, ErrorCode};

use crate::effect::{CallEnd, Failure};
use crate::messages::{Answer, Item, Json, Kind, PageToBridge};
use crate::text::size_error;

/// Maximum size of a message, in bytes. Longer ones are truncated, because they are meant to be
/// read.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;

/// The maximum growth of a character in JSON: one byte becomes six, such as `\u0000`.
const MAX_ESCAPE_FACTOR: usize = 6;

/// The codes that an error of a handler may have; any other becomes `HandlerFailed`. The remaining
/// codes describe errors between client, bridge and page, which a handler cannot know.
const HANDLER_ERROR_CODES: [&str; 8] = [
    ErrorCode::ClientCapabilityMissing.as_str(),
    ErrorCode::ClientRequestFailed.as_str(),
    ErrorCode::InvalidArguments.as_str(),
    ErrorCode::InvalidResult.as_str(),
    ErrorCode::PromptNotFound.as_str(),
    ErrorCode::ResourceNotFound.as_str(),
    ErrorCode::ResultTooLarge.as_str(),
    ErrorCode::ToolNotAllowed.as_str(),
];

/// The outcome of a handler.
#[derive(Clone, Debug, PartialEq)]
pub enum HandlerOutcome<J> {
    /// The handler returned.
    Returned {
        /// The result.
        answer: Answer<J>,
        /// The size of all JSON texts in the result, in bytes.
        bytes: usize,
    },
    /// The handler threw an exception.
    Threw {
        /// The `code` of the error, if it has one.
        code: Option<String>,
        /// The message, for the model and the user.
        message: String,
        /// The `data` of the error as its `result`, and the `content` and `meta` that a tool returns
        /// instead of the message.
        details: Answer<J>,
        /// The size of all JSON texts in the details, in bytes.
        bytes: usize,
    },
}

/// The answer to a call, in the form that is sent to the bridge.
#[derive(Debug)]
pub(super) enum SentOutcome<J> {
    Result(Answer<J>),
    Error {
        code: &'static str,
        message: String,
        details: Answer<J>,
    },
}

impl<J: Json> SentOutcome<J> {
    /// Converts the outcome of a handler to an answer, and returns its size in bytes.
    pub(super) fn from_outcome(outcome: HandlerOutcome<J>, max_bytes: usize) -> (Self, usize) {
        match outcome {
            HandlerOutcome::Returned { answer, bytes } if bytes <= max_bytes => {
                (SentOutcome::Result(answer), bytes)
            }
            HandlerOutcome::Returned { bytes, .. } => {
                let message = too_large_message("the result", bytes, max_bytes);
                let code = const { ErrorCode::ResultTooLarge.as_str() };
                (Self::failure(code, message), 0)
            }
            HandlerOutcome::Threw {
                code,
                message,
                details,
                bytes,
            } => {
                let message = truncate(message);
                let fits = bytes + message.len() * MAX_ESCAPE_FACTOR <= max_bytes;
                let (details, bytes) = if fits {
                    (details, bytes)
                } else {
                    (Answer::default(), 0)
                };
                let sent = SentOutcome::Error {
                    code: handler_error_code(code),
                    message,
                    details,
                };
                (sent, bytes)
            }
        }
    }

    /// Creates an error without details.
    pub(super) fn failure(code: &'static str, message: String) -> Self {
        SentOutcome::Error {
            code,
            message,
            details: Answer::default(),
        }
    }

    /// Creates the error for a call of an item that the app has removed.
    pub(super) fn not_registered(item: &Item) -> Self {
        let code = match item.kind {
            Kind::Tool => const { ErrorCode::ToolNotFound.as_str() },
            Kind::Prompt => const { ErrorCode::PromptNotFound.as_str() },
            Kind::Resource | Kind::ResourceTemplate => {
                const { ErrorCode::ResourceNotFound.as_str() }
            }
        };
        let kind = item.kind.as_str();
        let message = ["the page has no ", kind, " `", &item.name, "` any more"];
        Self::failure(code, message.concat())
    }

    /// Creates the error for a call that the page has acknowledged but no longer has a record of.
    pub(super) fn lost() -> Self {
        let message = "the page received this call, but its result was lost: see whether it took \
                       effect before you call again";
        Self::failure(const { ErrorCode::InternalError.as_str() }, message.into())
    }

    /// Returns the outcome to report to the app.
    pub(super) fn call_outcome(&self) -> CallEnd {
        match self {
            SentOutcome::Result(_) => CallEnd::Finished,
            SentOutcome::Error { code, message, .. } => {
                CallEnd::Failed(Failure::new(*code, message.clone()))
            }
        }
    }

    /// Returns the message that answers `call`.
    pub(super) fn to_message(&self, call: CallId) -> PageToBridge<J> {
        match self {
            SentOutcome::Result(answer) => PageToBridge::CallResponse {
                call,
                answer: answer.clone(),
            },
            SentOutcome::Error {
                code,
                message,
                details,
            } => PageToBridge::CallError {
                call,
                code,
                message: message.clone(),
                details: details.clone(),
            },
        }
    }
}

fn handler_error_code(code: Option<String>) -> &'static str {
    HANDLER_ERROR_CODES
        .into_iter()
        .find(|allowed| code.as_deref() == Some(allowed))
        .unwrap_or(const { ErrorCode::HandlerFailed.as_str() })
}

/// Formats the error for a message of a handler that is too large.
pub(super) fn too_large_message(subject: &str, bytes: usize, max_bytes: usize) -> String {
    size_error(subject, bytes, max_bytes, "make it smaller, or split it")
}

/// Truncates a text to [`MAX_MESSAGE_BYTES`].
pub(super) fn truncate(mut message: String) -> String {
    if message.len() > MAX_MESSAGE_BYTES {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES));
        message.push('…');
    }
    message
}
