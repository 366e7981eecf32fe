//! The lifecycle of queries: a page sends a query, an agent accepts it, reports progress and ends
//! it. Each query ends exactly once, through [`Realm::end_query`].
//!
//! The page receives `query_accepted` first; reports that arrive earlier are stored until then. A
//! page that has lost its connection receives the reports when it reconnects. When its document is
//! gone, another document may attach within `query_attach`. When a query ends, its running calls
//! are cancelled.

mod approval_events;
mod attach;
mod ended_queries;
mod ending;
mod errors;
mod query_calls;

use std::time::Duration;

use bridge_protocol::{Query, QueryId, SessionId};
use serde_json::value::RawValue;

use super::deadlines::Deadline;
use super::query::{self, PagePresence, QueryOrigin, QueryPolicy, RunningQuery};
use super::{AgentEffect, ConnectionId, Effect, Effects, LifecycleEvent, Now, QueryPage, Realm};

pub(super) use ending::QueryOutcome;
pub use errors::{QueryError, ReportRejected};
pub use query_calls::ToolNotAllowed;

impl Realm {
    /// A page sends a query to the agent.
    pub fn query_asked(
        &mut self,
        session: &SessionId,
        connection: ConnectionId,
        query: Query,
        now: Now,
    ) -> Effects {
        let Some(page) = self.session_on(session, connection) else {
            return Effects::new();
        };
        let abilities = page.abilities();
        let query_page = page.query_page(session);
        if abilities.resumes_sessions && self.can_attach_query(session, &query.uuid) {
            // The page repeats the query because it does not know that the query has arrived. The
            // agent must not receive it twice.
            return self.query_attached(session, connection, &query.uuid, now);
        }
        if !abilities.resumes_sessions && self.is_running_for(session, &query.uuid) {
            return Effects::new();
        }
        let has_agent = if self.limits.queries.has_agent {
            Ok(())
        } else {
            Err(QueryError::no_agent())
        };
        let may_ask = self.check_new_query(session, &query.uuid).and(has_agent);
        if let Err(error) = may_ask {
            return Effects::from([Effect::Send {
                connection,
                message: error.into_message(query.uuid),
            }]);
        }
        let origin = QueryOrigin::Page(abilities);
        let begun = self.begin_query(
            query.uuid.clone(),
            QueryPolicy::from_query(&query),
            session,
            origin,
            now,
        );
        let start = AgentEffect::Start {
            query: Box::new(query),
            with_token: abilities.has_controllable_agent
                || !self.limits.queries.query_ids_are_credentials,
            page: Box::new(query_page),
        };
        Effects::from([Effect::Agent(start), begun])
    }

    /// A page asks a query whose fields are invalid. The page keeps its socket, its tools and its
    /// other queries.
    pub fn malformed_query_asked(
        &mut self,
        session: &SessionId,
        connection: ConnectionId,
        uuid: QueryId,
        error: &str,
    ) -> Effects {
        if self.session_on(session, connection).is_none() {
            return Effects::new();
        }
        Effects::from([Effect::Send {
            connection,
            message: QueryError::malformed_message(error).into_message(uuid),
        }])
    }

    /// Returns the description of a page of this realm that an agent receives.
    pub fn query_page(&self, session: &SessionId) -> Option<QueryPage> {
        let page = self.sessions.get(session)?;
        Some(page.query_page(session))
    }

    /// A frontend sends a query to its agent itself. For the returned duration the agent may call
    /// the tools of this session.
    pub fn query_opened(
        &mut self,
        id: &QueryId,
        session: &SessionId,
        terms: QueryPolicy,
        now: Now,
    ) -> Result<(Duration, Effects), QueryError> {
        self.check_new_query(session, id)?;
        let time = terms.effective_timeout(self.limits.queries.timeout);
        let begun = self.begin_query(id.clone(), terms, session, QueryOrigin::Frontend, now);
        Ok((time, Effects::from([begun])))
    }

    /// Begins a query. Returns the effect that logs it.
    fn begin_query(
        &mut self,
        id: QueryId,
        policy: QueryPolicy,
        session: &SessionId,
        origin: QueryOrigin,
        now: Now,
    ) -> Effect {
        let query = RunningQuery::new(policy, session.clone(), origin, &self.limits.queries, now);
        self.deadlines
            .insert(query.deadline(), Deadline::Query(id.clone()));
        self.queries.insert(id.clone(), query);
        self.query_lifecycle(session, LifecycleEvent::QueryBegun { query: id })
    }

    fn is_running_for(&self, session: &SessionId, id: &QueryId) -> bool {
        let running = self.queries.get(id);
        running.is_some_and(|query| query.session == *session)
    }

    /// Whether the page can attach to the query, because it is running or its final message is
    /// stored.
    pub(super) fn can_attach_query(&self, session: &SessionId, id: &QueryId) -> bool {
        let ended = self.ended_queries.get(id);
        let is_stored = ended
            .is_some_and(|ended| ended.session == *session && ended.delivery.has_final_message());
        let is_of_page = |query: &RunningQuery| query.origin != QueryOrigin::Frontend;
        is_stored
            || self.is_running_for(session, id) && self.queries.get(id).is_some_and(is_of_page)
    }

