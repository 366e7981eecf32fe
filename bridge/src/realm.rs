//! A realm: everything that belongs to one principal (a token): sessions, tools, calls, clients.
//!
//! Plain data. Methods are named after events, take [`Now`], and return what must happen next as
//! [`Effect`]s. No I/O, no clock, no await: the hub owns sockets and tasks, the realm owns facts.
//!
//! Invariants (checked by [`Realm::check_invariants`] after every step in tests):
//! - each call belongs to exactly one session and ends exactly once, through [`Realm::end_call`];
//! - a connection belongs to at most one session; events of any other connection change nothing;
//! - `Session::calls` names exactly the calls whose session it is;
//! - each query ends exactly once, through [`Realm::end_query`]; no call belongs to one that has;
//! - `deadlines` holds exactly the instants that sessions, calls and queries name.

mod admission;
mod asking;
mod call;
mod calls;
mod catalogue;
mod clients;
mod conflicts;
mod deadlines;
mod dialect;
mod effect;
mod former_sessions;
mod lifetime;
mod pages;
mod queries;
mod query;
mod registration;
mod requests;
mod routes;
mod routing;
mod session;
mod view;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bridge_protocol::{CallId, CloseCode, ErrorCode, Kind, QueryId, SessionId};
use indexmap::IndexMap;

use crate::config::{AmbiguousCalls, DuplicateNames, SessionLimitPolicy};
use crate::definition::Definition;
use crate::hashing::Quick;
use crate::tool::Tool;
use catalogue::Catalogue;
use clients::Client;
use deadlines::{Deadline, Deadlines};
use former_sessions::FormerSessions;
use routes::Routes;
use routing::Sessions;

pub(crate) use admission::Welcome;
#[cfg(test)]
pub(crate) use asking::{MAX_ANSWER_BYTES, MAX_OPEN_BYTES, MAX_OPEN_REQUESTS};
pub(crate) use asking::{MAX_KEY_BYTES, MAX_REQUESTS};
pub(crate) use call::{Call, NewCall, Receipt, Request};
pub(crate) use catalogue::ClosedApp;
pub(crate) use dialect::Dialect;
pub(crate) use effect::{Answer, CallEvent, Effect, Effects, Ending, Failure};
pub(crate) use queries::{QueryFailed, QueryLimits, QueryRefusal, Terms, ToolNotAllowed};
pub(crate) use query::is_secret;
pub(crate) use routing::{RouteError, Target};
pub(crate) use session::{PageHello, Phase, Served, Session, SessionSummary};

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
    pub(crate) session_limit_policy: SessionLimitPolicy,
    /// Zero: no end.
    pub(crate) max_session_duration: Duration,
    pub(crate) duplicate_names: DuplicateNames,
    pub(crate) ambiguous_calls: AmbiguousCalls,
    /// Whether a tool is refused whose name another session has with another input schema.
    pub(crate) refuses_conflicts: bool,
    /// Zero: nothing is remembered.
    pub(crate) catalogue_ttl: Duration,
    pub(crate) definitions_per_session: usize,
    pub(crate) definition_bytes_per_session: usize,
    pub(crate) calls: usize,
    pub(crate) clients: usize,
    pub(crate) subscriptions_per_client: usize,
    pub(crate) receipt_within: Duration,
    /// How long a client may take to answer what a handler asks it.
    pub(crate) input_within: Duration,
    pub(crate) page_grace: Duration,
    pub(crate) heartbeat_every: Duration,
    pub(crate) queries: QueryLimits,
    /// Clients hear of each registration of tools and of each page that leaves, also where that
    /// leaves the list as it was.
    pub(crate) tells_each_change: bool,
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
    limits: Arc<RealmLimits>,
    sessions: Sessions,
    calls: HashMap<CallId, Call, Quick>,
    /// Those in flight, in the order in which they were asked.
    queries: IndexMap<QueryId, query::Query>,
    /// Those that are over, in the order in which they ended.
    over: IndexMap<QueryId, query::Over>,
    clients: IndexMap<ClientId, Client>,
    catalogue: Catalogue,
    /// Absent in most realms: their pages stay.
    former_sessions: Option<Box<FormerSessions>>,
    deadlines: Deadlines,
    /// Counts up with each registration: of two items with one name the newer is listed.
    registrations: u64,
    routes: Routes,
}

