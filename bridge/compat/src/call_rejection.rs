//! Why a call is not forwarded to a page.

use bridge_protocol::ErrorCode;
use serde::Serialize;

use crate::page_entry::ListedPage;

/// The message for a client that has not chosen between several pages.
pub(crate) const CHOOSE_SESSION_MESSAGE: &str = "Several pages are connected: choose one of \
    available_sessions, and name it as session_id in the arguments or as sessionId in _meta";

/// The reason why a call is not forwarded to a page. It is written as the text of a failed result.
#[derive(Debug, Default, Serialize)]
pub struct CallRejection {
    error: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_tools: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    available_tools: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    available_sessions: Option<Vec<ListedPage>>,
}

impl CallRejection {
    pub fn from_code(code: ErrorCode) -> Self {
        Self {
            error: code.as_str(),
            ..Self::default()
        }
    }

    pub fn invalid_arguments() -> Self {
        Self {
            error_message: Some("arguments must be an object"),
            ..Self::from_code(ErrorCode::InvalidArguments)
        }
    }

    /// The client did not choose between several pages.
    pub fn session_not_specified(available_sessions: Vec<ListedPage>) -> Self {
        Self {
            error_message: Some(CHOOSE_SESSION_MESSAGE),
            available_sessions: Some(available_sessions),
            ..Self::from_code(ErrorCode::SessionNotSpecified)
        }
    }

    /// The selected page does not have the tool.
    pub fn unknown_tool(available_tools: Vec<String>) -> Self {
        Self {
            available_tools: Some(available_tools),
            ..Self::from_code(ErrorCode::ToolNotFound)
        }
    }

    /// The query of the request may call only the `allowed` tools.
    pub fn tool_not_allowed(allowed: Vec<String>) -> Self {
        Self {
            details: Some("The query allows its own tools only: call one of allowed_tools"),
            allowed_tools: Some(allowed),
            ..Self::from_code(ErrorCode::ToolNotAllowed)
        }
    }
}
