//! Hashes of tokens, which are stored instead of the tokens.

use std::fmt;

use sha2::{Digest, Sha256};

/// The SHA-256 hash of a token. Tokens are compared by their hashes, so that the duration of a
/// comparison reveals nothing about the tokens themselves.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// Hashes a token.
    pub fn from_token(token: &str) -> Self {
        Self(Sha256::digest(token).into())
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(…)")
    }
}
