//! Error responses: the one table from error codes to HTTP statuses.

use agent_tools::AgentFailure;
use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::response::{IntoResponse, Response};
use bridge_protocol::ErrorCode;
use http::header::{CONNECTION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde_json::{Map, Value, json};

use crate::queries::AuthorizationError;

/// The challenge of a 401 response (RFC 6750 section 3).
const CHALLENGE: &str = "Bearer realm=\"mcp-web-agent\"";

/// The value of `retry-after` when too many queries are running, in seconds.
const RETRY_AFTER_SECONDS: u64 = 1;

/// Why a request is refused, which is also its error response.
#[derive(Debug)]
pub(crate) enum Rejection {
    /// `{"error": code, "code": code, "message": message}` with the status of the code.
    Failure(AgentFailure),
    /// The response with which the bridge refused the request.
    FromBridge {
        /// A 4xx status.
        status: StatusCode,
        body: Map<String, Value>,
    },
}

impl Rejection {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Failure(AgentFailure::new(code, message))
    }
}

impl From<AgentFailure> for Rejection {
    fn from(failure: AgentFailure) -> Self {
        Self::Failure(failure)
    }
}

impl From<PathRejection> for Rejection {
    fn from(rejection: PathRejection) -> Self {
        Self::new(ErrorCode::ProtocolViolation, rejection.body_text())
    }
}

impl From<AuthorizationError> for Rejection {
    fn from(error: AuthorizationError) -> Self {
        match error {
            AuthorizationError::Failure(failure) => Self::Failure(failure),
            AuthorizationError::FromBridge { status, body } => Self::FromBridge { status, body },
        }
    }
}

fn status(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::MissingAuthentication
        | ErrorCode::InvalidAuthentication
        | ErrorCode::TokenExpired => StatusCode::UNAUTHORIZED,
        ErrorCode::OriginNotAllowed | ErrorCode::HostNotAllowed | ErrorCode::InsufficientScope => {
            StatusCode::FORBIDDEN
        }
        ErrorCode::QueryNotFound | ErrorCode::ConversationNotFound | ErrorCode::UnknownMethod => {
            StatusCode::NOT_FOUND
        }
        ErrorCode::QueryCompleted => StatusCode::CONFLICT,
        ErrorCode::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
        ErrorCode::RequestTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::QueryLimitExceeded => StatusCode::TOO_MANY_REQUESTS,
        ErrorCode::InternalError | ErrorCode::AgentFailed => StatusCode::INTERNAL_SERVER_ERROR,
        ErrorCode::BridgeUnavailable => StatusCode::BAD_GATEWAY,
        ErrorCode::AgentUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::BAD_REQUEST,
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        let failure = match self {
            Self::Failure(failure) => failure,
            Self::FromBridge { status, body } => return (status, Json(body)).into_response(),
        };
        let AgentFailure {
            code,
            message,
            remedy,
            log_message: _,
            is_about_messages: _,
        } = failure;
        let message = match remedy {
            Some(remedy) => format!("{message}: {remedy}"),
            None => message,
        };
        let status = status(code);
        let body = json!({ "error": code, "code": code, "message": message });
        let mut response = (status, Json(body)).into_response();
        let headers = response.headers_mut();
        match status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(CHALLENGE));
            }
            // RFC 9110 section 15.5.9: the server does not wait any longer.
            StatusCode::REQUEST_TIMEOUT => {
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            StatusCode::TOO_MANY_REQUESTS => {
                headers.insert(RETRY_AFTER, RETRY_AFTER_SECONDS.into());
            }
            _ => {}
        }
        response
    }
}
