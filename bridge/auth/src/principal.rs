//! The principal of a request.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bridge_protocol::{Caller, CallerTransport, ErrorCode, QueryId, Subject};
use tokio::time::Instant;

use crate::realm_id::RealmId;
use crate::scopes::{Scope, Scopes};

/// The realm and subject of a verified token, and what the token grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    pub realm: RealmId,
    /// The subject (`sub`); `None` for opaque tokens.
    pub sub: Option<String>,
    pub roles: Vec<String>,
    pub scopes: Scopes,
    /// When the token expires, including the leeway.
    pub expires: Option<SystemTime>,
    /// The query that the token belongs to. Such a token is valid only for the tools that the query
    /// may call, and for reports on the query.
    pub query: Option<QueryId>,
}

/// The error when a valid token does not grant the required scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsufficientScope {
    pub needed: Scope,
    pub granted: Scopes,
}

impl InsufficientScope {
    /// The error code of every insufficient scope.
    pub const CODE: ErrorCode = ErrorCode::InsufficientScope;

    /// The message for the client, with the missing scope and what to do.
    pub fn message(&self) -> String {
        format!(
            "the token does not grant `{}`: ask its issuer for a token with this scope",
            self.needed
        )
    }

    /// The scopes that the client should request from the issuer. They include the scopes that it
    /// already has, so that it does not lose them (MCP 2025-11-25, "Scope Challenge Handling").
    pub fn challenge_scopes(&self) -> impl Iterator<Item = Scope> {
        let Self { needed, granted } = self.clone();
        let is_challenged = move |scope: &Scope| *scope == needed || granted.contains(*scope);
        let client_scopes = Scope::FOR_CLIENTS.into_iter().filter(is_challenged);
        let other = (!Scope::FOR_CLIENTS.contains(&needed)).then_some(needed);
        client_scopes.chain(other)
    }
}

impl Principal {
    /// The principal of the agent of a query, which acts for the user who sent the query.
    pub fn for_query(realm: RealmId, query: QueryId, person: Option<&Subject>) -> Self {
        Self {
            realm,
            sub: person.and_then(|person| person.sub.clone()),
            roles: person
                .map(|person| person.roles.clone())
                .unwrap_or_default(),
            scopes: Scope::FOR_CLIENTS.into_iter().collect(),
            expires: None,
            query: Some(query),
        }
    }

    /// The subject of the token; `None` for an opaque token.
    pub fn subject(&self) -> Option<Arc<Subject>> {
        let named = self.sub.is_some() || !self.roles.is_empty();
        named.then(|| {
            Arc::new(Subject {
                sub: self.sub.clone(),
                roles: self.roles.clone(),
            })
        })
    }

    /// Checks that the token grants a scope.
    pub fn require_scope(&self, needed: Scope) -> Result<(), InsufficientScope> {
        if self.scopes.contains(needed) {
            Ok(())
        } else {
            Err(InsufficientScope {
                needed,
                granted: self.scopes,
            })
        }
    }

    /// The caller that the handler of a page receives.
    pub fn caller(&self, via: CallerTransport) -> Caller {
        Caller {
            via,
            sub: self.sub.clone(),
            roles: self.roles.clone(),
        }
    }

    /// The remaining lifetime of the token; `None` if it does not expire.
    pub fn remaining_lifetime(&self) -> Option<Duration> {
        let expires = self.expires?;
        let left = expires.duration_since(SystemTime::now());
        Some(left.unwrap_or_default())
    }

    /// The expiry as an `Instant`; `None` if the token does not expire, or so late that an
    /// `Instant` cannot represent it.
    pub fn expires_at(&self) -> Option<Instant> {
        Instant::now().checked_add(self.remaining_lifetime()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenge_scopes_include_those_already_granted() {
        let wanted = |needed, granted: &[Scope]| {
            let granted = granted.iter().copied().collect();
            let insufficient = InsufficientScope { needed, granted };
            insufficient.challenge_scopes().collect::<Vec<_>>()
        };
        let both = vec![Scope::ToolsRead, Scope::ToolsCall];
        assert_eq!(wanted(Scope::ToolsCall, &[Scope::ToolsRead]), both);
        assert_eq!(wanted(Scope::ToolsCall, &[Scope::Page]), [Scope::ToolsCall]);
        assert_eq!(wanted(Scope::Page, &[]), [Scope::Page]);
    }
}
