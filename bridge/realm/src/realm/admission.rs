//! The admission of pages that connect: the limit of sessions, stale connections and the names of
//! sessions.

use std::borrow::Cow;

use bridge_protocol::{CallId, CloseCode, ErrorCode, SessionId};

use super::{
    ConnectionId, Effect, Effects, LifecycleEvent, Now, PageHello, Phase, Realm, Receipt, Refusal,
    Session,
};
use crate::policy::{DuplicateNames, SessionLimitPolicy};
use crate::realm::registration_events::list_changed_effects;
use crate::realm::session_events::{close_effects, milliseconds_until};

/// The data for a page that has been accepted.
#[derive(Debug, PartialEq, Eq)]
pub struct SessionAccepted {
    /// The name that was assigned to the session.
    pub session_name: Option<String>,
    /// The calls that the page has acknowledged on an earlier connection and not answered yet.
    pub awaited: Vec<CallId>,
    /// The time until the token expires, in milliseconds; `None` if it does not expire.
    pub token_expires_in_ms: Option<u64>,
}

impl Realm {
    /// A page has authenticated: a new session starts, or a session resumes on a new connection.
    pub fn page_connected(
        &mut self,
        connection: ConnectionId,
        hello: PageHello,
        now: Now,
    ) -> Result<(SessionAccepted, Effects), Refusal> {
        let hello = hello.truncate_texts();
        let id = hello.session.clone();
        self.reject_stale_connection(&hello)?;
        let evicted = self.session_to_evict(&id)?;
        let name = self.assign_name(&hello, evicted.as_ref())?;
        let mut effects = evicted.map_or_else(Effects::new, |oldest| {
            let reason = "Session limit exceeded, closing oldest session";
            self.close_session(&oldest, ErrorCode::SessionLimitExceeded, reason, now)
        });
        let expires = hello.expires;
        let heartbeat_interval = self.limits.heartbeat_interval;
        let phase = Phase::Connected {
            connection,
            heartbeat_due: now.instant + hello.heartbeat_after.unwrap_or(heartbeat_interval),
            sequence: 0,
            acked_sequence: 0,
            answer_count: 0,
            expires,
            former_items_until: None,
        };
        let lifecycle = if self.sessions.contains_key(&id) {
            let (resumed, away_ms) = self.resume_session(&id, hello, name.clone(), phase, now);
            effects.extend(resumed);
            LifecycleEvent::PageReconnected { away_ms }
        } else {
            let (app, origin) = (hello.app.clone(), hello.origin.clone());
            self.begin_session(hello, name.clone(), phase, now);
            LifecycleEvent::PageConnected { app, origin }
        };
        self.expect_registration(&id, now);
        effects.push(Effect::Send {
            connection,
            message: self.clients_message(),
        });
        effects.extend(self.send_unreceived_calls(&id, connection, now));
        effects.extend(self.send_missed_updates(&id, connection, now));
        effects.extend(self.notify_builtin_resources_updated());
        let session = self.sessions.get(&id);
        effects.extend(session.map(|session| session.lifecycle(&id, lifecycle)));
        let accepted = SessionAccepted {
            session_name: name,
            awaited: self.received_calls(&id),
            token_expires_in_ms: expires.map(|at| milliseconds_until(at, now)),
        };
        Ok((accepted, effects))
    }

    /// Refuses a connection that is older than the session's current one, because connections may
    /// arrive in a different order than the page opened them.
    fn reject_stale_connection(&self, hello: &PageHello) -> Result<(), Refusal> {
        let session = self.sessions.get(&hello.session);
        if !session.is_some_and(|session| session.is_newer_than(hello)) {
            return Ok(());
        }
        Err(Refusal {
            code: ErrorCode::SessionSuperseded,
            message: "a newer connection of this page came first".to_owned(),
        })
    }

    fn begin_session(&mut self, hello: PageHello, name: Option<String>, phase: Phase, now: Now) {
        let id = hello.session.clone();
        let longest = self.limits.max_session_duration;
        let mut session = Session::new(hello, name, phase, now);
        session.ends_at = (!longest.is_zero()).then(|| now.instant + longest);
        let (at, deadline) = session.deadline(&id);
        self.deadlines.insert(at, deadline);
        if self.sessions.is_empty() {
            // Most tokens have one page, so room for one session is enough.
            self.sessions.reserve_exact(1);
        }
        self.sessions.insert(id, session);
    }

