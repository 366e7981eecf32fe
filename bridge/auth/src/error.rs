//! The error of a failed authentication.

use bridge_protocol::ErrorCode;

/// The reason why a token was refused. It never contains the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthError {
    pub code: ErrorCode,
    pub message: String,
}

impl AuthError {
    /// Creates an error with the code `InvalidAuthentication`.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self {
            code: ErrorCode::InvalidAuthentication,
            message: message.into(),
        }
    }
}
