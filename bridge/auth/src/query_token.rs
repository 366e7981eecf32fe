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

/// Returns the name of the bridge that has issued a query token, if that is one of several.
pub fn issuing_node(token: &str) -> Option<&str> {
    let (node, _) = token.strip_prefix(TOKEN_PREFIX)?.rsplit_once('-')?;
    Some(node)
}

/// The token of a query, which is sent to the agent and nowhere else.
pub struct QueryToken(String);

impl QueryToken {
    /// Generates a token of the bridge with this name, or of a bridge that serves alone. Two UUIDs of
    /// version 4 have 244 random bits (RFC 9562 section 5.4).
    pub fn random(node: Option<&str>) -> Self {
        let (one, other) = (Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let node = node.map(|node| format!("{node}-")).unwrap_or_default();
        Self(format!("{TOKEN_PREFIX}{node}{one}{other}"))
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
        let (one, other) = (QueryToken::random(None), QueryToken::random(None));
        assert!(is_query_token(one.as_str()) && !is_query_token("0123456789abcdef"));
        assert_eq!(one.as_str().len(), TOKEN_PREFIX.len() + 64);
        assert_ne!(one.hash(), other.hash());
        assert_eq!(TokenHash::from_token(one.as_str()), one.hash());
        assert!(!format!("{one:?}{:?}", one.hash()).contains(&one.as_str()[14..20]));
    }

    #[test]
    fn a_token_names_the_bridge_that_has_issued_it() {
        let token = QueryToken::random(Some("NODE"));
        assert!(is_query_token(token.as_str()));
        assert_eq!(issuing_node(token.as_str()), Some("NODE"));
        assert_eq!(token.as_str().len(), TOKEN_PREFIX.len() + 5 + 64);
        assert_eq!(issuing_node(QueryToken::random(None).as_str()), None);
        assert_eq!(issuing_node("another-token-0123456789"), None);
    }
}
