//! A realm is everything that belongs to one principal (a token or a subject): its sessions, their
//! definitions, its calls, queries and MCP clients.
//!
//! A realm is plain data. Its methods are named after events, take [`Now`], and return [`Effect`]s.
//! It has no I/O, no clock and no async code: the hub owns sockets and tasks, the realm owns the
//! state. `realm.rs` has the structure and read access to it; the types of its fields are in
//! separate files, and each file `…_events.rs` has the methods for one group of events.
//!
//! Invariants (checked by [`Realm::check_invariants`] after every step in tests):
//! - each call belongs to exactly one session and ends exactly once, through [`Realm::end_call`];
//! - a connection belongs to at most one session; events of any other connection change nothing;
//! - `Session::calls` contains exactly the calls that belong to the session;
//! - a call that waits for a document has no requests to its client; all calls of a session between
//!   documents wait for one;
//! - each query ends exactly once, through [`Realm::end_query`]; no call belongs to an ended query;
//! - `deadlines` contains exactly the deadlines of the sessions, calls, queries, catalogue entries
//!   and former sessions.

mod admission;
mod app_key;
mod bridge_stall;
mod call;
mod call_events;
mod catalogue;
mod catalogue_events;
mod client_events;
mod client_request_events;
mod client_requests;
mod closing;
mod conflicts;
mod connection_events;
mod deadlines;
mod document_gone;
mod effect;
mod event;
mod expiry;
mod former_session_events;
mod former_sessions;
mod hand_over;
mod hand_over_events;
mod heartbeat;
mod lifecycle;
mod lifecycle_events;
mod limits;
mod overdue_calls;
mod overview;
mod page_abilities;
mod query;
mod query_events;
mod receipt;
mod registration_events;
mod route_index;
mod routing;
mod routing_error;
mod session;
mod session_events;
mod view;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use web_time::Instant;

use bridge_protocol::{CallId, ConnectedClient, Kind, QueryId, SessionId};
use indexmap::{IndexMap, IndexSet};

use crate::definition::SharedDefinition;
use crate::definition::tool::SharedTool;
use crate::fast_hash::FastHash;
use catalogue::Catalogue;
use deadlines::{Deadline, Deadlines};
use former_sessions::FormerSessions;
use route_index::RouteIndex;
use routing::SessionMap;

pub use admission::SessionAccepted;
pub use call::{NewCall, PageRequest, RealmCall};
pub use catalogue::OfflineApp;
pub use catalogue_events::ClosedApp;
#[cfg(test)]
pub(crate) use client_requests::{
    MAX_CLIENT_RESPONSE_BYTES, MAX_PENDING_REQUEST_BYTES, MAX_PENDING_REQUESTS,
};
pub use client_requests::{MAX_REQUEST_KEY_BYTES, MAX_REQUESTS_PER_CALL};
pub use closing::RealmEnd;
pub use effect::{AgentEffect, CallFailure, CallOutcome, CallerEvent, Effect, Effects, PageAnswer};
pub use event::{ClientId, ConnectionId, Disconnect, Now, Refusal};
pub use hand_over::{HandOverRequest, HandOverState};
pub use lifecycle::{Lifecycle, LifecycleEvent};
pub use limits::{QueryLimits, RealmLimits};
pub use overdue_calls::ProbeAnswer;
pub use overview::CallOverview;
pub use page_abilities::PageAbilities;
pub use query::{CompletedQuery, QueryPage, QueryPolicy, is_unguessable_id};
pub use query_events::{QueryError, ReportRejected, ToolNotAllowed};
pub use receipt::Receipt;
pub use routing::SessionTarget;
pub use routing_error::{RoutingError, resource_not_found};
pub use session::{PageHello, PageOverview, Phase, ResourceMatch, Session, SessionSummary};

/// The state of one principal: its sessions, definitions, calls, queries and MCP clients.
#[derive(Debug)]
pub struct Realm {
    limits: Arc<RealmLimits>,
    sessions: SessionMap,
    calls: HashMap<CallId, RealmCall, FastHash>,
    /// The queries that are running, in the order in which they began.
    queries: IndexMap<QueryId, query::RunningQuery>,
    /// The queries that have ended and are remembered, in the order in which they ended.
    ended_queries: IndexMap<QueryId, query::EndedQuery>,
    clients: IndexMap<ClientId, ClientState>,
    catalogue: Catalogue,
    /// `None` until a session ends, which never happens in most realms.
    former_sessions: Option<Box<FormerSessions>>,
    deadlines: Deadlines,
    /// The number of registrations so far. Of two items with the same name the one with the higher
    /// registration number is listed.
    registration_count: u64,
    route_index: RouteIndex,
}

/// A connected MCP client and the URIs of the resources that it is subscribed to.
#[derive(Debug)]
struct ClientState {
    info: ConnectedClient,
    subscriptions: IndexSet<String>,
}

