//! Queries: a page asks, an agent accepts, reports and ends; each ends exactly once, through
//! [`Realm::end_query`].
//!
//! The page hears `query_accepted` first, whatever the agent does first: until then its reports are
//! held back. A page that has lost its connection hears them when it is back; one whose document is
//! gone may attach again within `query_attach`. What an ended query still runs is cancelled.

mod absence;
mod calls;
mod ending;
mod memory;
mod refusal;

use std::time::Duration;

use bridge_protocol::{BridgeToPage, Query as Asked, QueryId, SessionId};
use serde_json::value::RawValue;

use super::deadlines::Deadline;
use super::query::{self, Asker, Page, Query};
use super::{ConnectionId, Dialect, Effect, Effects, Now, Realm};

pub(crate) use calls::ToolNotAllowed;
pub(super) use ending::QueryEnding;
pub(crate) use refusal::{QueryFailed, QueryRefusal};

pub(crate) use super::query::Terms;

/// What the queries of one token may cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueryLimits {
    /// There is an agent.
    pub(crate) agent: bool,
    pub(crate) most: usize,
    pub(crate) timeout: Duration,
    pub(crate) attach_within: Duration,
    /// How long the agent may take to hear that a query has ended.
    pub(crate) stop_within: Duration,
    pub(crate) tool_call_bytes: usize,
    /// Whoever knows a query's id is its agent.
    pub(crate) uuids_are_secrets: bool,
}

/// What a page is told.
fn sends(connection: ConnectionId, messages: impl IntoIterator<Item = BridgeToPage>) -> Effects {
    let send = |message| Effect::Send {
        connection,
        message,
    };
    messages.into_iter().map(send).collect()
}

impl Realm {
    /// A page asks the agent.
    pub(crate) fn query_asked(
        &mut self,
        session: &SessionId,
        connection: ConnectionId,
        asked: Asked,
        now: Now,
    ) -> Effects {
        let Some(page) = self.session_on(session, connection) else {
            return Effects::new();
        };
        let dialect = page.dialect();
        let person = page.person();
        if dialect == Dialect::V2 && self.knows_for(session, &asked.uuid) {
            // The page does not know that it was heard. Nothing is asked twice.
            return self.query_attached(session, connection, &asked.uuid);
        }
        if dialect == Dialect::V1 && self.is_running_for(session, &asked.uuid) {
            return Effects::new();
        }
        let has_agent = match self.limits.queries.agent {
            true => Ok(()),
            false => Err(QueryFailed::no_agent()),
        };
        let may_ask = self.may_be_asked(session, &asked.uuid).and(has_agent);
        if let Err(refused) = may_ask {
            return Effects::from([Effect::Send {
                connection,
                message: refused.message(asked.uuid),
            }]);
        }
        let asker = Asker::Page(dialect);
        self.query_begins(asked.uuid.clone(), Terms::of(&asked), session, asker, now);
        Effects::from([Effect::AskAgent {
            query: Box::new(asked),
            with_token: dialect == Dialect::V2 || !self.limits.queries.uuids_are_secrets,
            person,
        }])
    }

    /// A frontend asks its agent itself, which may call the tools of this session from now on. How
    /// long it may.
    pub(crate) fn query_opened(
        &mut self,
        id: &QueryId,
        session: &SessionId,
        terms: Terms,
        now: Now,
    ) -> Result<Duration, QueryFailed> {
        self.may_be_asked(session, id)?;
        let time = terms.time(self.limits.queries.timeout);
        self.query_begins(id.clone(), terms, session, Asker::Frontend, now);
        Ok(time)
    }

    fn query_begins(
        &mut self,
        id: QueryId,
        terms: Terms,
        session: &SessionId,
        asker: Asker,
        now: Now,
    ) {
        let query = Query::new(terms, session.clone(), asker, &self.limits.queries, now);
        self.deadlines
            .insert(query.deadline(), Deadline::Query(id.clone()));
        self.queries.insert(id, query);
    }

    fn is_running_for(&self, session: &SessionId, id: &QueryId) -> bool {
        let running = self.queries.get(id);
        running.is_some_and(|query| query.session == *session)
    }

    /// Whether a page can hear of the query: it runs, or its last word is kept.
    pub(super) fn knows_for(&self, session: &SessionId, id: &QueryId) -> bool {
        let over = self.over.get(id);
        let kept = over.is_some_and(|over| over.session == *session && over.hearing.has_end());
        let hears = |query: &Query| query.asker != Asker::Frontend;
        kept || self.is_running_for(session, id) && self.queries.get(id).is_some_and(hears)
    }

