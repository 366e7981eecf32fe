//! Opaque tokens, of which only hashes are stored.

use std::collections::HashSet;

use crate::principal::Principal;
use crate::realm_id::RealmId;
use crate::scopes::Scopes;

/// The opaque tokens that are valid.
#[derive(Clone, Debug)]
pub enum OpaqueTokens {
    /// Any token that is long enough: a page creates a realm with a token that it has generated.
    AnyToken,
    /// Only the listed tokens, by their realm ids.
    Allowed(HashSet<RealmId>),
}

impl OpaqueTokens {
    /// Allows only these tokens.
    pub fn from_list(tokens: &[String]) -> Self {
        Self::Allowed(
            tokens
                .iter()
                .map(|token| RealmId::from_token(token))
                .collect(),
        )
    }

    /// The principal of a valid token. An opaque token grants all scopes and does not expire.
    pub fn principal(&self, token: &str) -> Option<Principal> {
        let realm = RealmId::from_token(token);
        let valid = match self {
            Self::AnyToken => true,
            Self::Allowed(listed) => listed.contains(&realm),
        };
        valid.then(|| Principal {
            realm,
            sub: None,
            roles: Vec::new(),
            scopes: Scopes::all(),
            expires: None,
            query: None,
        })
    }
}
