//! Queries: a page asks, an agent accepts, reports and ends; each ends exactly once, through
//! [`Realm::end_query`].
//!
//! The page hears `query_accepted` first, whatever the agent does first: until then its reports are
//! held back. A page that has lost its connection hears them when it is back; one whose document is
//! gone may attach again within `query_attach`. What an ended query still runs is cancelled.

mod calls;
mod ending;
mod refusal;

use std::time::Duration;

use bridge_protocol::{BridgeToPage, Query as Asked, QueryId, QueryProgress, SessionId};
use serde_json::value::RawValue;

use super::deadlines::Deadline;
use super::query::{self, Page, Phase, Query};
use super::{ConnectionId, Dialect, Effect, Effects, Now, Realm};

pub(crate) use calls::ToolNotAllowed;
pub(super) use ending::QueryEnding;
pub(crate) use refusal::{QueryFailed, QueryRefusal};

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
        let is_ours = page.dialect() == Dialect::V2;
        if self.is_running_for(session, &asked.uuid) {
            // The page does not know that it was heard. Nothing is asked twice.
            return Effects::new();
        }
        if let Err(refused) = self.may_be_asked(session, &asked) {
            return Effects::from([Effect::Send {
                connection,
                message: refused.message(asked.uuid),
            }]);
        }
        let limits = &self.limits.queries;
        let expires = now.instant + limits.timeout;
        let bytes = limits.tool_call_bytes;
        let query = Query::new(&asked, session.clone(), is_ours, bytes, expires);
        let deadline = Deadline::Query(asked.uuid.clone());
        self.deadlines.insert(query.deadline(), deadline);
        self.queries.insert(asked.uuid.clone(), query);
        Effects::from([Effect::AskAgent {
            query: Box::new(asked),
            with_token: is_ours || !limits.uuids_are_secrets,
        }])
    }

    fn is_running_for(&self, session: &SessionId, id: &QueryId) -> bool {
        let running = self.queries.get(id);
        running.is_some_and(|query| query.session == *session)
    }

    fn may_be_asked(&self, session: &SessionId, asked: &Asked) -> Result<(), QueryFailed> {
        let limits = &self.limits.queries;
        let may_ask = |id| self.sessions.get(id).is_some_and(|it| it.may_ask());
        if !query::is_well_formed(&asked.uuid) {
            Err(QueryFailed::malformed_uuid())
        } else if limits.uuids_are_secrets && !query::is_secret(&asked.uuid) {
            Err(QueryFailed::guessable_uuid())
        } else if !may_ask(session) {
            Err(QueryFailed::not_granted())
        } else if self.queries.contains_key(&asked.uuid) || self.over.contains_key(&asked.uuid) {
            Err(QueryFailed::asked_before())
        } else if !limits.agent {
            Err(QueryFailed::no_agent())
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
        if query.phase != Phase::Asked {
            return Effects::new();
        }
        query.accept(id);
        self.tell_held(id)
    }

    /// The agent reports how it is getting on.
    pub(crate) fn query_progressed(
        &mut self,
        id: &QueryId,
        content: Box<RawValue>,
    ) -> Result<Effects, QueryRefusal> {
        let query = self.running_query(id)?;
        let uuid = id.clone();
        let progress = QueryProgress { uuid, content };
        query.held.push(BridgeToPage::QueryProgress(progress));
        Ok(self.tell_held(id))
    }

    /// Tells the page what it has not been told, if it may and can hear.
    fn tell_held(&mut self, id: &QueryId) -> Effects {
        let Some(query) = self.queries.get_mut(id) else {
            return Effects::new();
        };
        let session = self.sessions.get(&query.session);
        let connection = session.and_then(|session| session.phase.connection());
        match (query.phase, query.page, connection) {
            (Phase::Accepted, Page::There, Some(connection)) => {
                let messages = query.held.take().into_iter();
                let send = |message| Effect::Send {
                    connection,
                    message,
                };
                messages.map(send).collect()
            }
            _ => Effects::new(),
        }
    }

    /// A page is back on a new connection: what it has missed of its queries.
    pub(super) fn tell_missed(&mut self, session: &SessionId, connection: ConnectionId) -> Effects {
        let missed = self.queries_of(session);
        let mut effects: Effects = missed.iter().flat_map(|id| self.tell_held(id)).collect();
        let over = self.over.values_mut().filter(|it| it.session == *session);
        let untold = over.flat_map(|over| {
            over.untold_bytes = 0;
            std::mem::take(&mut over.untold)
        });
        effects.extend(untold.map(|message| Effect::Send {
            connection,
            message,
        }));
        effects
    }

    /// The document of a page is gone: its queries wait for it to attach again, or end.
    pub(super) fn queries_lose_page(&mut self, session: &SessionId, now: Now) -> Effects {
        let dialect = self.sessions.get(session).map(|session| session.dialect());
        let wait = dialect.map(|it| it.attach_within(self.limits.queries.attach_within));
        let wait = wait.unwrap_or_default();
        let mut effects = Effects::new();
        for id in self.queries_of(session) {
            if wait.is_zero() {
                effects.extend(self.query_page_gone(&id, now));
            } else {
                let until = now.instant + wait;
                self.change_query(&id, |query| query.page = Page::Gone { until });
            }
        }
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
        assert!(self.over.len() <= ending::MAX_OVER);
        for (id, query) in &self.queries {
            assert!(!self.over.contains_key(id), "{id} is over and is not");
            let is_there = self.sessions.contains_key(&query.session);
            assert!(
                is_there || query.page != Page::There,
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
        }
        let over = self
            .over
            .iter()
            .filter_map(|(id, it)| Some(due(id, it.until?)));
        queries.chain(over).collect()
    }
}
