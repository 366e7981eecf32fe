//! Opaque tokens: only hashes of them are kept.

use std::collections::HashSet;

use crate::principal::Principal;
use crate::realm_id::RealmId;
use crate::scopes::Scopes;

/// Which opaque tokens are valid.
#[derive(Clone, Debug)]
pub enum OpaqueTokens {
    /// Any that is long enough: a page opens a realm with one of its own making.
    AnyToken,
    /// Only these.
    Allowed(HashSet<RealmId>),
}

impl OpaqueTokens {
    pub fn from_list(tokens: &[String]) -> Self {
        Self::Allowed(
            tokens
                .iter()
                .map(|token| RealmId::from_token(token))
                .collect(),
        )
    }

    /// An opaque token may do everything, and does not end.
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
