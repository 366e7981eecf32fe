//! The failure of a handler, as sent to the client.

use std::fmt;

use bridge_protocol::ErrorCode;
use serde_json::Value;
use web_sdk_core::{Answer, HandlerOutcome};

use crate::content::Content;
#[cfg(feature = "page-tools")]
use crate::content::ToolResult;
use crate::json;

/// Why a handler failed: a message that says what to do next, and optional details for programs.
///
/// Every error converts into it, so that a handler can use `?`. The client receives the error with
/// its sources.
///
/// ```
/// # use mcp_web_sdk::CallError;
/// fn parse(text: &str) -> Result<u8, CallError> {
///     let number: u8 = text.parse()?;
///     if number == 0 {
///         return Err(CallError::new("0 is not a page: give one from 1 up"));
///     }
///     Ok(number)
/// }
/// assert!(parse("300").unwrap_err().to_string().contains("too large"));
/// ```
#[derive(Debug)]
pub struct CallError(Box<Failure>);

#[derive(Debug)]
struct Failure {
    code: Option<ErrorCode>,
    message: String,
    data: Option<Value>,
    content: Vec<Content>,
    meta: Option<Value>,
}

impl CallError {
    /// Creates an error with a message for the model and the user.
    pub fn new(message: impl Into<String>) -> Self {
        Self(Box::new(Failure {
            code: None,
            message: message.into(),
            data: None,
            content: Vec::new(),
            meta: None,
        }))
    }

    /// Creates the error for invalid arguments, with the code `InvalidArguments`.
    pub fn invalid_arguments(message: impl Into<String>) -> Self {
        Self::with_code(ErrorCode::InvalidArguments, message)
    }

    /// Creates the error for an unknown URI, with the code `ResourceNotFound`.
    pub fn resource_not_found(message: impl Into<String>) -> Self {
        Self::with_code(ErrorCode::ResourceNotFound, message)
    }

    /// Adds a value for programs.
    #[must_use]
    pub fn data(mut self, data: Value) -> Self {
        self.0.data = Some(data);
        self
    }

    /// Sets the content that a tool returns instead of the message.
    #[must_use]
    pub fn content(mut self, content: impl IntoIterator<Item = Content>) -> Self {
        self.0.content = content.into_iter().collect();
        self
    }

    /// Returns the code: `HandlerFailed` unless the error has another one.
    pub fn code(&self) -> &'static str {
        self.0.code.unwrap_or(ErrorCode::HandlerFailed).as_str()
    }

    pub(crate) fn with_code(code: ErrorCode, message: impl Into<String>) -> Self {
        let mut error = Self::new(message);
        error.0.code = Some(code);
        error
    }

    /// Creates a failure for which the client receives this result, with `isError`.
    #[cfg(feature = "page-tools")]
    pub(crate) fn from_result(message: String, result: ToolResult) -> Self {
        let mut error = Self::new(message).content(result.content);
        error.0.meta = result.meta;
        error
    }

    pub(crate) fn into_outcome(self) -> HandlerOutcome<String> {
        let failure = *self.0;
        let details = Answer {
            result: failure.data.as_ref().map(json::text),
            content: (!failure.content.is_empty()).then(|| json::text(&failure.content)),
            meta: failure.meta.as_ref().map(json::text),
            ..Answer::default()
        };
        let texts = [&details.result, &details.content, &details.meta];
        HandlerOutcome::Threw {
            code: failure.code.map(|code| code.as_str().to_owned()),
            message: failure.message,
            bytes: texts.into_iter().flatten().map(String::len).sum(),
            details,
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl<E: std::error::Error> From<E> for CallError {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            // Some errors repeat their source.
            if !message.contains(&cause_text) {
                message.push_str(": ");
                message.push_str(&cause_text);
            }
            source = cause.source();
        }
        Self::new(message)
    }
}
