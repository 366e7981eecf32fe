//! Pages live, show it, and go. How they come is in `admission`, what becomes due in `lifetime`.

use std::time::Duration;

use bridge_protocol::{ErrorCode, Heartbeat, Kind, PageState, SESSIONS_URI, STATUS_URI, SessionId};

use super::registration::lists_changed;
use super::session::Session;
use super::{Call, ConnectionId, Effects, Ending, Failure, Now, Parting, Phase, Realm};

impl Realm {
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
        match (self.session_on(id, connection), parting) {
            (None, _) => Effects::new(),
            (Some(_), Parting::Gone) => self.end_session(id, "the page was closed or left", now),
            (Some(_), Parting::Broken) => self.connection_lost(id, now),
        }
    }

    /// The session goes on without a connection, for a while.
    pub(super) fn connection_lost(&mut self, id: &SessionId, now: Now) -> Effects {
        let dialect = self.sessions.get(id).map(Session::dialect);
        let grace = dialect.map_or(Duration::ZERO, |it| it.grace(self.limits.page_grace));
        if grace.is_zero() {
            return self.end_session(id, "the page lost its connection", now);
        }
        let until = now.instant + grace;
        self.change_session(id, |session| session.phase = Phase::Away { until });
        self.tell_own_resources_updated()
    }

    /// Page code said something: it runs.
    pub(crate) fn page_heard(&mut self, id: &SessionId, connection: ConnectionId) {
        if let Some(session) = self.session_on(id, connection) {
            session.heard();
        }
    }

    /// A part of a message came: the page is alive, and what it has to say takes its time.
    pub(crate) fn part_arrived(&mut self, id: &SessionId, connection: ConnectionId, now: Now) {
        if let Some(session) = self.session_on(id, connection) {
            session.heard();
            session.last_part = Some(now.instant);
        }
    }

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
        let frozen = state.frozen;
        let Some(session) = self.session_on(id, connection) else {
            return Effects::new();
        };
        session.state_changed(state, now);
        if frozen {
            self.page_frozen(id, now)
        } else {
            Effects::new()
        }
    }

    /// The browser suspends the page: what it has not taken it will not take.
    fn page_frozen(&mut self, id: &SessionId, now: Now) -> Effects {
        let waiting: Vec<_> = self.unreceived(id).cloned().collect();
        let abort = |call| {
            let failure = self.calls.get(&call).map(Call::suspended)?;
            Some(self.abort_call(&call, failure, now))
        };
        waiting.into_iter().filter_map(abort).flatten().collect()
    }

    /// The user did something in the page, at this time: Unix milliseconds.
    pub(crate) fn page_active(&mut self, id: &SessionId, connection: ConnectionId, at_ms: u64) {
        if let Some(session) = self.session_on(id, connection) {
            session.last_activity_ms = at_ms;
        }
    }

    /// The end of a session: its calls fail, its tools are gone, or listed as those of an app that
    /// is not open.
    pub(super) fn end_session(&mut self, id: &SessionId, why: &str, now: Now) -> Effects {
        let mut effects = self.queries_lose_page(id, now);
        let remembered = self.remember(id, now);
        let Some(session) = self.sessions.get(id) else {
            return effects;
        };
        let calls: Vec<_> = session.calls.iter().cloned().collect();
        let had = session.lists();
        self.deadlines.remove(session.deadline(id));
        for call in calls {
            let failure = Failure::new(
                ErrorCode::PageGone,
                format!("{why} while the call was running: open the app again and retry"),
            );
            effects.extend(self.end_call(&call, Ending::Failed(failure), now));
        }
        if let Some(session) = self.sessions.shift_remove(id) {
            self.remember_session(id.clone(), &session, now);
        }
        let mut changed: Vec<_> = match remembered {
            true => Vec::new(),
            false => had.into_keys().collect(),
        };
        if self.limits.tells_each_change {
            changed.push(Kind::Tool);
        }
        effects.extend(lists_changed(changed));
        effects.extend(self.tell_own_resources_updated());
        effects
    }
}