    fn check_new_query(&self, session: &SessionId, id: &QueryId) -> Result<(), QueryError> {
        let limits = &self.limits.queries;
        let may_ask = |id| self.sessions.get(id).is_some_and(|it| it.may_query());
        if !query::is_valid_id(id) {
            Err(QueryError::malformed_uuid())
        } else if limits.query_ids_are_credentials && !query::is_unguessable_id(id) {
            Err(QueryError::guessable_uuid())
        } else if !may_ask(session) {
            Err(QueryError::missing_scope())
        } else if self.queries.contains_key(id) || self.ended_queries.contains_key(id) {
            Err(QueryError::duplicate_uuid())
        } else if self.queries.len() >= limits.max_queries {
            Err(QueryError::limit_exceeded(limits.max_queries))
        } else {
            Ok(())
        }
    }

    /// The agent has accepted the query.
    pub fn query_accepted(&mut self, id: &QueryId) -> Effects {
        let Some(query) = self.queries.get_mut(id) else {
            return Effects::new();
        };
        query.delivery.mark_accepted();
        self.send_query_updates(id)
    }

    /// The agent has accepted the query and reports progress and the outcome in a stream.
    pub fn query_stream_opened(&mut self, id: &QueryId) -> Effects {
        if let Some(query) = self.queries.get_mut(id) {
            query.is_streaming = true;
        }
        self.query_accepted(id)
    }

    /// The agent reports progress.
    pub fn query_progressed(
        &mut self,
        id: &QueryId,
        content: Box<RawValue>,
        now: Now,
    ) -> Result<Effects, ReportRejected> {
        let query = self.running_query(id)?;
        if query.origin == QueryOrigin::Frontend {
            return Ok(Effects::new());
        }
        query.record_progress(content, now.instant);
        Ok(self.send_query_updates(id))
    }

    /// Sends the undelivered messages of a query if its page is connected.
    fn send_query_updates(&mut self, id: &QueryId) -> Effects {
        let Some(query) = self.queries.get_mut(id) else {
            return Effects::new();
        };
        let session = self.sessions.get(&query.session);
        let connection = session.and_then(|session| session.phase.connection());
        let is_reachable = query.origin != QueryOrigin::Frontend
            && !matches!(query.page_presence, PagePresence::Detached { .. });
        match connection.filter(|_| is_reachable) {
            Some(connection) => Effect::send_all(connection, query.delivery.take_undelivered(id)),
            None => Effects::new(),
        }
    }

    /// Sends the messages that a page has missed after it has reconnected.
    pub(super) fn send_missed_updates(
        &mut self,
        session: &SessionId,
        connection: ConnectionId,
        now: Now,
    ) -> Effects {
        let missed = self.session_query_ids(session);
        for id in &missed {
            self.update_query(id, |query| query.update_approval_times(now.instant));
        }
        let mut effects: Effects = missed
            .iter()
            .flat_map(|id| self.send_query_updates(id))
            .collect();
        let ended = self.ended_queries.iter_mut();
        let ended = ended.filter(|(_, ended)| ended.session == *session && !ended.must_attach);
        let undelivered = ended.flat_map(|(id, ended)| ended.delivery.take_undelivered(id));
        effects.extend(Effect::send_all(connection, undelivered));
        effects
    }

    /// The ids of the running queries of a session.
    pub(super) fn session_query_ids(&self, session: &SessionId) -> Vec<QueryId> {
        let queries = self.queries.iter();
        let of_session = queries.filter(|(_, query)| query.session == *session);
        of_session.map(|(id, _)| id.clone()).collect()
    }

    /// Changes a running query and updates its deadline.
    pub(super) fn update_query(&mut self, id: &QueryId, change: impl FnOnce(&mut RunningQuery)) {
        let Some(query) = self.queries.get_mut(id) else {
            return;
        };
        let former = query.deadline();
        change(query);
        let at = query.deadline();
        if former != at {
            let deadline = Deadline::Query(id.clone());
            self.deadlines.remove((former, deadline.clone()));
            self.deadlines.insert(at, deadline);
        }
    }

    /// The query, if it is running, or the reason why the agent cannot report on it.
    fn running_query(&mut self, id: &QueryId) -> Result<&mut RunningQuery, ReportRejected> {
        let ended = self.ended_queries.get(id).map(ReportRejected::from_ended);
        let refusal = || ended.unwrap_or(ReportRejected::NotFound);
        self.queries.get_mut(id).ok_or_else(refusal)
    }

    /// Panics when the state of the queries is inconsistent, and returns their deadlines.
    #[cfg(any(test, feature = "in-memory"))]
    pub(super) fn check_queries(&self) -> Vec<(web_time::Instant, Deadline)> {
        assert!(self.queries.len() <= self.limits.queries.max_queries);
        assert!(self.ended_queries.len() <= ended_queries::MAX_ENDED_QUERIES);
        for (id, query) in &self.queries {
            assert!(
                !self.ended_queries.contains_key(id),
                "{id} is both running and ended"
            );
            let is_there = self.sessions.contains_key(&query.session);
            assert!(
                is_there || matches!(query.page_presence, PagePresence::Detached { .. }),
                "{id} is attached but has no session"
            );
        }
        for call in self.calls.values() {
            let query = call.context.query_id.as_ref().map(|id| &self.queries[id]);
            assert!(query.is_none_or(|query| query.session == call.session));
        }
        let due = |id: &QueryId, at| (at, Deadline::Query(id.clone()));
        let queries = self.queries.iter().map(|(id, it)| due(id, it.deadline()));
        for (id, ended) in &self.ended_queries {
            assert_eq!(
                ended.attachable_until.is_some(),
                ended.delivery.is_replayable(),
                "{id} must be replayable while attachable"
            );
        }
        let ended = self
            .ended_queries
            .iter()
            .filter_map(|(id, it)| Some(due(id, it.deadline()?)));
        queries.chain(ended).collect()
    }
}
