//! The bridge closes the pages of the realm: it stops, the realm makes room for another one or is
//! closed, or its pages must authenticate again.

use bridge_protocol::{CloseCode, ErrorCode};

use super::session_events::close_effects;
use super::{CallFailure, Effect, Effects, Now, Realm, RealmCall};

/// The reason for pages and callers whose token is not valid any more.
const TOKEN_REVOKED: &str =
    "the token is no longer valid: ask the operator of the bridge for another one";

/// The reason for pages and callers that the operator has ended.
pub(super) const CLOSED_BY_OPERATOR: &str =
    "the operator of the bridge has closed the page: ask them, or reload it";

/// The reason for other pages and callers of a realm that is closed.
const REALM_CLOSED: &str = "the bridge closed the page";

/// The reason for pages whose tokens are verified by other rules than before.
const RULES_CHANGED: &str = "the rules for tokens have changed: the page authenticates again";

/// The reason for pages whose bridge stops.
const STOPPING: &str = "the bridge is shutting down";

/// The reason for pages that another bridge serves from now on.
const SERVED_ELSEWHERE: &str = "another bridge serves this token now";

/// Why everything of a realm ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RealmEnd {
    /// Its token is not valid any more.
    TokenRevoked,
    /// The operator has ended it.
    EndedByOperator,
    /// Another bridge serves it from now on, to which its pages connect.
    ServedElsewhere,
}

impl Realm {
    /// Ends all queries and calls and closes all connections with the code that makes pages
    /// reconnect.
    pub fn bridge_stopping(&mut self, now: Now) -> Effects {
        self.reconnect_all(RealmCall::bridge_stopping_failure, STOPPING, now)
    }

    fn reconnect_all(
        &mut self,
        failure: impl Fn(&RealmCall) -> CallFailure,
        reason: &'static str,
        now: Now,
    ) -> Effects {
        let mut effects = self.end_all_queries(now);
        let calls: Vec<_> = self.calls.keys().cloned().collect();
        for id in calls {
            if let Some(failure) = self.calls.get(&id).map(&failure) {
                effects.extend(self.abort_call(&id, failure, now));
            }
        }
        effects.extend(self.connections().map(|connection| Effect::Close {
            connection,
            code: CloseCode::ServiceRestart,
            reason,
        }));
        effects
    }

    /// Ends all queries, calls and sessions, and closes all connections with the code that makes
    /// pages reconnect later, because other realms need the place of this one.
    pub fn evicted(&mut self, now: Now) -> Effects {
        let queries: Vec<_> = self.queries.keys().cloned().collect();
        let mut effects = Effects::new();
        for query in queries {
            effects.extend(self.query_page_gone(&query, now));
        }
        effects.extend(self.connections().map(|connection| Effect::Close {
            connection,
            code: CloseCode::TryAgainLater,
            reason: "RealmLimitExceeded, retry in 10 s: this place is needed by one who has fewer: \
                     raise `max_realms`",
        }));
        let sessions: Vec<_> = self.sessions.keys().cloned().collect();
        for session in sessions {
            effects.extend(self.end_session(&session, REALM_CLOSED, now));
        }
        effects
    }

    /// Ends everything that belongs to pages: calls, queries, sessions, and what is remembered of them.
    /// Closes all connections.
    pub fn closed(&mut self, end: RealmEnd, now: Now) -> Effects {
        let mut effects = match end {
            RealmEnd::TokenRevoked => {
                self.close_all(ErrorCode::InvalidAuthentication, TOKEN_REVOKED, now)
            }
            RealmEnd::EndedByOperator => {
                self.close_all(ErrorCode::AccessDenied, CLOSED_BY_OPERATOR, now)
            }
            RealmEnd::ServedElsewhere => {
                self.reconnect_all(RealmCall::served_elsewhere_failure, SERVED_ELSEWHERE, now)
            }
        };
        let sessions: Vec<_> = self.sessions.keys().cloned().collect();
        for session in sessions {
            effects.extend(self.end_session(&session, REALM_CLOSED, now));
        }
        self.clear_history();
        effects
    }

    /// Ends all queries and calls, and closes all connections with an error that is final for pages.
    fn close_all(&mut self, code: ErrorCode, reason: &'static str, now: Now) -> Effects {
        let queries: Vec<_> = self.queries.keys().cloned().collect();
        let ends = queries.iter();
        let ends = ends.map(|query| self.query_page_gone(query, now));
        let mut effects: Effects = ends.flatten().collect();
        let calls: Vec<_> = self.calls.keys().cloned().collect();
        for id in calls {
            let failure = CallFailure::new(code, reason.to_owned());
            effects.extend(self.abort_call(&id, failure, now));
        }
        for connection in self.connections() {
            let close = CloseCode::PolicyViolation;
            effects.extend(close_effects(connection, code, close, reason));
        }
        effects
    }

    /// Closes all connections of pages with the code that makes them reconnect, also with the token that
    /// they have, which may still be valid. Their sessions and calls wait for them as after a lost
    /// connection.
    pub fn tokens_expired(&mut self, now: Now) -> Effects {
        let connected = self.sessions.iter().filter_map(|(id, session)| {
            let connection = session.phase.connection()?;
            Some((id.clone(), connection))
        });
        let connected: Vec<_> = connected.collect();
        let mut effects = Effects::new();
        for (id, connection) in connected {
            effects.extend(self.connection_lost(&id, RULES_CHANGED, now));
            effects.push(Effect::Close {
                connection,
                code: CloseCode::ServiceRestart,
                reason: RULES_CHANGED,
            });
        }
        effects
    }
}