impl Realm {
    pub fn new(limits: impl Into<Arc<RealmLimits>>) -> Self {
        Self {
            limits: limits.into(),
            sessions: SessionMap::default(),
            calls: HashMap::default(),
            queries: IndexMap::new(),
            ended_queries: IndexMap::new(),
            clients: IndexMap::new(),
            catalogue: Catalogue::default(),
            former_sessions: None,
            deadlines: Deadlines::default(),
            registration_count: 0,
            route_index: RouteIndex::default(),
        }
    }

    /// Whether the realm contains nothing at all, so that it can be dropped.
    pub fn is_empty(&self) -> bool {
        self.is_inactive() && self.catalogue.is_empty() && self.former_sessions.is_none()
    }

    /// Whether the definitions of apps without an open page are still listed.
    pub fn has_catalogue(&self) -> bool {
        !self.catalogue.is_empty()
    }

    /// Whether there is no session, no client and no query. The catalogue and the ids of former
    /// sessions may still exist.
    pub fn is_inactive(&self) -> bool {
        let ended = self
            .ended_queries
            .values()
            .any(|ended| ended.deadline().is_some());
        let has_queries = !self.queries.is_empty() || ended;
        self.sessions.is_empty() && self.clients.is_empty() && !has_queries
    }

    /// Whether a page is connected, or a call or a query is running.
    pub fn is_in_use(&self) -> bool {
        let is_running = !self.calls.is_empty() || !self.queries.is_empty();
        is_running || self.connections().next().is_some()
    }

