//! How a handler ended, and the message that says so.

use bridge_protocol::{CallId, ErrorCode};

use crate::core::effect::{CallOutcome, Failure};
use crate::core::messages::{Answer, Item, Kind, PageToBridge, SizedJson};
use crate::core::text::decimal;

/// A message longer than this is cut: it is meant to be read.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;

/// A character of a message is at most so many times as long in JSON (`\u0000`).
const MAX_ESCAPE_FACTOR: usize = 6;

/// What a handler may say of its failure; any other word becomes `HandlerFailed`. The other codes say
/// what went wrong between client, bridge and page, which a handler cannot know.
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

/// How a handler ended.
#[derive(Clone, Debug, PartialEq)]
pub enum HandlerOutcome<V> {
    /// It returned.
    Returned {
        /// What.
        answer: Answer<V>,
        /// The length of all JSON texts in it.
        bytes: usize,
    },
    /// It threw.
    Threw {
        /// The error's `code`, if it has one.
        code: Option<String>,
        /// The message, for the model and the person.
        message: String,
        /// The error's `data`, as JSON text.
        data: Option<SizedJson<V>>,
        /// What a tool shows of its failure, as JSON text.
        content: Option<SizedJson<V>>,
    },
}

/// How a call was answered.
#[derive(Debug)]
pub(super) enum SentOutcome<V> {
    Result(Answer<V>),
    Error {
        code: &'static str,
        message: String,
        data: Option<V>,
        content: Option<V>,
    },
}

impl<V: Clone> SentOutcome<V> {
    /// What became of a call, and the length of that. A result may have `room` bytes.
    pub(super) fn from_outcome(outcome: HandlerOutcome<V>, room: usize) -> (Self, usize) {
        match outcome {
            HandlerOutcome::Returned { answer, bytes } if bytes <= room => {
                (SentOutcome::Result(answer), bytes)
            }
            HandlerOutcome::Returned { bytes, .. } => {
                let what = too_large_message("the result", bytes, room);
                (
                    Self::failure(const { ErrorCode::ResultTooLarge.as_str() }, what),
                    0,
                )
            }
            HandlerOutcome::Threw {
                code,
                message,
                data,
                content,
            } => {
                let message = truncate(message);
                let before = room.saturating_sub(message.len() * MAX_ESCAPE_FACTOR);
                let mut room = before;
                let said = SentOutcome::Error {
                    code: handler_error_code(code),
                    message,
                    content: take_if_fits(content, &mut room),
                    data: take_if_fits(data, &mut room),
                };
                (said, before - room)
            }
        }
    }

    /// A failure that needs no more than words.
    pub(super) fn failure(code: &'static str, message: String) -> Self {
        SentOutcome::Error {
            code,
            message,
            data: None,
            content: None,
        }
    }

    /// The call was for something that the app has removed.
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

    /// Somebody waits for a call that this page has received and knows nothing of any more.
    pub(super) fn lost() -> Self {
        let message = "the page received this call, but its result was lost: see whether it took \
                       effect before you call again";
        Self::failure(const { ErrorCode::InternalError.as_str() }, message.into())
    }

    pub(super) fn ending(&self) -> CallOutcome {
        match self {
            SentOutcome::Result(_) => CallOutcome::Finished,
            SentOutcome::Error { code, message, .. } => {
                CallOutcome::Failed(Failure::new(*code, message.clone()))
            }
        }
    }

    pub(super) fn to_message(&self, call: CallId) -> PageToBridge<V> {
        match self {
            SentOutcome::Result(answer) => PageToBridge::CallResponse {
                call,
                answer: answer.clone(),
            },
            SentOutcome::Error {
                code,
                message,
                data,
                content,
            } => PageToBridge::CallError {
                call,
                code,
                message: message.clone(),
                data: data.clone(),
                content: content.clone(),
            },
        }
    }
}

fn handler_error_code(word: Option<String>) -> &'static str {
    HANDLER_ERROR_CODES
        .into_iter()
        .find(|code| word.as_deref() == Some(code))
        .unwrap_or(const { ErrorCode::HandlerFailed.as_str() })
}

/// The text, if there is room for it.
fn take_if_fits<V>(text: Option<SizedJson<V>>, room: &mut usize) -> Option<V> {
    let text = text.filter(|text| text.bytes <= *room)?;
    *room -= text.bytes;
    Some(text.json)
}

pub(super) fn too_large_message(what: &str, bytes: usize, limit: usize) -> String {
    [
        what,
        " has ",
        &decimal(bytes as u64),
        " bytes; at most ",
        &decimal(limit as u64),
        " are allowed: make it smaller, or split it",
    ]
    .concat()
}

pub(super) fn truncate(mut message: String) -> String {
    if message.len() > MAX_MESSAGE_BYTES {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES));
        message.push('…');
    }
    message
}
