//! The end of queries, with each possible outcome.

use std::time::Duration;

use bridge_protocol::{
    BridgeToPage, CallId, ErrorCode, QueryCancel, QueryComplete, QueryId, SessionId,
};

use super::{QueryError, ReportRejected};
use crate::realm::deadlines::Deadline;
use crate::realm::query::{EndedQuery, EndedQueryState, PagePresence, QueryOrigin, RunningQuery};
use crate::realm::{
    AgentEffect, CallFailure, CompletedQuery, ConnectionId, Effect, Effects, LifecycleEvent, Now,
    QueryLimits, Realm,
};

/// How long the stream of an agent is read after the call of the response tool, because it may
/// still contain progress from before that call.
const AGENT_DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The outcome of a query.
#[derive(Debug)]
pub(in crate::realm) enum QueryOutcome {
    /// The agent has completed the query, with a result or with a call of the response tool.
    Completed(CompletedQuery),
    /// The agent has failed or violated the protocol.
    Failed(QueryError),
    /// The agent has cancelled the query.
    Cancelled(Option<String>),
    /// The agent has not accepted the query.
    Refused(QueryError),
    /// The stream of the agent was interrupted or timed out.
    AgentLost(QueryError),
    /// The bridge is shutting down.
    BridgeStopping,
    /// The query has timed out.
    TimedOut,
    /// The page has cancelled the query.
    PageCancelled,
    /// The page is gone.
    PageGone,
}

impl QueryOutcome {
    /// Whether the agent has reported this outcome, which implies that it has accepted the query.
    fn was_accepted(&self) -> bool {
        matches!(
            self,
            QueryOutcome::Completed(_) | QueryOutcome::Failed(_) | QueryOutcome::Cancelled(_)
        )
    }

    /// The state of the query after this outcome.
    fn ended_state(&self, query: &RunningQuery, limits: &QueryLimits, now: Now) -> EndedQueryState {
        if matches!(self, QueryOutcome::PageGone) {
            let timeout = limits.attach_timeout.max(limits.cancel_timeout);
            EndedQueryState::PageGone {
                until: now.instant + timeout,
            }
        } else if self.must_cancel_agent(query) {
            EndedQueryState::CancellingAgent {
                until: now.instant + limits.cancel_timeout,
            }
        } else {
            EndedQueryState::Released
        }
    }

    /// Whether the agent must be sent a cancellation.
    fn must_cancel_agent(&self, query: &RunningQuery) -> bool {
        match self {
            QueryOutcome::PageCancelled => true,
            QueryOutcome::AgentLost(_)
            | QueryOutcome::TimedOut
            | QueryOutcome::PageGone
            | QueryOutcome::BridgeStopping => query.cancel_agent_on_end,
            _ => false,
        }
    }

    /// The event for the log.
    fn lifecycle(&self, id: &QueryId, query: &RunningQuery, now: Now) -> LifecycleEvent {
        let (outcome, code) = match self {
            QueryOutcome::Completed(_) => ("ok", None),
            QueryOutcome::Failed(error) | QueryOutcome::AgentLost(error) => {
                ("failed", Some(error.code))
            }
            QueryOutcome::Refused(error) => ("refused", Some(error.code)),
            QueryOutcome::Cancelled(_) => ("cancelled by the agent", None),
            QueryOutcome::PageCancelled => ("cancelled by the page", None),
            QueryOutcome::PageGone => ("the page is gone", Some(ErrorCode::PageGone)),
            QueryOutcome::TimedOut => ("timed out", Some(ErrorCode::QueryTimeout)),
            QueryOutcome::BridgeStopping => ("the bridge stops", Some(ErrorCode::BridgeStopping)),
        };
        let tokens = match self {
            QueryOutcome::Completed(result) => result.tokens(),
            _ => None,
        };
        LifecycleEvent::QueryEnded {
            query: id.clone(),
            outcome,
            code,
            ms: query.age_ms(now),
            tokens,
        }
    }

