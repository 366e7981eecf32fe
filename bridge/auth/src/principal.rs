//! Who a request comes from.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bridge_protocol::{Caller, CallerTransport, ErrorCode, QueryId, Subject};
use tokio::time::Instant;

use crate::realm_id::RealmId;
use crate::scopes::{Scope, Scopes};

/// The one whom a token names, and what it may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    pub realm: RealmId,
    /// The subject; an opaque token names nobody.
    pub sub: Option<String>,
    pub roles: Vec<String>,
    pub scopes: Scopes,
    /// When the token ends, leeway included.
    pub expires: Option<SystemTime>,
    /// The token is that of a query: good for the tools that it may call, and for reporting on it.
    pub query: Option<QueryId>,
}

/// The token is good, and not for this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsufficientScope {
    pub needed: Scope,
    pub granted: Scopes,
}

impl InsufficientScope {
    pub const CODE: ErrorCode = ErrorCode::InsufficientScope;

    pub fn message(&self) -> String {
        format!(
            "the token does not grant `{}`: ask its issuer for a token with this scope",
            self.needed
        )
    }

    /// What to ask the issuer for: with what the client has of its own scopes, so that it does not
    /// lose them (MCP 2025-11-25, "Scope Challenge Handling").
    pub fn challenge_scopes(&self) -> impl Iterator<Item = Scope> {
        let Self { needed, granted } = self.clone();
        let is_challenged = move |scope: &Scope| *scope == needed || granted.contains(*scope);
        let client_scopes = Scope::FOR_CLIENTS.into_iter().filter(is_challenged);
        let other = (!Scope::FOR_CLIENTS.contains(&needed)).then_some(needed);
        client_scopes.chain(other)
    }
}

impl Principal {
    /// The agent of a query: it acts for the person who asks.
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

    /// Whom the token names; none for an opaque one.
    pub fn subject(&self) -> Option<Arc<Subject>> {
        let named = self.sub.is_some() || !self.roles.is_empty();
        named.then(|| {
            Arc::new(Subject {
                sub: self.sub.clone(),
                roles: self.roles.clone(),
            })
        })
    }

    pub fn require_scope(&self, needed: Scope) -> Result<(), InsufficientScope> {
        match self.scopes.contains(needed) {
            true => Ok(()),
            false => Err(InsufficientScope {
                needed,
                granted: self.scopes,
            }),
        }
    }

    /// What a page's handler hears.
    pub fn caller(&self, via: CallerTransport) -> Caller {
        Caller {
            via,
            sub: self.sub.clone(),
            roles: self.roles.clone(),
        }
    }

    /// How long the token is still good; `None` when it does not end.
    pub fn remaining_lifetime(&self) -> Option<Duration> {
        let expires = self.expires?;
        let left = expires.duration_since(SystemTime::now());
        Some(left.unwrap_or_default())
    }

    /// The same on the clock that timers use. An end beyond what that can show is none.
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
