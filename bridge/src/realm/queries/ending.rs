//! How queries end, and what is remembered of them.

use std::time::Instant;

use bridge_protocol::{
    BridgeToPage, CallId, ErrorCode, QueryCancel, QueryComplete, QueryId, SessionId,
};
use serde_json::value::RawValue;

use super::{QueryFailed, QueryRefusal};
use crate::realm::deadlines::Deadline;
use crate::realm::query::{Over, Phase, Query, length_of_end};
use crate::realm::{ConnectionId, Effect, Effects, Failure, Now, Realm};

/// Queries that are over and whose ids are remembered, so that none is asked twice. Over it the
/// oldest is forgotten.
pub(super) const MAX_OVER: usize = 64;

/// What pages that are away have not been told of queries that are over, in bytes for each token. Of
/// more the oldest is dropped; the newest is kept.
const UNTOLD_BYTES: usize = 16 * 1024 * 1024;

/// How a query ends. Where the agent must hear of it, it may take until then.
#[derive(Debug)]
pub(in crate::realm) enum QueryEnding {
    /// The agent is done; with a result, or by the response tool.
    Completed(Option<Box<RawValue>>),
    /// The agent has failed, or broken the rules.
    Failed(QueryFailed),
    /// The agent has given it up.
    Cancelled(Option<String>),
    /// The agent did not take it.
    Refused(QueryFailed),
    /// The agent's stream broke, or it is silent there.
    AgentLost { why: QueryFailed, until: Instant },
    /// The bridge stops.
    BridgeStopping,
    /// It took too long.
    TimedOut { until: Instant },
    /// The page no longer wants an answer.
    PageCancelled { until: Instant },
    /// The page is gone.
    PageGone { until: Instant },
}

impl QueryEnding {
    /// The agent said so: it has taken the query, whether or not it has answered.
    fn is_agents(&self) -> bool {
        matches!(
            self,
            QueryEnding::Completed(_) | QueryEnding::Failed(_) | QueryEnding::Cancelled(_)
        )
    }

    fn until(&self) -> Option<Instant> {
        match self {
            QueryEnding::AgentLost { until, .. }
            | QueryEnding::TimedOut { until }
            | QueryEnding::PageCancelled { until }
            | QueryEnding::PageGone { until } => Some(*until),
            _ => None,
        }
    }

    /// Whether the agent must be told.
    fn stops_agent(&self, query: &Query) -> bool {
        match self {
            QueryEnding::PageCancelled { .. } => true,
            QueryEnding::AgentLost { .. }
            | QueryEnding::TimedOut { .. }
            | QueryEnding::PageGone { .. }
            | QueryEnding::BridgeStopping => query.tells_agent,
            _ => false,
        }
    }

    /// What the page hears.
    fn message(self, id: &QueryId, query: &mut Query) -> Option<BridgeToPage> {
        let uuid = id.clone();
        Some(match self {
            QueryEnding::Completed(result) => BridgeToPage::QueryComplete(QueryComplete {
                uuid,
                result,
                tool_calls: query.tool_calls.take(),
            }),
            QueryEnding::Cancelled(reason) => {
                BridgeToPage::QueryCancel(QueryCancel { uuid, reason })
            }
            QueryEnding::Failed(why)
            | QueryEnding::Refused(why)
            | QueryEnding::AgentLost { why, .. } => why.message(uuid),
            QueryEnding::TimedOut { .. } => QueryFailed::timed_out().message(uuid),
            QueryEnding::BridgeStopping => QueryFailed::bridge_stopping().message(uuid),
            QueryEnding::PageGone { .. } => QueryFailed::page_gone().message(uuid),
            // Its own cancel is all that the page wants to know.
            QueryEnding::PageCancelled { .. } => return None,
        })
    }
}

impl Realm {
    /// The agent did not take the query.
    pub(crate) fn query_refused(&mut self, id: &QueryId, why: QueryFailed) -> Effects {
        match self.queries.get(id) {
            Some(query) if query.phase == Phase::Asked => {
                self.end_query(id, QueryEnding::Refused(why))
            }
            _ => Effects::new(),
        }
    }

