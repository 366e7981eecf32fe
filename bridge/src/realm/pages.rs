//! Pages come, go, and come back.

use bridge_protocol::{
    BridgeToPage, CloseCode, ErrorCode, Heartbeat, PageState, SESSIONS_URI, STATUS_URI,
    SessionClosed, SessionId,
};

use super::deadlines::Deadline;
use super::registration::lists_changed;
use super::{
    ConnectionId, Effect, Effects, Ending, Failure, Now, PageHello, Parting, Phase, Realm, Refusal,
    Session,
};

impl Realm {
    /// A page has authenticated: a new session, or a known one on a new connection.
    pub(crate) fn page_connected(
        &mut self,
        connection: ConnectionId,
        hello: PageHello,
        now: Now,
    ) -> Result<Effects, Refusal> {
        let mut effects = Effects::new();
        let id = hello.session.clone();
        if !self.sessions.contains_key(&id) && self.sessions.len() >= self.limits.sessions {
            return Err(Refusal {
                code: ErrorCode::SessionLimitExceeded,
                message: format!(
                    "{} pages are connected with this token, which is the limit: close one and \
                     reload, or raise `max_sessions`",
                    self.limits.sessions
                ),
            });
        }
        let heartbeat_due = now.instant + self.limits.heartbeat_every;
        let phase = Phase::Connected {
            connection,
            heartbeat_due,
            sequence: 0,
            answered: 0,
        };
        match self.sessions.get_mut(&id) {
            None => {
                self.sessions
                    .insert(id.clone(), Session::new(hello, phase, now));
            }
            Some(session) => {
                self.deadlines.remove(session.phase.deadline(&id));
                let former = std::mem::replace(&mut session.phase, phase);
                if let Phase::Connected { connection, .. } = former {
                    effects.extend(superseded(connection));
                }
                session.came_back(hello, now);
            }
        }
        self.deadlines
            .insert(heartbeat_due, Deadline::Session(id.clone()));
        effects.push(Effect::Send {
            connection,
            message: self.clients_message(),
        });
        effects.extend(self.unreceived_calls(&id, connection));
        effects.extend(self.tell_own_resources_updated());
        Ok(effects)
    }

    /// The bridge's own resources tell of the sessions and their tools.
    pub(super) fn tell_own_resources_updated(&self) -> Effects {
        let mut effects = self.tell_updated(SESSIONS_URI);
        effects.extend(self.tell_updated(STATUS_URI));
        effects
    }

    /// The socket of a connection is gone.
    pub(crate) fn connection_ended(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        parting: Parting,
        now: Now,
    ) -> Effects {
        let grace = self.limits.page_grace;
        let Some(session) = self.session_on(id, connection) else {
            return Effects::new();
        };
        if parting == Parting::Gone || grace.is_zero() {
            return self.end_session(id, "the page was closed or left");
        }
        let due = session.phase.deadline(id);
        let until = now.instant + grace;
        session.phase = Phase::Away { until };
        self.deadlines.remove(due);
        self.deadlines.insert(until, Deadline::Session(id.clone()));
        self.tell_own_resources_updated()
    }

    /// Page code said something: it runs.
    pub(crate) fn page_heard(&mut self, _id: &SessionId, _connection: ConnectionId, _now: Now) {}

    /// Page code answered a heartbeat.
    pub(crate) fn heartbeat_answered(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        heartbeat: Heartbeat,
    ) {
        if let Some(session) = self.session_on(id, connection)
            && let Phase::Connected {
                sequence, answered, ..
            } = &mut session.phase
        {
            *answered = heartbeat.sequence.clamp(*answered, *sequence);
        }
    }

    /// Visibility, focus or title changed.
    pub(crate) fn page_state_changed(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        state: PageState,
        now: Now,
    ) -> Effects {
        if let Some(session) = self.session_on(id, connection) {
            session.state_changed(state, now);
        }
        Effects::new()
    }

    /// The user did something in the page.
    pub(crate) fn page_active(&mut self, id: &SessionId, connection: ConnectionId, now: Now) {
        if let Some(session) = self.session_on(id, connection) {
            session.last_activity_ms = now.unix_ms;
        }
    }

    /// The end of a session: its calls fail, its tools are gone.
    pub(super) fn end_session(&mut self, id: &SessionId, why: &str) -> Effects {
        let Some(session) = self.sessions.get(id) else {
            return Effects::new();
        };
        let calls: Vec<_> = session.calls.iter().cloned().collect();
        let had = session.lists();
        self.deadlines.remove(session.phase.deadline(id));
        let mut effects = Effects::new();
        for call in calls {
            let failure = Failure::new(
                ErrorCode::PageGone,
                format!("{why} while the call was running: open the app again and retry"),
            );
            effects.extend(self.end_call(&call, Ending::Failed(failure)));
        }
        self.sessions.shift_remove(id);
        effects.extend(lists_changed(had.into_keys().collect()));
        effects.extend(self.tell_own_resources_updated());
        effects
    }

    pub(super) fn session_due(&mut self, id: &SessionId, now: Now) -> Effects {
        let next = now.instant + self.limits.heartbeat_every;
        let Some(session) = self.sessions.get_mut(id) else {
            return Effects::new();
        };
        let due = session.phase.deadline(id);
        match &mut session.phase {
            Phase::Away { .. } => self.end_session(id, "the page lost its connection"),
            Phase::Connected {
                connection,
                heartbeat_due,
                sequence,
                answered,
            } => {
                let connection = *connection;
                // An unanswered heartbeat is not repeated: a frozen tab must not pile them up.
                let alive = *sequence == *answered;
                *sequence += u64::from(alive);
                *heartbeat_due = next;
                let message = BridgeToPage::Heartbeat(Heartbeat {
                    sequence: *sequence,
                    answers: 0,
                });
                self.deadlines.remove(due);
                self.deadlines.insert(next, Deadline::Session(id.clone()));
                if alive {
                    Effects::from([Effect::Send {
                        connection,
                        message,
                    }])
                } else {
                    Effects::new()
                }
            }
        }
    }
}

fn superseded(connection: ConnectionId) -> [Effect; 2] {
    let reason = "a newer connection of the same session took over";
    let message = BridgeToPage::SessionClosed(SessionClosed {
        reason: reason.to_owned(),
        code: ErrorCode::SessionSuperseded,
    });
    [
        Effect::Send {
            connection,
            message,
        },
        Effect::Close {
            connection,
            code: CloseCode::Superseded,
            reason,
        },
    ]
}
