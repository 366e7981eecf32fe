//! The error of a failed authentication.

use std::time::Duration;

use bridge_protocol::ErrorCode;

use crate::jwks::MISS_INTERVAL;

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

    /// Creates the error for a token that may be valid, but whose key is missing for now.
    pub fn unavailable() -> Self {
        Self {
            code: ErrorCode::AuthenticationUnavailable,
            // Short enough for the reason of a close frame.
            message: "the keys of the token's issuer are missing now: retry with the same token"
                .to_owned(),
        }
    }

    /// How long to wait before the same token is sent again. Returns `None` if it would be refused
    /// again.
    pub fn retry_after(&self) -> Option<Duration> {
        (self.code == ErrorCode::AuthenticationUnavailable).then_some(MISS_INTERVAL)
    }
}