    /// The agent is done. A query that demands a response tool fails by this.
    pub(crate) fn query_completed(
        &mut self,
        id: &QueryId,
        result: Option<Box<RawValue>>,
    ) -> (Result<(), QueryRefusal>, Effects) {
        let demanded = match self.running_query(id) {
            Ok(query) => query.response_tool.clone(),
            Err(refusal) => return (Err(refusal), Effects::new()),
        };
        let Some(tool) = demanded else {
            let ending = QueryEnding::Completed(result);
            return (Ok(()), self.end_query(id, ending));
        };
        let failed = QueryFailed::response_tool_demanded(&tool);
        let refusal = QueryRefusal::ResponseToolDemanded(failed.error.clone());
        (
            Err(refusal),
            self.end_query(id, QueryEnding::Failed(failed)),
        )
    }

    /// The agent has failed.
    pub(crate) fn query_failed(
        &mut self,
        id: &QueryId,
        why: QueryFailed,
    ) -> (Result<(), QueryRefusal>, Effects) {
        self.agent_ends(id, QueryEnding::Failed(why))
    }

    /// The agent can no longer be heard. It may be at work all the same, and is told.
    pub(crate) fn agent_lost(&mut self, id: &QueryId, why: QueryFailed, now: Now) -> Effects {
        let until = now.instant + self.limits.queries.stop_within;
        self.end_query(id, QueryEnding::AgentLost { why, until })
    }

    /// The agent has given the query up.
    pub(crate) fn query_cancelled(
        &mut self,
        id: &QueryId,
        reason: Option<String>,
    ) -> (Result<(), QueryRefusal>, Effects) {
        self.agent_ends(id, QueryEnding::Cancelled(reason))
    }

    fn agent_ends(
        &mut self,
        id: &QueryId,
        ending: QueryEnding,
    ) -> (Result<(), QueryRefusal>, Effects) {
        match self.running_query(id) {
            Ok(_) => (Ok(()), self.end_query(id, ending)),
            Err(refusal) => (Err(refusal), Effects::new()),
        }
    }

    /// The page no longer wants an answer, and hears none.
    pub(crate) fn query_cancelled_by_page(
        &mut self,
        session: &SessionId,
        connection: ConnectionId,
        id: &QueryId,
        now: Now,
    ) -> Effects {
        let is_heard = self.session_on(session, connection).is_some();
        if !is_heard || !self.is_running_for(session, id) {
            return Effects::new();
        }
        let until = now.instant + self.limits.queries.stop_within;
        self.end_query(id, QueryEnding::PageCancelled { until })
    }

    pub(super) fn query_page_gone(&mut self, id: &QueryId, now: Now) -> Effects {
        let limits = &self.limits.queries;
        let until = now.instant + limits.attach_within.max(limits.stop_within);
        self.end_query(id, QueryEnding::PageGone { until })
    }

    /// The agent has heard that the query has ended, or could not be told.
    pub(crate) fn agent_stopped(&mut self, id: &QueryId) -> Effects {
        match self.over.get_mut(id) {
            Some(over) if over.page_gone => {
                over.is_stopping = false;
                Effects::new()
            }
            _ => self.nothing_matters_any_more(id),
        }
    }

    /// Something of a query is due.
    pub(in crate::realm) fn query_due(&mut self, id: &QueryId, now: Now) -> Effects {
        match self.queries.get(id) {
            None => self.nothing_matters_any_more(id),
            Some(query) if query.has_expired(now.instant) => {
                let until = now.instant + self.limits.queries.stop_within;
                self.end_query(id, QueryEnding::TimedOut { until })
            }
            Some(_) => self.query_page_gone(id, now),
        }
    }

    /// The bridge is shutting down.
    pub(in crate::realm) fn end_queries(&mut self) -> Effects {
        let running: Vec<_> = self.queries.keys().cloned().collect();
        let end = |id| self.end_query(&id, QueryEnding::BridgeStopping);
        running.into_iter().flat_map(end).collect()
    }