    fn may_be_asked(&self, session: &SessionId, id: &QueryId) -> Result<(), QueryFailed> {
        let limits = &self.limits.queries;
        let may_ask = |id| self.sessions.get(id).is_some_and(|it| it.may_ask());
        if !query::is_well_formed(id) {
            Err(QueryFailed::malformed_uuid())
        } else if limits.uuids_are_secrets && !query::is_secret(id) {
            Err(QueryFailed::guessable_uuid())
        } else if !may_ask(session) {
            Err(QueryFailed::not_granted())
        } else if self.queries.contains_key(id) || self.over.contains_key(id) {
            Err(QueryFailed::asked_before())
        } else if self.queries.len() >= limits.most {
            Err(QueryFailed::too_many(limits.most))
        } else {
            Ok(())
        }
    }

    /// The agent has taken the query.
    pub(crate) fn query_accepted(&mut self, id: &QueryId) -> Effects {
        let Some(query) = self.queries.get_mut(id) else {
            return Effects::new();
        };
        query.hearing.accepted();
        self.tell(id)
    }

    /// The same of one that says in a stream what the page hears, and its end.
    pub(crate) fn query_streams(&mut self, id: &QueryId) -> Effects {
        if let Some(query) = self.queries.get_mut(id) {
            query.streams = true;
        }
        self.query_accepted(id)
    }

    /// The agent reports how it is getting on.
    pub(crate) fn query_progressed(
        &mut self,
        id: &QueryId,
        content: Box<RawValue>,
    ) -> Result<Effects, QueryRefusal> {
        let query = self.running_query(id)?;
        if query.asker == Asker::Frontend {
            return Ok(Effects::new());
        }
        query.hearing.progressed(content);
        Ok(self.tell(id))
    }

    /// Tells the page what it has not been told, if it may and can hear.
    fn tell(&mut self, id: &QueryId) -> Effects {
        let Some(query) = self.queries.get_mut(id) else {
            return Effects::new();
        };
        let session = self.sessions.get(&query.session);
        let connection = session.and_then(|session| session.phase.connection());
        let hears = query.asker != Asker::Frontend && !matches!(query.page, Page::Gone { .. });
        match connection.filter(|_| hears) {
            Some(connection) => sends(connection, query.hearing.take_untold(id)),
            None => Effects::new(),
        }
    }

    /// A page is back on a new connection: what it has missed of its queries.
    pub(super) fn tell_missed(&mut self, session: &SessionId, connection: ConnectionId) -> Effects {
        let missed = self.queries_of(session);
        let mut effects: Effects = missed.iter().flat_map(|id| self.tell(id)).collect();
        let over = self.over.iter_mut();
        let over = over.filter(|(_, over)| over.session == *session && !over.must_attach);
        let untold = over.flat_map(|(id, over)| over.hearing.take_untold(id));
        effects.extend(sends(connection, untold));
        effects
    }

    /// Those of a session that go on.
    fn queries_of(&self, session: &SessionId) -> Vec<QueryId> {
        let queries = self.queries.iter();
        let of_session = queries.filter(|(_, query)| query.session == *session);
        of_session.map(|(id, _)| id.clone()).collect()
    }

    /// Changes a query, and with it what is due.
    fn change_query(&mut self, id: &QueryId, change: impl FnOnce(&mut Query)) {
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

    /// The query, if it goes on.
    fn running_query(&mut self, id: &QueryId) -> Result<&mut Query, QueryRefusal> {
        let over = self.over.get(id).map(QueryRefusal::of_over);
        let refusal = || over.unwrap_or(QueryRefusal::NotFound);
        self.queries.get_mut(id).ok_or_else(refusal)
    }

    #[cfg(any(test, feature = "simulation"))]
    pub(super) fn check_queries(&self) -> Vec<(std::time::Instant, Deadline)> {
        assert!(self.queries.len() <= self.limits.queries.most);
        assert!(self.over.len() <= memory::MAX_OVER);
        for (id, query) in &self.queries {
            assert!(!self.over.contains_key(id), "{id} is over and is not");
            let is_there = self.sessions.contains_key(&query.session);
            assert!(
                is_there || matches!(query.page, Page::Gone { .. }),
                "{id} goes on without its page"
            );
        }
        for call in self.calls.values() {
            let query = call.context.query_id.as_ref().map(|id| &self.queries[id]);
            assert!(query.is_none_or(|query| query.session == call.session));
        }
        let due = |id: &QueryId, at| (at, Deadline::Query(id.clone()));
        let queries = self.queries.iter().map(|(id, it)| due(id, it.deadline()));
        for (id, over) in &self.over {
            let matters = over.is_stopping || over.page_gone;
            assert_eq!(
                over.until.is_some(),
                matters,
                "{id} is remembered for nothing"
            );
            assert_eq!(
                over.kept_until.is_some(),
                over.hearing.keeps(),
                "{id} is kept for nobody"
            );
        }
        let over = self
            .over
            .iter()
            .filter_map(|(id, it)| Some(due(id, it.deadline()?)));
        queries.chain(over).collect()
    }
}
