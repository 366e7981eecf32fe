//! The deadlines of a session: heartbeats, and the ends of the grace period, the token, former items
//! and the session.

use std::sync::Arc;
use web_time::Instant;

use bridge_protocol::{
    BridgeToPage, CloseCode, ErrorCode, Renewed, SessionClosed, SessionId, Subject,
};

use super::connection_events::CONNECTION_LOST;
use super::session::Session;
use super::{ConnectionId, Effect, Effects, Now, Phase, Realm};

impl Realm {
    /// Changes a session and updates its deadline.
    pub(super) fn update_session<T>(
        &mut self,
        id: &SessionId,
        change: impl FnOnce(&mut Session) -> T,
    ) -> Option<T> {
        let session = self.sessions.get_mut(id)?;
        let former = session.deadline(id);
        let outcome = change(session);
        let (at, deadline) = session.deadline(id);
        if former.0 != at {
            self.deadlines.remove(former);
            self.deadlines.insert(at, deadline);
        }
        Some(outcome)
    }

    /// The page has sent a new token, which expires at `expires_at`, on its open connection.
    pub fn token_renewed(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        expires_at: Option<Instant>,
        may_query: bool,
        subject: Option<Arc<Subject>>,
        now: Now,
    ) -> Effects {
        if self.session_on(id, connection).is_none() {
            return Effects::new();
        }
        self.update_session(id, |session| {
            session.renew_token(may_query, subject);
            if let Phase::Connected { expires, .. } = &mut session.phase {
                *expires = expires_at;
            }
        });
        let renewed = Renewed {
            token_expires_in_ms: expires_at.map(|at| milliseconds_until(at, now)),
        };
        Effects::from([Effect::Send {
            connection,
            message: BridgeToPage::Renewed(renewed),
        }])
    }

    /// The page has sent the token of another user on its open connection: the session ends without
    /// a grace period, and the page may connect again as that user.
    pub fn user_changed(&mut self, id: &SessionId, connection: ConnectionId, now: Now) -> Effects {
        if self.session_on(id, connection).is_none() {
            return Effects::new();
        }
        let reason = "another user has taken the page over";
        let mut effects = self.end_session(id, reason, now);
        effects.extend(close_for_another_token(connection, reason));
        effects
    }

    /// A deadline of a session has passed.
    pub(super) fn session_due(&mut self, id: &SessionId, now: Now) -> Effects {
        let Some(session) = self.sessions.get(id) else {
            return Effects::new();
        };
        if session.ends_at.is_some_and(|ends| ends <= now.instant) {
            let reason = "the session has reached its maximum duration";
            return self.close_session(id, ErrorCode::SessionExpired, reason, now);
        }
        match session.phase {
            Phase::Disconnected { .. } => self.document_gone(id, CONNECTION_LOST, &[], now),
            Phase::BetweenDocuments { .. } => {
                self.document_gone(id, "the page was closed or left", &[], now)
            }
            Phase::Connected {
                connection,
                expires: Some(expires),
                ..
            } if expires <= now.instant => self.token_expired(id, connection, now),
            Phase::Connected {
                former_items_until: Some(until),
                ..
            } if until <= now.instant => self.former_items_expired(id),
            Phase::Connected { connection, .. } => self.heartbeat_due(id, connection, now),
        }
    }

    /// Ends a session immediately, without a grace period, and closes its connection.
    pub(super) fn close_session(
        &mut self,
        id: &SessionId,
        code: ErrorCode,
        reason: &'static str,
        now: Now,
    ) -> Effects {
        let connection = self.sessions.get(id).and_then(|it| it.phase.connection());
        let mut effects = self.end_session(id, reason, now);
        if let Some(connection) = connection {
            effects.extend(close_effects(
                connection,
                code,
                CloseCode::PolicyViolation,
                reason,
            ));
        }
        effects
    }

    /// Closes the connection but not the session: the page can reconnect with a new token.
    fn token_expired(&mut self, id: &SessionId, connection: ConnectionId, now: Now) -> Effects {
        let reason = "the token has expired";
        let mut effects = self.connection_lost(id, reason, now);
        effects.extend(close_for_another_token(connection, reason));
        effects
    }
}

/// Closes the connection of a page that needs another token.
fn close_for_another_token(connection: ConnectionId, reason: &'static str) -> [Effect; 2] {
    let (code, close) = (ErrorCode::TokenExpired, CloseCode::TokenExpired);
    close_effects(connection, code, close, reason)
}

/// The message with the reason, followed by the close.
pub(super) fn close_effects(
    connection: ConnectionId,
    code: ErrorCode,
    close: CloseCode,
    reason: &'static str,
) -> [Effect; 2] {
    let message = BridgeToPage::SessionClosed(SessionClosed {
        reason: reason.to_owned(),
        code,
    });
    [
        Effect::Send {
            connection,
            message,
        },
        Effect::Close {
            connection,
            code: close,
            reason,
        },
    ]
}

pub(super) fn milliseconds_until(at: Instant, now: Now) -> u64 {
    let left = at.saturating_duration_since(now.instant);
    u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
}
