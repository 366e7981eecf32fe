//! How queries end, and what is remembered of them.

use std::time::{Duration, Instant};

use bridge_protocol::{
    BridgeToPage, CallId, ErrorCode, QueryCancel, QueryComplete, QueryId, SessionId,
};
use serde_json::value::RawValue;

use super::{QueryFailed, QueryLimits, QueryRefusal};
use crate::realm::deadlines::Deadline;
use crate::realm::query::{Asker, Over, Page, Query};
use crate::realm::{ConnectionId, Effect, Effects, Failure, Now, Realm};

/// How long an agent is heard out whose query's response tool was called: its stream may bring what
/// it has said before.
const HEARD_OUT_WITHIN: Duration = Duration::from_secs(1);

/// How a query ends.
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
    AgentLost(QueryFailed),
    /// The bridge stops.
    BridgeStopping,
    /// It took too long.
    TimedOut,
    /// The page no longer wants an answer.
    PageCancelled,
    /// The page is gone.
    PageGone,
}

impl QueryEnding {
    /// The agent said so: it has taken the query, whether or not it has answered.
    fn is_agents(&self) -> bool {
        matches!(
            self,
            QueryEnding::Completed(_) | QueryEnding::Failed(_) | QueryEnding::Cancelled(_)
        )
    }

    /// How long its id matters to others than its page.
    fn until(&self, limits: &QueryLimits, now: Now) -> Option<Instant> {
        let within = match self {
            QueryEnding::AgentLost(_)
            | QueryEnding::BridgeStopping
            | QueryEnding::TimedOut
            | QueryEnding::PageCancelled => limits.stop_within,
            QueryEnding::PageGone => limits.attach_within.max(limits.stop_within),
            _ => return None,
        };
        Some(now.instant + within)
    }

    /// Whether the agent must be told.
    fn stops_agent(&self, query: &Query) -> bool {
        match self {
            QueryEnding::PageCancelled => true,
            QueryEnding::AgentLost(_)
            | QueryEnding::TimedOut
            | QueryEnding::PageGone
            | QueryEnding::BridgeStopping => query.tells_agent,
            _ => false,
        }
    }

    /// What the page hears.
    fn message(
        self,
        id: &QueryId,
        query: &mut Query,
        limits: &QueryLimits,
    ) -> Option<BridgeToPage> {
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
            QueryEnding::Failed(why) | QueryEnding::Refused(why) | QueryEnding::AgentLost(why) => {
                why.message(uuid)
            }
            QueryEnding::TimedOut => {
                let in_a_hurry = query.is_in_a_hurry(limits.timeout);
                QueryFailed::timed_out(in_a_hurry).message(uuid)
            }
            QueryEnding::BridgeStopping => QueryFailed::bridge_stopping().message(uuid),
            QueryEnding::PageGone => QueryFailed::page_gone().message(uuid),
            // Its own cancel is all that the page wants to know.
            QueryEnding::PageCancelled => return None,
        })
    }
}

impl Realm {
    /// The agent did not take the query.
    pub(crate) fn query_refused(&mut self, id: &QueryId, why: QueryFailed, now: Now) -> Effects {
        match self.queries.get(id) {
            Some(query) if !query.hearing.is_accepted() => {
                self.end_query(id, QueryEnding::Refused(why), now)
            }
            _ => Effects::new(),
        }
    }

    /// The response tool was called: nothing runs any more, and the agent is heard out.
    pub(super) fn query_answered(&mut self, id: &QueryId, now: Now) -> Effects {
        self.change_query(id, |query| query.answered(now.instant + HEARD_OUT_WITHIN));
        self.cancel_calls_of(id, now)
    }

    /// The agent is done. A query that demands a response tool fails by this.
    pub(crate) fn query_completed(
        &mut self,
        id: &QueryId,
        result: Option<Box<RawValue>>,
        now: Now,
    ) -> (Result<(), QueryRefusal>, Effects) {
        let demanded = match self.running_query(id) {
            Ok(query) if query.is_answered => None,
            Ok(query) => query
                .response_tool()
                .map(QueryFailed::response_tool_demanded),
            Err(refusal) => return (Err(refusal), Effects::new()),
        };
        let Some(failed) = demanded else {
            let ending = QueryEnding::Completed(result);
            return (Ok(()), self.end_query(id, ending, now));
        };
        let refusal = QueryRefusal::ResponseToolDemanded(failed.error.clone());
        let ending = QueryEnding::Failed(failed);
        (Err(refusal), self.end_query(id, ending, now))
    }