    /// Continues a session on a new connection. Returns also how long the session had none, in
    /// milliseconds; `None` if it had one.
    fn resume_session(
        &mut self,
        id: &SessionId,
        hello: PageHello,
        name: Option<String>,
        phase: Phase,
        now: Now,
    ) -> (Effects, Option<u64>) {
        let mut effects = self.document_replaced(id, &hello, now);
        let (former, lists, away_ms) = self
            .update_session(id, |session| {
                let former = session.phase.connection();
                let former_phase_ms = session.begin_phase(now);
                session.resume(hello, name, phase, now);
                let drop_items = !session.abilities().resumes_sessions;
                let lists = drop_items.then(|| session.take_items());
                (former, lists, former.is_none().then_some(former_phase_ms))
            })
            .unwrap_or_default();
        effects.extend(
            lists
                .map(|lists| list_changed_effects(lists.into_keys().collect()))
                .into_iter()
                .flatten(),
        );
        let superseded = |connection| {
            let reason = "a newer connection of the same session took over";
            let code = ErrorCode::SessionSuperseded;
            close_effects(connection, code, CloseCode::Superseded, reason)
        };
        effects.extend(former.into_iter().flat_map(superseded));
        (effects, away_ms)
    }

    /// The calls that the page has acknowledged and not answered.
    fn received_calls(&self, id: &SessionId) -> Vec<CallId> {
        let session = self.sessions.get(id);
        let calls = session.into_iter().flat_map(|session| &session.calls);
        let received = |id: &&CallId| {
            let call = self.calls.get(*id);
            call.is_some_and(|call| call.receipt == Receipt::Received)
        };
        calls.filter(received).cloned().collect()
    }

    /// The session to close in favor of this one, if the limit of sessions is reached.
    fn session_to_evict(&self, id: &SessionId) -> Result<Option<SessionId>, Refusal> {
        let most = self.limits.sessions;
        if self.sessions.contains_key(id) || self.sessions.len() < most {
            return Ok(None);
        }
        let oldest = self.sessions.keys().next().cloned();
        match (self.limits.session_limit_policy, oldest) {
            (SessionLimitPolicy::CloseOldest, Some(oldest)) => Ok(Some(oldest)),
            _ => Err(Refusal {
                code: ErrorCode::SessionLimitExceeded,
                message: format!(
                    "{most} pages have this token, which is the limit: close one, or raise \
                     `max_sessions`"
                ),
            }),
        }
    }

    /// Chooses the name of the session. No two sessions of a realm have the same name.
    fn assign_name(
        &self,
        hello: &PageHello,
        evicted: Option<&SessionId>,
    ) -> Result<Option<String>, Refusal> {
        let Some(requested) = &hello.name else {
            return Ok(None);
        };
        let is_taken = |name: &str| {
            let others = self.sessions.iter().filter(|(id, _)| **id != hello.session);
            let mut others = others.filter(|(id, _)| Some(*id) != evicted);
            others.any(|(_, session)| session.name.as_deref() == Some(name))
        };
        let policy = if hello.abilities.accepts_other_name {
            self.limits.duplicate_names
        } else {
            DuplicateNames::Reject
        };
        match policy {
            _ if !is_taken(requested) => Ok(Some(requested.clone())),
            DuplicateNames::Number => {
                let numbered = (2..).map(|number| Cow::Owned(format!("{requested} ({number})")));
                let free = numbered
                    .into_iter()
                    .find(|name: &Cow<'_, str>| !is_taken(name));
                Ok(free.map(Cow::into_owned))
            }
            DuplicateNames::Reject => Err(Refusal {
                code: ErrorCode::SessionNameAlreadyInUse,
                message: format!(
                    "Session name \"{requested}\" is already in use: close the other tab, choose \
                     another `sessionName`, or set `duplicate_names` to `number`"
                ),
            }),
        }
    }
}
