//! A realm: everything that belongs to one principal (a token): sessions, tools, calls, clients.
//!
//! Plain data. Methods are named after events, take [`Now`], and return what must happen next as
//! [`Effect`]s. No I/O, no clock, no await: the hub owns sockets and tasks, the realm owns facts.
//!
//! Invariants (checked by [`Realm::check_invariants`] after every step in tests):
//! - each call belongs to exactly one session and ends exactly once, through [`Realm::end_call`];
//! - a connection belongs to at most one session; events of any other connection change nothing;
//! - `Session::calls` names exactly the calls whose session it is;
//! - `deadlines` holds exactly the instants that sessions and calls name.

mod call;
mod deadlines;
mod effect;
mod routing;
mod session;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bridge_protocol::{
    BridgeToPage, CallId, Clients, CloseCode, ConnectedClient, ErrorCode, Heartbeat, PageState,
    Registered, RegisteredTool, RegistrationFailure, RegistrationId, SessionClosed, SessionId,
    ToolCancel, Unregistered,
};
use indexmap::IndexMap;
use serde_json::value::RawValue;

use crate::tool::Tool;
use deadlines::{Deadline, Deadlines};

pub(crate) use call::{Call, NewCall, Receipt};
pub(crate) use effect::{Effect, Effects, Ending, Failure};
pub(crate) use routing::{RouteError, Target};
pub(crate) use session::{PageHello, Phase, Session, SessionSummary};

/// One socket. Counts up over the life of the bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ConnectionId(pub(crate) u64);

/// One connected MCP client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ClientId(pub(crate) u64);

/// The time of an event: monotonic for deadlines, Unix milliseconds for people.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(crate) instant: Instant,
    pub(crate) unix_ms: u64,
}

/// What one token may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RealmLimits {
    pub(crate) sessions: usize,
    pub(crate) tools_per_session: usize,
    pub(crate) tool_bytes_per_session: usize,
    pub(crate) calls: usize,
    pub(crate) receipt_within: Duration,
    pub(crate) page_grace: Duration,
    pub(crate) heartbeat_every: Duration,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parting {
    /// The document is gone (close code 1000 or 1001, or `leaving`).
    Gone,
    /// The connection broke; the page may come back within the grace.
    Broken,
}

/// A page that may not connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Realm {
    limits: RealmLimits,
    sessions: IndexMap<SessionId, Session>,
    calls: HashMap<CallId, Call>,
    clients: IndexMap<ClientId, ConnectedClient>,
    deadlines: Deadlines,
    /// Counts up with each registration: of two tools with one name the newer is listed.
    registrations: u64,
}

impl Realm {
    pub(crate) fn new(limits: RealmLimits) -> Self {
        Self {
            limits,
            sessions: IndexMap::new(),
            calls: HashMap::new(),
            clients: IndexMap::new(),
            deadlines: Deadlines::default(),
            registrations: 0,
        }
    }