    /// When [`Realm::deadline_passed`] must be called next.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first()
    }

    /// Handles all deadlines that have passed.
    pub fn deadline_passed(&mut self, now: Now) -> Effects {
        let mut effects = Effects::new();
        while let Some(due) = self.deadlines.first_due(now.instant) {
            effects.extend(match due {
                Deadline::Call(call) => self.call_overdue(&call, now),
                Deadline::Session(session) => self.session_due(&session, now),
                Deadline::Catalogue(app) => self.catalogue_expired(&app),
                Deadline::FormerSessions => self.former_sessions_expired(),
                Deadline::Query(query) => self.query_due(&query, now),
            });
        }
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

    /// Whether this session exists, with or without a connection.
    pub fn has_session(&self, id: &SessionId) -> bool {
        self.sessions.contains_key(id)
    }

    /// The number of running queries.
    pub fn query_count(&self) -> usize {
        self.queries.len()
    }

    /// Whether a query runs, or a call that waits for its client: they need further requests to end.
    pub fn awaits_requests(&self) -> bool {
        let mut calls = self.calls.values();
        !self.queries.is_empty() || calls.any(|call| call.client_requests.is_waiting())
    }

    /// The number of calls that are running.
    pub fn call_count(&self) -> usize {
        self.calls.len()
    }

    /// The number of sessions whose page is connected.
    pub fn connected_session_count(&self) -> usize {
        let connections = self
            .sessions
            .values()
            .filter_map(|it| it.phase.connection());
        connections.count()
    }

    /// The number of sessions, including those that wait for their page to reconnect.
    pub fn session_count(&self) -> usize {
        self.sessions.len()
    }

    /// Summaries of the sessions for people and models, in order of connection.
    pub fn session_summaries(&self) -> Vec<SessionSummary> {
        self.sessions
            .iter()
            .map(|(id, session)| session.summary(id))
            .collect()
    }

    /// All published definitions of one kind: sessions in order of connection, items in order of
    /// registration. Of two items with the same name only the newer one is listed, at the position
    /// of the older one.
    pub fn published(&self, kind: Kind) -> Vec<SharedDefinition> {
        routing::published(kind, self.sessions.values(), self.catalogue.definitions())
    }

    /// Whether the predicate holds for at least one tool that clients can call by this name.
    pub fn any_candidate_tool(
        &mut self,
        name: &str,
        predicate: impl Fn(&SharedTool) -> bool,
    ) -> bool {
        self.route_index
            .any_candidate(name, &self.sessions, predicate)
    }

    /// The definitions of one kind in one session, which is given by its id or its name.
    pub fn published_by(&self, kind: Kind, id: &SessionId) -> Option<Vec<SharedDefinition>> {
        let (_, session) = routing::find_session(&self.sessions, id)?;
        Some(session.definitions(kind).cloned().collect())
    }

    /// Replaces each definition for which `replacement` returns an equal one.
    pub fn replace_definitions(
        &mut self,
        replacement: impl Fn(&SharedDefinition) -> Option<SharedDefinition>,
    ) {
        for session in self.sessions.values_mut() {
            session.replace_definitions(&replacement);
        }
        for definition in self.catalogue.definitions_mut() {
            if let Some(equal) = replacement(definition) {
                *definition = equal;
            }
        }
    }

    /// Finds the session that has an item of this kind and name.
    pub fn route(
        &self,
        kind: Kind,
        name: &str,
        target: &SessionTarget,
    ) -> Result<(SessionId, SharedDefinition), RoutingError> {
        let policy = self.limits.ambiguous_calls;
        let offline_app = || self.catalogue.find_app_by_name(kind, name);
        routing::route(&self.sessions, kind, name, target, policy)
            .map_err(|error| error.or_offline_app(name, target, offline_app))
    }

    /// Finds the session for a tool call. Uses the index of tool names, which [`Realm::route`] does
    /// not.
    pub fn route_call(
        &mut self,
        name: &str,
        target: &SessionTarget,
    ) -> Result<(SessionId, SharedDefinition), RoutingError> {
        let (kind, policy) = (Kind::Tool, self.limits.ambiguous_calls);
        let offline_app = || self.catalogue.find_app_by_name(kind, name);
        let by_id;
        let (candidates, resolved_target) = match target {
            SessionTarget::Any => (self.route_index.candidates(name, &self.sessions), target),
            SessionTarget::Session(called) => {
                let id = self.route_index.resolve_id(called, &self.sessions);
                by_id = SessionTarget::Session(id.unwrap_or_else(|| called.clone()));
                (None, &by_id)
            }
        };
        routing::route_among(
            &self.sessions,
            candidates,
            kind,
            name,
            resolved_target,
            policy,
        )
        .map_err(|error| error.or_offline_app(name, target, offline_app))
    }

    /// Finds the session that serves a URI, and whether it does so as a resource or through a
    /// template.
    pub fn route_resource(
        &self,
        uri: &str,
        target: &SessionTarget,
    ) -> Result<(SessionId, ResourceMatch), RoutingError> {
        let policy = self.limits.ambiguous_calls;
        let offline_app = || self.catalogue.find_app_by_uri(uri);
        routing::route_resource(&self.sessions, uri, target, policy)
            .map_err(|error| error.or_offline_app(uri, target, offline_app))
    }

    /// The number of calls in flight, and the number of deadlines except that of the former
    /// sessions.
    #[cfg(feature = "in-memory")]
    pub fn in_memory_counts(&self) -> (usize, usize) {
        let due = self.deadlines.iter();
        let due = due.filter(|(_, deadline)| *deadline != Deadline::FormerSessions);
        (self.calls.len(), due.count())
    }

    /// Panics when two parts of the state contradict each other.
    #[cfg(any(test, feature = "in-memory"))]
    pub fn check_invariants(&self) {
        let mut deadlines = std::collections::BTreeSet::new();
        let mut connections = std::collections::BTreeSet::new();
        for (id, session) in &self.sessions {
            deadlines.insert(session.deadline(id));
            if let Some(connection) = session.phase.connection() {
                assert!(
                    connections.insert(connection),
                    "{connection:?} belongs to two sessions"
                );
            }
            for call in &session.calls {
                assert_eq!(
                    &self.calls[call].session, id,
                    "{call} belongs to another session"
                );
            }
            assert!(session.items.len() <= self.limits.definitions_per_session);
            let abilities = session.abilities();
            assert!(
                abilities.resumes_sessions || session.phase.connection().is_some(),
                "{id} cannot resume and is disconnected"
            );
            assert!(
                abilities.sends_receipts || self.unreceived_calls(id).next().is_none(),
                "{id} sends no receipts and has unacknowledged calls"
            );
            self.check_hand_overs(id, session);
            let subscribed = self.subscribed_uris();
            let served = subscribed.iter().filter(|uri| session.serves(uri));
            assert!(served.eq(session.subscribed_uris.iter().collect::<Vec<_>>().iter()));
        }
        let names: Vec<_> = self
            .sessions
            .values()
            .filter_map(|it| it.name.as_ref())
            .collect();
        let different: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(
            names.len(),
            different.len(),
            "two sessions have the same name"
        );
        deadlines.extend(self.catalogue.deadlines());
        assert!(self.catalogue.len() <= catalogue::MAX_CATALOGUE_APPS);
        assert!(self.catalogue.bytes() <= self.limits.catalogue_bytes);
        if let Some(former) = &self.former_sessions {
            assert!((1..=former_sessions::MAX_FORMER_SESSIONS).contains(&former.len()));
            deadlines.insert(former.deadline());
        }
        for (id, call) in &self.calls {
            assert!(
                self.sessions[&call.session].calls.contains(id),
                "{id} is missing in its session"
            );
            assert!(
                !call.is_parked() || call.client_requests.is_waiting(),
                "{id} is parked without requests"
            );
            assert_eq!(
                call.client_requests.waiting_since().is_some(),
                call.client_requests.is_waiting()
            );
            deadlines.insert((call.deadline(), Deadline::Call(id.clone())));
        }
        assert!(self.sessions.len() <= self.limits.sessions);
        assert!(self.calls.len() <= self.limits.calls);
        assert!(self.clients.len() <= self.limits.clients);
        deadlines.extend(self.check_queries());
        self.route_index.check_invariants(&self.sessions);
        assert!(self.deadlines.iter().eq(&deadlines), "{:?}", self.deadlines);
    }
}
