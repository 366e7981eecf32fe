//! The output of a call of a tool, and how the call has ended.

use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::media::Media;

/// How a call has ended, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallStatus {
    /// The tool has answered.
    Ok,
    /// The tool has answered with an error.
    ToolError,
    /// The arguments do not fit the schema of the tool.
    InvalidArguments,
    /// The profile does not allow the call, or the person has not approved it.
    Denied,
    /// A rate is exceeded: that of the profile, or one of the API behind the tool.
    RateLimited,
    /// The tool has not answered in time.
    Timeout,
    /// The tool does not exist, or its source cannot be used at the moment.
    Unavailable,
}

impl CallStatus {
    /// Returns the word of the audit file and the metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ToolError => "tool_error",
            Self::InvalidArguments => "invalid_args",
            Self::Denied => "denied",
            Self::RateLimited => "rate_limited",
            Self::Timeout => "timeout",
            Self::Unavailable => "unavailable",
        }
    }
}

/// The output of a call.
#[derive(Debug)]
pub struct CallOutput {
    /// The text for the model.
    pub text: String,
    /// How the call has ended.
    pub outcome: CallStatus,
    /// The result of a tool of the page, as far as MCP can represent it; `None` if the page has
    /// returned nothing.
    pub page_result: Option<Box<RawValue>>,
    /// The pictures in the result, which `text` describes.
    pub pictures: Vec<Media>,
}

impl CallOutput {
    /// Creates the output of a call that has succeeded.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            outcome: CallStatus::Ok,
            page_result: None,
            pictures: Vec::new(),
        }
    }

    /// Creates the output of a call that the tool has answered with an error.
    pub fn from_error(reason: impl Into<String>) -> Self {
        Self::failed(CallStatus::ToolError, reason)
    }

    /// Creates the output of a call that has failed for this reason.
    pub fn failed(outcome: CallStatus, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self {
            outcome,
            page_result: to_raw_value(&json!({ "error": reason })).ok(),
            text: reason,
            pictures: Vec::new(),
        }
    }

    /// Returns whether the call has failed.
    pub fn is_error(&self) -> bool {
        self.outcome != CallStatus::Ok
    }
}
