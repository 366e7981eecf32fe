//! How a handler ended, and the message that says so.

use bridge_protocol::{CallId, ErrorCode};

use crate::core::effect::{Ending, Failure};
use crate::core::messages::{Answer, Encoded, Item, Kind, PageToBridge};
use crate::core::text::decimal;

/// A message longer than this is cut: it is meant to be read.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;

/// A character of a message is at most so many times as long in JSON (`\u0000`).
const ESCAPED: usize = 6;

/// What a handler may say of its failure; any other word becomes `HandlerFailed`. The other codes say
/// what went wrong between client, bridge and page, which a handler cannot know.
const THROWABLE: [&str; 8] = [
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
pub enum Outcome<V> {
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
        data: Option<Encoded<V>>,
        /// What a tool shows of its failure, as JSON text.
        content: Option<Encoded<V>>,
    },
}

/// How a call was answered.
#[derive(Debug)]
pub(super) enum Said<V> {
    Result(Answer<V>),
    Error {
        code: &'static str,
        message: String,
        data: Option<V>,
        content: Option<V>,
    },
}

impl<V: Clone> Said<V> {
    /// What became of a call, and the length of that. A result may have `room` bytes.
    pub(super) fn of(outcome: Outcome<V>, room: usize) -> (Self, usize) {
        match outcome {
            Outcome::Returned { answer, bytes } if bytes <= room => (Said::Result(answer), bytes),
            Outcome::Returned { bytes, .. } => {
                let what = too_large("the result", bytes, room);
                (
                    Self::failure(const { ErrorCode::ResultTooLarge.as_str() }, what),
                    0,
                )
            }
            Outcome::Threw {
                code,
                message,
                data,
                content,
            } => {
                let message = shortened(message);
                let before = room.saturating_sub(message.len() * ESCAPED);
                let mut room = before;
                let said = Said::Error {
                    code: thrown_code(code),
                    message,
                    content: fitting(content, &mut room),
                    data: fitting(data, &mut room),
                };
                (said, before - room)
            }
        }
    }

    /// A failure that needs no more than words.
    pub(super) fn failure(code: &'static str, message: String) -> Self {
        Said::Error {
            code,
            message,
            data: None,
            content: None,
        }
    }

    /// The call was for something that the app has removed.
    pub(super) fn not_here(item: &Item) -> Self {
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

    pub(super) fn ending(&self) -> Ending {
        match self {
            Said::Result(_) => Ending::Finished,
            Said::Error { code, message, .. } => {
                Ending::Failed(Failure::new(*code, message.clone()))
            }
        }
    }

    pub(super) fn message(&self, call: CallId) -> PageToBridge<V> {
        match self {
            Said::Result(answer) => PageToBridge::CallResponse {
                call,
                answer: answer.clone(),
            },
            Said::Error {
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

fn thrown_code(word: Option<String>) -> &'static str {
    THROWABLE
        .into_iter()
        .find(|code| word.as_deref() == Some(code))
        .unwrap_or(const { ErrorCode::HandlerFailed.as_str() })
}

/// The text, if there is room for it.
fn fitting<V>(text: Option<Encoded<V>>, room: &mut usize) -> Option<V> {
    let text = text.filter(|text| text.bytes <= *room)?;
    *room -= text.bytes;
    Some(text.json)
}

pub(super) fn too_large(what: &str, bytes: usize, limit: usize) -> String {
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

pub(super) fn shortened(mut message: String) -> String {
    if message.len() > MAX_MESSAGE_BYTES {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES));
        message.push('…');
    }
    message
}