    /// The one ending of a query.
    pub(in crate::realm) fn end_query(&mut self, id: &QueryId, ending: QueryEnding) -> Effects {
        let Some(mut query) = self.queries.shift_remove(id) else {
            return Effects::new();
        };
        let deadline = Deadline::Query(id.clone());
        self.deadlines.remove((query.deadline(), deadline));
        let is_stopping = ending.stops_agent(&query);
        let page_gone = matches!(ending, QueryEnding::PageGone { .. });
        let until = ending.until().filter(|_| is_stopping || page_gone);
        if ending.is_agents() && query.phase == Phase::Asked {
            query.accept(id);
        }
        let mut untold = match (&ending, query.phase) {
            (QueryEnding::PageCancelled { .. }, _) | (_, Phase::Asked) => Default::default(),
            (_, Phase::Accepted) => query.held.take(),
        };
        untold.extend(ending.message(id, &mut query));
        let mut over = Over {
            session: query.session,
            untold,
            untold_bytes: 0,
            is_stopping: is_stopping && until.is_some(),
            page_gone,
            until,
        };
        let mut effects = match page_gone {
            // Its socket may not have been taken from it yet.
            true => Effects::new(),
            false => self.tell_untold(&mut over),
        };
        over.untold_bytes = over.untold.iter().map(length_of_end).sum();
        effects.extend(self.cancel_calls_of(id));
        effects.push(match is_stopping {
            true => Effect::StopAgent { query: id.clone() },
            false => Effect::QueryEnded { query: id.clone() },
        });
        effects.extend(self.remember_query(id, over));
        effects
    }

    /// As far as the page can hear.
    fn tell_untold(&self, over: &mut Over) -> Effects {
        let session = self.sessions.get(&over.session);
        let Some(connection) = session.and_then(|session| session.phase.connection()) else {
            return Effects::new();
        };
        let send = |message| Effect::Send {
            connection,
            message,
        };
        over.untold.drain(..).map(send).collect()
    }

    /// No tool runs for a query that has ended.
    fn cancel_calls_of(&mut self, id: &QueryId) -> Effects {
        let calls = self.calls.iter();
        let calls = calls.filter(|(_, call)| call.context.query_id.as_ref() == Some(id));
        let calls: Vec<CallId> = calls.map(|(call, _)| call.clone()).collect();
        let cancel = |call| {
            let message = "the query that the call belongs to has ended: nothing more is wanted";
            let failure = Failure::new(ErrorCode::CallCancelled, message.to_owned());
            self.abort_call(&call, failure)
        };
        calls.into_iter().flat_map(cancel).collect()
    }

    fn remember_query(&mut self, id: &QueryId, over: Over) -> Effects {
        let mut effects = Effects::new();
        if self.over.len() == MAX_OVER
            && let Some(oldest) = self.over.keys().next().cloned()
        {
            effects.extend(self.nothing_matters_any_more(&oldest));
            self.over.shift_remove(&oldest);
        }
        match over.until {
            Some(at) => self.deadlines.insert(at, Deadline::Query(id.clone())),
            None => effects.push(Effect::QueryForgotten { query: id.clone() }),
        }
        self.over.insert(id.clone(), over);
        self.forget_most_untold();
        effects
    }

    fn forget_most_untold(&mut self) {
        let mut bytes = 0;
        for (age, over) in self.over.values_mut().rev().enumerate() {
            bytes += over.untold_bytes;
            if age > 0 && bytes > UNTOLD_BYTES {
                over.untold = Default::default();
                over.untold_bytes = 0;
            }
        }
    }

    /// The id of a query that is over means nothing to anybody but its page.
    fn nothing_matters_any_more(&mut self, id: &QueryId) -> Effects {
        let Some(over) = self.over.get_mut(id) else {
            return Effects::new();
        };
        let Some(at) = over.until.take() else {
            return Effects::new();
        };
        over.is_stopping = false;
        over.page_gone = false;
        self.deadlines.remove((at, Deadline::Query(id.clone())));
        Effects::from([Effect::QueryForgotten { query: id.clone() }])
    }
}
