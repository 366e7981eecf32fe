//! Why a token is refused.

use bridge_protocol::ErrorCode;

/// Why a token is refused. Never contains the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthError {
    pub code: ErrorCode,
    pub message: String,
}

impl AuthError {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self {
            code: ErrorCode::InvalidAuthentication,
            message: message.into(),
        }
    }
}