    /// The agent has failed.
    pub(crate) fn query_failed(
        &mut self,
        id: &QueryId,
        why: QueryFailed,
        now: Now,
    ) -> (Result<(), QueryRefusal>, Effects) {
        self.agent_ends(id, QueryEnding::Failed(why), now)
    }

    /// The agent has given the query up.
    pub(crate) fn query_cancelled(
        &mut self,
        id: &QueryId,
        reason: Option<String>,
        now: Now,
    ) -> (Result<(), QueryRefusal>, Effects) {
        self.agent_ends(id, QueryEnding::Cancelled(reason), now)
    }

    fn agent_ends(
        &mut self,
        id: &QueryId,
        ending: QueryEnding,
        now: Now,
    ) -> (Result<(), QueryRefusal>, Effects) {
        match self.running_query(id) {
            Ok(_) => (Ok(()), self.end_query(id, ending, now)),
            Err(refusal) => (Err(refusal), Effects::new()),
        }
    }

    /// The agent can no longer be heard. It may be at work all the same, and is told.
    pub(crate) fn agent_lost(&mut self, id: &QueryId, why: QueryFailed, now: Now) -> Effects {
        self.end_query(id, QueryEnding::AgentLost(why), now)
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
        self.end_query(id, QueryEnding::PageCancelled, now)
    }

    pub(super) fn query_page_gone(&mut self, id: &QueryId, now: Now) -> Effects {
        self.end_query(id, QueryEnding::PageGone, now)
    }

    /// Something of a query is due.
    pub(in crate::realm) fn query_due(&mut self, id: &QueryId, now: Now) -> Effects {
        match self.queries.get(id) {
            None => self.over_due(id, now),
            Some(query) if query.has_expired(now.instant) => {
                self.end_query(id, QueryEnding::TimedOut, now)
            }
            Some(_) => self.query_page_gone(id, now),
        }
    }

    /// The bridge is shutting down.
    pub(in crate::realm) fn end_queries(&mut self, now: Now) -> Effects {
        let running: Vec<_> = self.queries.keys().cloned().collect();
        let end = |id| self.end_query(&id, QueryEnding::BridgeStopping, now);
        running.into_iter().flat_map(end).collect()
    }

    /// The one ending of a query.
    pub(in crate::realm) fn end_query(
        &mut self,
        id: &QueryId,
        ending: QueryEnding,
        now: Now,
    ) -> Effects {
        let Some(mut query) = self.queries.shift_remove(id) else {
            return Effects::new();
        };
        let ending = match ending {
            QueryEnding::PageCancelled => ending,
            // However the agent says it, or not.
            _ if query.is_answered => QueryEnding::Completed(None),
            _ => ending,
        };
        let deadline = Deadline::Query(id.clone());
        self.deadlines.remove((query.deadline(), deadline));
        let limits = &self.limits.queries;
        let is_stopping = ending.stops_agent(&query);
        let page_gone = matches!(ending, QueryEnding::PageGone);
        let until = ending.until(limits, now);
        let until = until.filter(|_| is_stopping || page_gone);
        if ending.is_agents() {
            query.hearing.accepted();
        }
        let last = ending.message(id, &mut query, limits);
        let hears = query.asker != Asker::Frontend;
        query.hearing.ended(last.filter(|_| hears));
        let keeps = query.hearing.keeps();
        let mut over = Over {
            session: query.session,
            must_attach: keeps && matches!(query.page, Page::Gone { .. }),
            kept_until: keeps.then(|| now.instant + limits.attach_within),
            hearing: query.hearing,
            is_stopping: is_stopping && until.is_some(),
            page_gone,
            until,
        };
        let mut effects = match page_gone {
            // Its socket may not have been taken from it yet.
            true => Effects::new(),
            false => self.tell_end(id, &mut over),
        };
        effects.extend(self.cancel_calls_of(id, now));
        effects.push(match is_stopping {
            true => Effect::StopAgent { query: id.clone() },
            false => Effect::QueryEnded { query: id.clone() },
        });
        effects.extend(self.remember_query(id, over));
        effects
    }

    /// No tool runs for a query that has ended.
    fn cancel_calls_of(&mut self, id: &QueryId, now: Now) -> Effects {
        let calls = self.calls.iter();
        let calls = calls.filter(|(_, call)| call.context.query_id.as_ref() == Some(id));
        let calls: Vec<CallId> = calls.map(|(call, _)| call.clone()).collect();
        let cancel = |call| {
            let message = "the query that the call belongs to has ended: nothing more is wanted";
            let failure = Failure::new(ErrorCode::CallCancelled, message.to_owned());
            self.abort_call(&call, failure, now)
        };
        calls.into_iter().flat_map(cancel).collect()
    }
}
