//! Who a request comes from.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bridge_protocol::{Caller, ErrorCode, QueryId, Via};
use tokio::time::Instant;

use super::{RealmId, Scope, Scopes};

/// The one whom a token names, and what it may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Principal {
    pub(crate) realm: RealmId,
    /// The subject; an opaque token names nobody.
    pub(crate) sub: Option<String>,
    pub(crate) roles: Vec<String>,
    pub(crate) scopes: Scopes,
    /// When the token ends, leeway included.
    pub(crate) expires: Option<SystemTime>,
    /// The token is that of a query: good for the tools that it may call, and for reporting on it.
    pub(crate) query: Option<QueryId>,
}

/// Whom a token names, where it names somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Person {
    sub: Option<String>,
    roles: Vec<String>,
}

/// The token is good, and not for this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InsufficientScope {
    pub(crate) needed: Scope,
    pub(crate) granted: Scopes,
}

impl InsufficientScope {
    pub(crate) const CODE: ErrorCode = ErrorCode::InsufficientScope;

    pub(crate) fn message(&self) -> String {
        format!(
            "the token does not grant `{}`: ask its issuer for a token with this scope",
            self.needed
        )
    }

    /// What to ask the issuer for: with what the client has of its own scopes, so that it does not
    /// lose them (MCP 2025-11-25, "Scope Challenge Handling").
    pub(crate) fn wanted(&self) -> impl Iterator<Item = Scope> {
        let Self { needed, granted } = self.clone();
        let has = move |scope: &Scope| *scope == needed || granted.contains(*scope);
        let of_clients = Scope::OF_CLIENTS.into_iter().filter(has);
        let other = (!Scope::OF_CLIENTS.contains(&needed)).then_some(needed);
        of_clients.chain(other)
    }
}

impl Principal {
    /// The agent of a query: it acts for the person who asks.
    pub(crate) fn of_query(realm: RealmId, query: QueryId, person: Option<&Person>) -> Self {
        Self {
            realm,
            sub: person.and_then(|person| person.sub.clone()),
            roles: person
                .map(|person| person.roles.clone())
                .unwrap_or_default(),
            scopes: Scope::OF_CLIENTS.into_iter().collect(),
            expires: None,
            query: Some(query),
        }
    }

    /// Whom the token names; none for an opaque one.
    pub(crate) fn person(&self) -> Option<Arc<Person>> {
        let named = self.sub.is_some() || !self.roles.is_empty();
        named.then(|| {
            Arc::new(Person {
                sub: self.sub.clone(),
                roles: self.roles.clone(),
            })
        })
    }

    pub(crate) fn needs(&self, needed: Scope) -> Result<(), InsufficientScope> {
        match self.scopes.contains(needed) {
            true => Ok(()),
            false => Err(InsufficientScope {
                needed,
                granted: self.scopes,
            }),
        }
    }

    /// What a page's handler hears.
    pub(crate) fn caller(&self, via: Via) -> Caller {
        Caller {
            via,
            sub: self.sub.clone(),
            roles: self.roles.clone(),
        }
    }

    /// How long the token is still good; `None` when it does not end.
    pub(crate) fn good_for(&self) -> Option<Duration> {
        let expires = self.expires?;
        let left = expires.duration_since(SystemTime::now());
        Some(left.unwrap_or_default())
    }

    /// The same on the clock that timers use. An end beyond what that can show is none.
    pub(crate) fn ends_at(&self) -> Option<Instant> {
        Instant::now().checked_add(self.good_for()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_told_to_keep_the_scopes_that_it_has() {
        let wanted = |needed, granted: &[Scope]| {
            let granted = granted.iter().copied().collect();
            let insufficient = InsufficientScope { needed, granted };
            insufficient.wanted().collect::<Vec<_>>()
        };
        let both = vec![Scope::ToolsRead, Scope::ToolsCall];
        assert_eq!(wanted(Scope::ToolsCall, &[Scope::ToolsRead]), both);
        assert_eq!(wanted(Scope::ToolsCall, &[Scope::Page]), [Scope::ToolsCall]);
        assert_eq!(wanted(Scope::Page, &[]), [Scope::Page]);
    }
}
