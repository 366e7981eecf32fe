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
mod calls;
mod deadlines;
mod effect;
mod pages;
mod registration;
mod routing;
mod session;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bridge_protocol::{
    BridgeToPage, CallId, Clients, CloseCode, ConnectedClient, ErrorCode, SessionId,
};
use indexmap::IndexMap;

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
    pub(crate) clients: usize,
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

    /// An MCP client connected. Pages hear of it.
    pub(crate) fn client_connected(
        &mut self,
        id: ClientId,
        client: ConnectedClient,
    ) -> Result<Effects, Refusal> {
        if self.clients.len() >= self.limits.clients {
            return Err(Refusal {
                code: ErrorCode::SessionLimitExceeded,
                message: format!(
                    "{} clients are connected with this token, which is the limit: close some, or \
                     raise `max_clients`",
                    self.limits.clients
                ),
            });
        }
        self.clients.insert(id, client);
        Ok(self.tell_clients())
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

    /// The bridge is shutting down: every call ends, every page is told to come back.
    pub(crate) fn bridge_stopping(&mut self) -> Effects {
        let mut effects = Effects::new();
        let calls: Vec<_> = self.calls.keys().cloned().collect();
        for call in calls {
            effects.extend(self.abort_call(&call, Failure::bridge_stopping()));
        }
        effects.extend(self.connections().map(|connection| Effect::Close {
            connection,
            code: CloseCode::ServiceRestart,
            reason: "the bridge is shutting down",
        }));
        effects
    }

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
        assert!(self.clients.len() <= self.limits.clients);
        assert_eq!(self.deadlines.all(), &named);
    }
}