    /// The final message to the page.
    fn into_message(
        self,
        id: &QueryId,
        query: &mut RunningQuery,
        limits: &QueryLimits,
    ) -> Option<BridgeToPage> {
        let uuid = id.clone();
        Some(match self {
            QueryOutcome::Completed(mut result) => {
                query
                    .tool_calls
                    .append_foreign(result.tool_calls.split_off(0));
                BridgeToPage::QueryComplete(QueryComplete {
                    uuid,
                    usage: result.checked_usage(),
                    result: result.value,
                    tool_calls: query.tool_calls.take(),
                })
            }
            QueryOutcome::Cancelled(reason) => {
                BridgeToPage::QueryCancel(QueryCancel { uuid, reason })
            }
            QueryOutcome::Failed(why)
            | QueryOutcome::Refused(why)
            | QueryOutcome::AgentLost(why) => why.into_message(uuid),
            QueryOutcome::TimedOut => {
                let has_own_timeout = query.has_own_timeout(limits.timeout);
                QueryError::timed_out(has_own_timeout).into_message(uuid)
            }
            QueryOutcome::BridgeStopping => QueryError::bridge_stopping().into_message(uuid),
            QueryOutcome::PageGone => QueryError::page_gone().into_message(uuid),
            // A page that has cancelled its query expects no answer.
            QueryOutcome::PageCancelled => return None,
        })
    }
}

impl Realm {
    /// The agent has not accepted the query.
    pub fn query_refused(&mut self, id: &QueryId, why: QueryError, now: Now) -> Effects {
        match self.queries.get(id) {
            Some(query) if !query.delivery.is_accepted() => {
                self.end_query(id, QueryOutcome::Refused(why), now)
            }
            _ => Effects::new(),
        }
    }

    /// The response tool was called: all other calls are cancelled, and the stream is read to its
    /// end.
    pub(super) fn response_tool_called(&mut self, id: &QueryId, now: Now) -> Effects {
        self.update_query(id, |query| {
            query.record_response(now.instant + AGENT_DRAIN_TIMEOUT)
        });
        self.cancel_query_calls(id, now)
    }

    /// The agent has completed the query. A query with a response tool fails if the agent has not
    /// called it.
    pub fn query_completed(
        &mut self,
        id: &QueryId,
        result: impl Into<CompletedQuery>,
        now: Now,
    ) -> (Result<(), ReportRejected>, Effects) {
        let demanded = match self.running_query(id) {
            Ok(query) if query.has_response => None,
            Ok(query) => query
                .response_tool()
                .map(QueryError::response_tool_required),
            Err(refusal) => return (Err(refusal), Effects::new()),
        };
        let Some(failed) = demanded else {
            let outcome = QueryOutcome::Completed(result.into());
            return (Ok(()), self.end_query(id, outcome, now));
        };
        let refusal = ReportRejected::ResponseToolRequired(failed.error.clone());
        let outcome = QueryOutcome::Failed(failed);
        (Err(refusal), self.end_query(id, outcome, now))
    }

    /// The agent has failed.
    pub fn query_failed(
        &mut self,
        id: &QueryId,
        why: QueryError,
        now: Now,
    ) -> (Result<(), ReportRejected>, Effects) {
        self.end_by_agent(id, QueryOutcome::Failed(why), now)
    }

    /// The agent has cancelled the query.
    pub fn query_cancelled(
        &mut self,
        id: &QueryId,
        reason: Option<String>,
        now: Now,
    ) -> (Result<(), ReportRejected>, Effects) {
        self.end_by_agent(id, QueryOutcome::Cancelled(reason), now)
    }

    fn end_by_agent(
        &mut self,
        id: &QueryId,
        outcome: QueryOutcome,
        now: Now,
    ) -> (Result<(), ReportRejected>, Effects) {
        match self.running_query(id) {
            Ok(_) => (Ok(()), self.end_query(id, outcome, now)),
            Err(refusal) => (Err(refusal), Effects::new()),
        }
    }

    /// The connection to the agent is lost. The agent may still be working and is sent a
    /// cancellation.
    pub fn agent_lost(&mut self, id: &QueryId, why: QueryError, now: Now) -> Effects {
        self.end_query(id, QueryOutcome::AgentLost(why), now)
    }

    /// The page cancels its query and receives no answer.
    pub fn query_cancelled_by_page(
        &mut self,
        session: &SessionId,
        connection: ConnectionId,
        id: &QueryId,
        now: Now,
    ) -> Effects {
        let is_current = self.session_on(session, connection).is_some();
        if !is_current || !self.is_running_for(session, id) {
            return Effects::new();
        }
        self.end_query(id, QueryOutcome::PageCancelled, now)
    }