impl Realm {
    pub(crate) fn new(limits: impl Into<Arc<RealmLimits>>) -> Self {
        Self {
            limits: limits.into(),
            sessions: Sessions::default(),
            calls: HashMap::default(),
            queries: IndexMap::new(),
            over: IndexMap::new(),
            clients: IndexMap::new(),
            catalogue: Catalogue::default(),
            former_sessions: None,
            deadlines: Deadlines::default(),
            registrations: 0,
            routes: Routes::default(),
        }
    }

    /// Nothing lives here any more; the realm can be forgotten.
    pub(crate) fn is_empty(&self) -> bool {
        self.is_only_remembered() && self.catalogue.is_empty() && self.former_sessions.is_none()
    }

    /// What closed apps offered is listed.
    pub(crate) fn lists_closed_apps(&self) -> bool {
        !self.catalogue.is_empty()
    }

    /// Nobody is here; at most it is remembered what there was.
    pub(crate) fn is_only_remembered(&self) -> bool {
        let over = self.over.values().any(|over| over.deadline().is_some());
        let asks = !self.queries.is_empty() || over;
        self.sessions.is_empty() && self.clients.is_empty() && !asks
    }

    /// When [`Realm::deadline_passed`] must be called next.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first()
    }

    /// Deals with everything that is due.
    pub(crate) fn deadline_passed(&mut self, now: Now) -> Effects {
        let mut effects = Effects::new();
        while let Some(due) = self.deadlines.due(now.instant) {
            effects.extend(match due {
                Deadline::Call(call) => self.call_overdue(&call, now),
                Deadline::Session(session) => self.session_due(&session, now),
                Deadline::Catalogue(app) => self.catalogue_due(&app),
                Deadline::FormerSessions => {
                    self.forget_former_sessions();
                    Effects::new()
                }
                Deadline::Query(query) => self.query_due(&query, now),
            });
        }
        effects
    }

    /// The bridge is shutting down: every call ends, every page is told to come back.
    pub(crate) fn bridge_stopping(&mut self, now: Now) -> Effects {
        let mut effects = self.end_queries(now);
        let calls: Vec<_> = self.calls.keys().cloned().collect();
        for call in calls {
            effects.extend(self.abort_call(&call, Failure::bridge_stopping(), now));
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

    /// How many queries are in flight.
    pub(crate) fn query_count(&self) -> usize {
        self.queries.len()
    }

    /// How many pages there are, those that may come back included.
    pub(crate) fn session_count(&self) -> usize {
        self.sessions.len()
    }

    /// What people and models see of the sessions, in order of connection.
    pub(crate) fn sessions(&self) -> Vec<SessionSummary> {
        self.sessions
            .iter()
            .map(|(id, session)| session.summary(id))
            .collect()
    }

    /// What is published of one kind: sessions in order of connection, items in order of
    /// registration. Of two with one name the newer registration is listed, in the place of the
    /// first.
    pub(crate) fn published(&self, kind: Kind) -> Vec<Definition> {
        routing::published(kind, self.sessions.values(), self.catalogue.definitions())
    }

    /// Whether this is true of one of the tools that a client could mean with a name.
    pub(crate) fn any_tool(&mut self, name: &str, is_so: impl Fn(&Tool) -> bool) -> bool {
        self.routes.any(name, &self.sessions, is_so)
    }

    /// What one session has of a kind.
    pub(crate) fn published_by(&self, kind: Kind, id: &SessionId) -> Option<Vec<Definition>> {
        let (_, session) = routing::named(&self.sessions, id)?;
        Some(session.definitions(kind).cloned().collect())
    }

    /// Puts other definitions in the place of equal ones: those of `instead`, where it gives one.
    pub(crate) fn replace_definitions(
        &mut self,
        instead: impl Fn(&Definition) -> Option<Definition>,
    ) {
        for session in self.sessions.values_mut() {
            session.replace_definitions(&instead);
        }
        for definition in self.catalogue.definitions_mut() {
            if let Some(equal) = instead(definition) {
                *definition = equal;
            }
        }
    }

    /// Finds the session that a call goes to.
    pub(crate) fn route(
        &self,
        kind: Kind,
        name: &str,
        target: &Target,
    ) -> Result<(SessionId, Definition), RouteError> {
        let policy = self.limits.ambiguous_calls;
        let closed = || self.catalogue.app_of(kind, name);
        routing::route(&self.sessions, kind, name, target, policy)
            .map_err(|error| error.of_closed_app(name, target, closed))
    }

    /// The same for a tool that is called.
    pub(crate) fn route_call(
        &mut self,
        name: &str,
        target: &Target,
    ) -> Result<(SessionId, Definition), RouteError> {
        let (kind, policy) = (Kind::Tool, self.limits.ambiguous_calls);
        let closed = || self.catalogue.app_of(kind, name);
        let by_id;
        let (among, aim) = match target {
            Target::Any => (self.routes.to(name, &self.sessions), target),
            Target::Session(called) => {
                let id = self.routes.id_of(called, &self.sessions);
                by_id = Target::Session(id.unwrap_or_else(|| called.clone()));
                (None, &by_id)
            }
        };
        routing::route_among(&self.sessions, among, kind, name, aim, policy)
            .map_err(|error| error.of_closed_app(name, target, closed))
    }

    /// Finds the session that serves a URI, and how.
    pub(crate) fn route_resource(
        &self,
        uri: &str,
        target: &Target,
    ) -> Result<(SessionId, Served), RouteError> {
        let policy = self.limits.ambiguous_calls;
        let closed = || self.catalogue.app_serving(uri);
        routing::route_resource(&self.sessions, uri, target, policy)
            .map_err(|error| error.of_closed_app(uri, target, closed))
    }

    /// How many calls are in flight, and how many things become due but for what is remembered.
    #[cfg(feature = "simulation")]
    pub(crate) fn simulated_counts(&self) -> (usize, usize) {
        let due = self.deadlines.all();
        let due = due.filter(|(_, deadline)| *deadline != Deadline::FormerSessions);
        (self.calls.len(), due.count())
    }

    /// Panics when a fact contradicts another.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn check_invariants(&self) {
        let mut named = std::collections::BTreeSet::new();
        let mut connections = std::collections::BTreeSet::new();
        for (id, session) in &self.sessions {
            named.insert(session.deadline(id));
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
            assert!(session.items.len() <= self.limits.definitions_per_session);
            if session.dialect() == Dialect::V1 {
                assert!(session.phase.connection().is_some(), "{id} is away");
                assert!(self.unreceived(id).next().is_none(), "{id} acknowledges");
            }
            let wanted = self.wanted();
            let served = wanted.iter().filter(|uri| session.serves(uri));
            assert!(served.eq(session.subscribed.iter().collect::<Vec<_>>().iter()));
        }
        let names: Vec<_> = self
            .sessions
            .values()
            .filter_map(|it| it.name.as_ref())
            .collect();
        let different: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(names.len(), different.len(), "two sessions of one name");
        named.extend(self.catalogue.deadlines());
        assert!(self.catalogue.len() <= catalogue::MAX_APPS);
        if let Some(former) = &self.former_sessions {
            assert!((1..=former_sessions::MAX_FORMER_SESSIONS).contains(&former.len()));
            named.insert(former.deadline());
        }
        for (id, call) in &self.calls {
            assert!(
                self.sessions[&call.session].calls.contains(id),
                "{id} has no session"
            );
            assert!(
                !call.is_parked() || call.asking.is_waiting(),
                "{id} waits for nothing"
            );
            assert_eq!(call.asking.since().is_some(), call.asking.is_waiting());
            named.insert((call.deadline(), Deadline::Call(id.clone())));
        }
        assert!(self.sessions.len() <= self.limits.sessions);
        assert!(self.calls.len() <= self.limits.calls);
        assert!(self.clients.len() <= self.limits.clients);
        named.extend(self.check_queries());
        self.routes.check(&self.sessions);
        assert!(self.deadlines.all().eq(&named), "{:?}", self.deadlines);
    }
}
