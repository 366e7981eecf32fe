//! The events of a connected page, and the end of connections and sessions. The module `admission`
//! handles pages that connect, `heartbeat` signs of life, `document_gone` the end of documents, and
//! `session_events` the deadlines of sessions.

use bridge_protocol::{Kind, PageState, SESSIONS_URI, STATUS_URI, SessionId};

use super::session::Session;
use super::{ConnectionId, Disconnect, Effects, LifecycleEvent, Now, Phase, Realm};
use crate::realm::registration_events::list_changed_effects;

/// Why a session continues without a connection, or ends.
pub(super) const CONNECTION_LOST: &str = "the page lost its connection";

impl Realm {
    /// Notifies subscribers of the built-in resources that list the sessions and their tools.
    pub(super) fn notify_builtin_resources_updated(&self) -> Effects {
        let mut effects = self.notify_resource_updated(SESSIONS_URI);
        effects.extend(self.notify_resource_updated(STATUS_URI));
        effects
    }

    /// The socket of a connection has closed.
    pub fn connection_ended(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        disconnect: Disconnect,
        now: Now,
    ) -> Effects {
        if self.session_on(id, connection).is_none() {
            let hands_over = match &disconnect {
                Disconnect::Leaving { hands_over } => hands_over.as_slice(),
                Disconnect::ConnectionLost | Disconnect::DocumentGone => &[],
            };
            return self.former_document_gone(id, connection, hands_over, now);
        }
        let hands_over = match disconnect {
            Disconnect::ConnectionLost => return self.connection_lost(id, CONNECTION_LOST, now),
            Disconnect::DocumentGone => Vec::new(),
            Disconnect::Leaving { hands_over } => hands_over,
        };
        self.document_gone(id, "the page was closed or left", &hands_over, now)
    }

    /// Disconnects the session for the grace period, or ends it if there is no grace period.
    pub(super) fn connection_lost(
        &mut self,
        id: &SessionId,
        reason: &'static str,
        now: Now,
    ) -> Effects {
        let abilities = self.sessions.get(id).map(Session::abilities);
        let grace = abilities
            .unwrap_or_default()
            .return_timeout(self.limits.page_grace);
        if grace.is_zero() {
            return self.document_gone(id, CONNECTION_LOST, &[], now);
        }
        let since = now.instant;
        let until = since + grace;
        let phase = Phase::Disconnected { since, until };
        let former =
            self.update_session(id, |session| std::mem::replace(&mut session.phase, phase));
        let mut effects = self.notify_builtin_resources_updated();
        effects.extend(former.and_then(|former| self.page_away(id, former, reason, now)));
        effects
    }

    /// The visibility, focus or title of the page has changed.
    pub fn page_state_changed(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        state: PageState,
        now: Now,
    ) -> Effects {
        let frozen = state.frozen;
        let Some(session) = self.session_on(id, connection) else {
            return Effects::new();
        };
        session.apply_state(state, now);
        if frozen {
            self.page_frozen(id, now)
        } else {
            Effects::new()
        }
    }

    /// The browser suspends the page: calls that it has not acknowledged fail at once. A page that
    /// checks late calls starts none of them: it sent the receipts of those that it has started
    /// before it reported the freeze, and asks before it starts another one.
    fn page_frozen(&mut self, id: &SessionId, now: Now) -> Effects {
        let waiting: Vec<_> = self.unreceived_calls(id).cloned().collect();
        let abort = |call| {
            let failure = if self.can_be_proven(&call) {
                self.calls.get(&call)?.suspended_failure()
            } else {
                self.calls.get(&call)?.may_have_run_failure()
            };
            Some(self.abort_call(&call, failure, now))
        };
        waiting.into_iter().filter_map(abort).flatten().collect()
    }

    /// The user was active in the page at this time, in Unix milliseconds.
    pub fn user_active(&mut self, id: &SessionId, connection: ConnectionId, at_ms: u64) {
        if let Some(session) = self.session_on(id, connection) {
            session.last_activity_ms = at_ms;
        }
    }

    /// Ends a session: its calls fail, and its definitions are removed or moved to the catalogue.
    pub(super) fn end_session(&mut self, id: &SessionId, why: &'static str, now: Now) -> Effects {
        let mut effects = self.detach_queries(id, now);
        let removed = self.add_to_catalogue(id, now);
        let Some(session) = self.sessions.get(id) else {
            return effects;
        };
        let calls: Vec<_> = session.calls.iter().cloned().collect();
        self.deadlines.remove(session.deadline(id));
        for call in calls {
            effects.extend(self.page_gone(&call, why, now));
        }
        let ended = self.sessions.shift_remove(id).map(|session| {
            self.record_former_session(id.clone(), &session, now);
            let (reason, ms) = (why, session.age_ms(now));
            session.lifecycle(id, LifecycleEvent::PageGone { reason, ms })
        });
        let mut changed: Vec<_> = removed.into_keys().collect();
        if self.limits.notify_every_change {
            changed.push(Kind::Tool);
        }
        effects.extend(list_changed_effects(changed));
        effects.extend(self.notify_builtin_resources_updated());
        effects.extend(ended);
        effects
    }
}