    /// The page of a query is gone, and no other document has attached in time.
    pub(in crate::realm) fn query_page_gone(&mut self, id: &QueryId, now: Now) -> Effects {
        self.end_query(id, QueryOutcome::PageGone, now)
    }

    /// A deadline of a query has passed.
    pub(in crate::realm) fn query_due(&mut self, id: &QueryId, now: Now) -> Effects {
        match self.queries.get(id) {
            None => self.ended_query_expired(id, now),
            Some(query) if query.has_expired(now.instant) => {
                self.end_query(id, QueryOutcome::TimedOut, now)
            }
            Some(_) => self.query_page_gone(id, now),
        }
    }

    /// The bridge is shutting down, which ends all queries.
    pub(in crate::realm) fn end_all_queries(&mut self, now: Now) -> Effects {
        let running: Vec<_> = self.queries.keys().cloned().collect();
        let end = |id| self.end_query(&id, QueryOutcome::BridgeStopping, now);
        running.into_iter().flat_map(end).collect()
    }

    /// Ends a query exactly once. All queries end through this method.
    pub(in crate::realm) fn end_query(
        &mut self,
        id: &QueryId,
        outcome: QueryOutcome,
        now: Now,
    ) -> Effects {
        let Some(mut query) = self.queries.shift_remove(id) else {
            return Effects::new();
        };
        let outcome = match outcome {
            QueryOutcome::PageCancelled => outcome,
            // The response tool has the answer, so only the rest of what the agent reports counts.
            QueryOutcome::Completed(result) if query.has_response => {
                QueryOutcome::Completed(CompletedQuery {
                    value: None,
                    ..result
                })
            }
            _ if query.has_response => QueryOutcome::Completed(CompletedQuery::default()),
            _ => outcome,
        };
        let deadline = Deadline::Query(id.clone());
        self.deadlines.remove((query.deadline(), deadline));
        let lifecycle = self.query_lifecycle(&query.session, outcome.lifecycle(id, &query, now));
        let limits = &self.limits.queries;
        let must_cancel_agent = outcome.must_cancel_agent(&query);
        let state = outcome.ended_state(&query, limits, now);
        if outcome.was_accepted() {
            query.delivery.mark_accepted();
        }
        let final_message = outcome.into_message(id, &mut query, limits);
        let is_page = query.origin != QueryOrigin::Frontend;
        query.delivery.finish(final_message.filter(|_| is_page));
        let is_replayable = query.delivery.is_replayable();
        let mut ended = EndedQuery {
            session: query.session,
            must_attach: is_replayable
                && matches!(query.page_presence, PagePresence::Detached { .. }),
            attachable_until: is_replayable.then(|| now.instant + limits.attach_timeout),
            delivery: query.delivery,
            state,
        };
        let mut effects = if matches!(state, EndedQueryState::PageGone { .. }) {
            // The session may still have the connection of the page that is gone.
            Effects::new()
        } else {
            self.send_final_message(id, &mut ended)
        };
        effects.extend(self.cancel_query_calls(id, now));
        let query = id.clone();
        effects.push(Effect::Agent(if must_cancel_agent {
            AgentEffect::Cancel { query }
        } else {
            AgentEffect::Revoke { query }
        }));
        effects.extend(self.record_ended_query(id, ended));
        effects.push(lifecycle);
        effects
    }

    /// Cancels the calls of a query that has ended.
    fn cancel_query_calls(&mut self, id: &QueryId, now: Now) -> Effects {
        let calls = self.calls.iter();
        let calls = calls.filter(|(_, call)| call.context.query_id.as_ref() == Some(id));
        let calls: Vec<CallId> = calls.map(|(call, _)| call.clone()).collect();
        let cancel = |call| {
            let message = "the query that the call belongs to has ended: nothing more is wanted";
            let failure = CallFailure::new(ErrorCode::CallCancelled, message.to_owned());
            self.abort_call(&call, failure, now)
        };
        calls.into_iter().flat_map(cancel).collect()
    }
}
