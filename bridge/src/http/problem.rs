//! Errors as plain HTTP says them: one table from error codes to statuses.

use axum::Json;
use axum::response::{IntoResponse, Response};
use bridge_protocol::ErrorCode;
use http::header::WWW_AUTHENTICATE;
use http::{HeaderValue, StatusCode};
use serde_json::json;

use crate::auth::TokenRefusal;

/// `{"error": code, "message": words}` with the status of the code.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            status: status(code),
            code,
            message: message.into(),
        }
    }
}

fn status(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::MissingAuthentication
        | ErrorCode::InvalidAuthentication
        | ErrorCode::TokenExpired => StatusCode::UNAUTHORIZED,
        ErrorCode::OriginNotAllowed | ErrorCode::InsufficientScope => StatusCode::FORBIDDEN,
        ErrorCode::ToolNotFound | ErrorCode::SessionNotFound | ErrorCode::UnknownMethod => {
            StatusCode::NOT_FOUND
        }
        ErrorCode::RequestTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::InternalError => StatusCode::INTERNAL_SERVER_ERROR,
        ErrorCode::RealmLimitExceeded | ErrorCode::SessionLimitExceeded => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        _ => StatusCode::BAD_REQUEST,
    }
}

impl From<TokenRefusal> for Problem {
    fn from(refusal: TokenRefusal) -> Self {
        Self::new(refusal.code, refusal.message)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = json!({ "error": self.code.as_str(), "message": self.message });
        let mut response = (self.status, Json(body)).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            // RFC 6750 section 3: no error attribute when no token was sent.
            let challenge = match self.code {
                ErrorCode::MissingAuthentication => "Bearer realm=\"mcp-web\"",
                _ => "Bearer realm=\"mcp-web\", error=\"invalid_token\"",
            };
            response
                .headers_mut()
                .insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        response
    }
}