    /// Nothing lives here any more; the realm can be forgotten.
    pub(crate) fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.clients.is_empty()
    }

    /// When [`Realm::deadline_passed`] must be called next.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first()
    }

    // ---- pages ----

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
        Ok(effects)
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
        Effects::new()
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
    ) {
        if let Some(session) = self.session_on(id, connection) {
            session.state_changed(state, now);
        }
    }

    /// The user did something in the page.
    pub(crate) fn page_active(&mut self, id: &SessionId, connection: ConnectionId, now: Now) {
        if let Some(session) = self.session_on(id, connection) {
            session.last_activity_ms = now.unix_ms;
        }
    }

    // ---- tools ----

    /// A page registers tools. The first registration on a connection is its whole set.
    pub(crate) fn tools_registered(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        registration: RegistrationId,
        tools: Vec<Result<Arc<Tool>, RegistrationFailure>>,
    ) -> Effects {
        let limits = self.limits;
        self.registrations += 1;
        let registration_number = self.registrations;
        let Some(session) = self.session_on(id, connection) else {
            return Effects::new();
        };
        let former = session.take_former_tools();
        let mut tools_changed = false;
        let mut registered = Vec::new();
        let mut errors = Vec::new();
        for (index, tool) in tools.into_iter().enumerate() {
            let outcome = tool.and_then(|tool| {
                let names = RegisteredTool {
                    name: tool.name.clone(),
                    published_name: tool.published_name.clone(),
                };
                let changed = session.register(index, tool, registration_number, &limits)?;
                Ok((names, changed))
            });
            match outcome {
                Ok((names, changed)) => {
                    registered.push(names);
                    tools_changed |= changed;
                }
                Err(failure) => errors.push(failure),
            }
        }
        let message = BridgeToPage::Registered(Registered {
            registration_id: registration,
            tools: registered,
            errors,
        });
        let mut effects = Effects::from([Effect::Send {
            connection,
            message,
        }]);
        if former.map_or(tools_changed, |former| former != session.tool_hashes()) {
            effects.push(Effect::ToolsChanged);
        }
        effects
    }

    /// A page takes tools back. Calls in flight go on.
    pub(crate) fn tools_unregistered(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        registration: RegistrationId,
        names: Vec<String>,
    ) -> Effects {
        let Some(session) = self.session_on(id, connection) else {
            return Effects::new();
        };
        let names: Vec<_> = names
            .into_iter()
            .filter(|name| session.unregister(name))
            .collect();
        let changed = !names.is_empty();
        let message = BridgeToPage::Unregistered(Unregistered {
            registration_id: registration,
            names,
        });
        let mut effects = Effects::from([Effect::Send {
            connection,
            message,
        }]);
        if changed {
            effects.push(Effect::ToolsChanged);
        }
        effects
    }

    // ---- calls ----

    /// A caller wants a tool of a session run. Held back while the page is away.
    pub(crate) fn call_requested(
        &mut self,
        session_id: &SessionId,
        call: NewCall,
        now: Now,
    ) -> Result<Effects, Failure> {
        if self.calls.len() >= self.limits.calls {
            return Err(Failure::new(
                ErrorCode::CallLimitExceeded,
                format!(
                    "{} calls are in flight for this token, which is the limit: wait for some to \
                     end, or raise `max_calls`",
                    self.limits.calls
                ),
            ));
        }
        let Some(session) = self.sessions.get_mut(session_id) else {
            return Err(page_gone());
        };
        let id = call.id.clone();
        let receipt_by = now.instant + self.limits.receipt_within;
        let call = Call::new(call, session_id.clone(), receipt_by, now);
        let effects = match session.phase.connection() {
            Some(connection) => Effects::from([Effect::Send {
                connection,
                message: call.message(&id),
            }]),
            None => Effects::new(),
        };
        session.calls.insert(id.clone());
        self.deadlines
            .insert(call.deadline(), Deadline::Call(id.clone()));
        self.calls.insert(id, call);
        Ok(effects)
    }

    /// The call has reached page code.
    pub(crate) fn call_received(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        call: &CallId,
    ) {
        let Some(open) = self.call_on(id, connection, call) else {
            return;
        };
        let due = open.deadline();
        open.receipt = Receipt::Received;
        let next = open.deadline();
        self.deadlines.remove((due, Deadline::Call(call.clone())));
        self.deadlines.insert(next, Deadline::Call(call.clone()));
    }

    /// The page answered, on this connection or on the one before.
    pub(crate) fn call_answered(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        call: &CallId,
        answer: Result<Option<Box<RawValue>>, Failure>,
    ) -> Effects {
        if self.call_on(id, connection, call).is_none() {
            return Effects::new();
        }
        self.end_call(call, answer.map_or_else(Ending::Failed, Ending::Answered))
    }

    /// The caller no longer waits. The page is told, the call is over.
    pub(crate) fn call_cancelled(&mut self, call: &CallId, reason: &str) -> Effects {
        self.abort_call(
            call,
            Failure::new(ErrorCode::CallCancelled, reason.to_owned()),
        )
    }

    /// Ends a call that the page may still be working on.
    fn abort_call(&mut self, id: &CallId, failure: Failure) -> Effects {
        let Some(call) = self.calls.get(id) else {
            return Effects::new();
        };
        let connection = self
            .sessions
            .get(&call.session)
            .and_then(|session| session.phase.connection());
        let mut effects = Effects::new();
        if let Some(connection) = connection {
            effects.push(Effect::Send {
                connection,
                message: BridgeToPage::ToolCancel(ToolCancel {
                    request_id: id.clone(),
                    code: failure.code,
                    reason: failure.message.clone(),
                }),
            });
        }
        effects.extend(self.end_call(id, Ending::Failed(failure)));
        effects
    }

    /// The one ending of a call.
    fn end_call(&mut self, id: &CallId, ending: Ending) -> Effects {
        let Some(call) = self.calls.remove(id) else {
            return Effects::new();
        };
        self.deadlines
            .remove((call.deadline(), Deadline::Call(id.clone())));
        if let Some(session) = self.sessions.get_mut(&call.session) {
            session.calls.shift_remove(id);
        }
        Effects::from([Effect::End {
            call: id.clone(),
            ending,
        }])
    }

    /// Calls that may not have reached the page before; the page runs each id at most once.
    fn unreceived_calls(&self, id: &SessionId, connection: ConnectionId) -> Effects {
        let Some(session) = self.sessions.get(id) else {
            return Effects::new();
        };
        session
            .calls
            .iter()
            .filter_map(|id| self.calls.get_key_value(id))
            .filter(|(_, call)| call.receipt != Receipt::Received)
            .map(|(id, call)| Effect::Send {
                connection,
                message: call.message(id),
            })
            .collect()
    }

    /// The end of a session: its calls fail, its tools are gone.
    fn end_session(&mut self, id: &SessionId, why: &str) -> Effects {
        let Some(session) = self.sessions.get(id) else {
            return Effects::new();
        };
        let calls: Vec<_> = session.calls.iter().cloned().collect();
        let had_tools = !session.tools.is_empty();
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
        if had_tools {
            effects.push(Effect::ToolsChanged);
        }
        effects
    }

    // ---- clients ----

    /// An MCP client connected. Pages hear of it.
    pub(crate) fn client_connected(&mut self, id: ClientId, client: ConnectedClient) -> Effects {
        self.clients.insert(id, client);
        self.tell_clients()
    }

    /// An MCP client left.
    pub(crate) fn client_left(&mut self, id: ClientId) -> Effects {
        match self.clients.shift_remove(&id) {
            Some(_) => self.tell_clients(),
            None => Effects::new(),
        }
    }

    /// How many MCP clients are connected.
    pub(crate) fn client_count(&self) -> usize {
        self.clients.len()
    }

    fn clients_message(&self) -> BridgeToPage {
        BridgeToPage::Clients(Clients {
            clients: self.clients.values().cloned().collect(),
        })
    }

    fn tell_clients(&self) -> Effects {
        self.connections()
            .map(|connection| Effect::Send {
                connection,
                message: self.clients_message(),
            })
            .collect()
    }

    // ---- time and the end ----

    /// Deals with everything that is due.
    pub(crate) fn deadline_passed(&mut self, now: Now) -> Effects {
        let mut effects = Effects::new();
        while let Some(due) = self.deadlines.due(now.instant) {
            effects.extend(match due {
                Deadline::Call(call) => self.call_overdue(&call),
                Deadline::Session(session) => self.session_due(&session, now),
            });
        }
        effects
    }

    fn call_overdue(&mut self, id: &CallId) -> Effects {
        let Some(call) = self.calls.get(id) else {
            return Effects::new();
        };
        let failure = call.overdue(self.limits.receipt_within);
        self.abort_call(id, failure)
    }

    fn session_due(&mut self, id: &SessionId, now: Now) -> Effects {
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

    /// The bridge is shutting down: every call ends, every page is told to come back.
    pub(crate) fn bridge_stopping(&mut self) -> Effects {
        let mut effects = Effects::new();
        let calls: Vec<_> = self.calls.keys().cloned().collect();
        for call in calls {
            let failure = Failure::new(
                ErrorCode::BridgeStopping,
                "the bridge is shutting down: retry when it is back".to_owned(),
            );
            effects.extend(self.abort_call(&call, failure));
        }
        effects.extend(self.connections().map(|connection| Effect::Close {
            connection,
            code: CloseCode::ServiceRestart,
            reason: "the bridge is shutting down",
        }));
        effects
    }

    // ---- reading ----

    fn connections(&self) -> impl Iterator<Item = ConnectionId> {
        self.sessions
            .values()
            .filter_map(|session| session.phase.connection())
    }

    /// The session, if this connection is its current one.
    fn session_on(&mut self, id: &SessionId, connection: ConnectionId) -> Option<&mut Session> {
        self.sessions
            .get_mut(id)
            .filter(|session| session.phase.connection() == Some(connection))
    }

    /// The call, if it belongs to the session and this connection is the session's current one.
    fn call_on(
        &mut self,
        id: &SessionId,
        connection: ConnectionId,
        call: &CallId,
    ) -> Option<&mut Call> {
        self.session_on(id, connection)?;
        self.calls.get_mut(call).filter(|call| call.session == *id)
    }

    /// What people and models see of the sessions, in order of connection.
    pub(crate) fn sessions(&self) -> Vec<SessionSummary> {
        self.sessions
            .iter()
            .map(|(id, session)| session.summary(id))
            .collect()
    }

    /// The published tools: sessions in order of connection, tools in order of registration. Of
    /// two tools with one name the newer registration is listed, in the place of the first.
    pub(crate) fn tools(&self) -> Vec<Arc<Tool>> {
        routing::published(self.sessions.values())
    }

    /// The tools of one session.
    pub(crate) fn tools_of(&self, id: &SessionId) -> Option<Vec<Arc<Tool>>> {
        Some(
            self.sessions
                .get(id)?
                .tools
                .values()
                .map(|tool| tool.definition.clone())
                .collect(),
        )
    }

    /// Finds the session that a call goes to.
    pub(crate) fn route(
        &self,
        tool: &str,
        target: &Target,
    ) -> Result<(SessionId, Arc<Tool>), RouteError> {
        routing::route(&self.sessions, tool, target)
    }

    /// Panics when a fact contradicts another.
    #[cfg(test)]
    pub(crate) fn check_invariants(&self) {
        let mut named = std::collections::BTreeSet::new();
        let mut connections = std::collections::BTreeSet::new();
        for (id, session) in &self.sessions {
            named.insert(session.phase.deadline(id));
            if let Some(connection) = session.phase.connection() {
                assert!(
                    connections.insert(connection),
                    "{connection:?} serves two sessions"
                );
            }
            for call in &session.calls {
                assert_eq!(
                    &self.calls[call].session, id,
                    "{call} is in another session"
                );
            }
            assert!(session.tools.len() <= self.limits.tools_per_session);
        }
        for (id, call) in &self.calls {
            assert!(
                self.sessions[&call.session].calls.contains(id),
                "{id} has no session"
            );
            named.insert((call.deadline(), Deadline::Call(id.clone())));
        }
        assert!(self.sessions.len() <= self.limits.sessions);
        assert!(self.calls.len() <= self.limits.calls);
        assert_eq!(self.deadlines.all(), &named);
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

fn page_gone() -> Failure {
    Failure::new(
        ErrorCode::PageGone,
        "the page is gone: open the app again and retry".to_owned(),
    )
}
