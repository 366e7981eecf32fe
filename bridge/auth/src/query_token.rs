//! Tokens of queries: random, stored as hashes, and valid until the query ends.

use std::fmt;

use bridge_edge::TokenHash;
use uuid::Uuid;

/// The prefix of all query tokens, so that a token that a page has generated is not mistaken for
/// one.
const TOKEN_PREFIX: &str = "mcp-web-query-";

/// Whether a token is a query token.
pub fn is_query_token(token: &str) -> bool {
    token.starts_with(TOKEN_PREFIX)
}

/// The token of a query, which is sent to the agent and nowhere else.
pub struct QueryToken(String);

impl QueryToken {
    /// Generates a token. Two UUIDs of version 4 have 244 random bits (RFC 9562 section 5.4).
    pub fn random() -> Self {
        let (one, other) = (Uuid::new_v4().simple(), Uuid::new_v4().simple());
        Self(format!("{TOKEN_PREFIX}{one}{other}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The hash under which the token is stored.
    pub fn hash(&self) -> TokenHash {
        TokenHash::from_token(&self.0)
    }
}

impl fmt::Debug for QueryToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("QueryToken(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_unique_long_and_hidden_from_debug() {
        let (one, other) = (QueryToken::random(), QueryToken::random());
        assert!(is_query_token(one.as_str()) && !is_query_token("0123456789abcdef"));
        assert_eq!(one.as_str().len(), TOKEN_PREFIX.len() + 64);
        assert_ne!(one.hash(), other.hash());
        assert_eq!(TokenHash::from_token(one.as_str()), one.hash());
        assert!(!format!("{one:?}{:?}", one.hash()).contains(&one.as_str()[14..20]));
    }
}
