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

    /// Whether the token of this realm is valid.
    pub fn allows(&self, realm: &RealmId) -> bool {
        match self {
            Self::AnyToken => true,
            Self::Allowed(listed) => listed.contains(realm),
        }
    }

    /// The number of tokens of this list that are not in another one.
    pub(crate) fn count_missing_in(&self, other: &Self) -> usize {
        match self {
            Self::AnyToken => 0,
            Self::Allowed(listed) => listed.iter().filter(|it| !other.allows(it)).count(),
        }
    }

    /// Whether no token is valid.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Allowed(listed) if listed.is_empty())
    }

    /// The principal of a valid token. An opaque token grants all scopes and does not expire.
    pub fn principal(&self, token: &str) -> Option<Principal> {
        let realm = RealmId::from_token(token);
        self.allows(&realm).then(|| Principal {
            realm,
            sub: None,
            roles: Vec::new(),
            scopes: Scopes::all(),
            expires: None,
            query: None,
        })
    }
}
