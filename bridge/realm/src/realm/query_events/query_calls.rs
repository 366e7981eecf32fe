//! Checks and records the tool calls of a query.

use bridge_protocol::{ErrorCode, QueryId, SessionId};

use super::{QueryOutcome, ReportRejected};
use crate::realm::query::PagePresence;
use crate::realm::{
    CallFailure, CallOutcome, CompletedQuery, Effects, Now, Realm, RealmCall, SessionSummary,
};

/// The rejection of a tool that a query may not call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolNotAllowed {
    pub tool: String,
    /// All tools that the query may call.
    pub allowed: Vec<String>,
}

impl ToolNotAllowed {
    /// The error message, which includes the next step.
    pub fn message(&self) -> String {
        format!(
            "the query does not allow `{}`: call one of allowed_tools",
            self.tool
        )
    }
}

impl Realm {
    /// The session whose tools a query may call.
    pub fn query_session(&self, id: &QueryId) -> Result<&SessionId, ReportRejected> {
        let Some(query) = self.queries.get(id) else {
            let ended = self.ended_queries.get(id);
            return Err(ended.map_or(ReportRejected::NotFound, ReportRejected::from_ended));
        };
        match query.page_presence {
            _ if query.has_response => Err(ReportRejected::NotFound),
            PagePresence::Attached | PagePresence::Reattaching => Ok(&query.session),
            PagePresence::Detached { .. } => Err(ReportRejected::PageGone),
        }
    }

    /// The summary of the session whose tools a query may call, with these tools only.
    pub fn query_session_summary(&self, id: &QueryId) -> Option<SessionSummary> {
        let (session_id, session) = self.session(self.query_session(id).ok()?)?;
        let query = self.queries.get(id)?;
        Some(session.summary_with_tools(session_id, |tool| query.allows_tool(tool)))
    }

    /// Whether a query may call a tool of this name.
    pub fn check_tool_allowed(&self, id: &QueryId, tool: &str) -> Result<(), ToolNotAllowed> {
        match self.queries.get(id) {
            Some(query) if !query.allows_tool(tool) => Err(ToolNotAllowed {
                tool: tool.to_owned(),
                allowed: query.allowed_tools().unwrap_or_default().to_vec(),
            }),
            _ => Ok(()),
        }
    }

    /// Checks that the query of a call may make it: the query is running, the session belongs to
    /// its page, and the tool is allowed.
    pub fn check_query_call(
        &self,
        id: &QueryId,
        session: &SessionId,
        tool: &str,
    ) -> Result<(), CallFailure> {
        match self.query_session(id) {
            Ok(own) if own == session => {}
            Ok(_) => {
                let message = "a query may call the tools of its own page only".to_owned();
                return Err(CallFailure::new(ErrorCode::ToolNotAllowed, message));
            }
            Err(refusal) => return Err(refusal.into()),
        }
        let refused = |refused: ToolNotAllowed| {
            CallFailure::new(ErrorCode::ToolNotAllowed, refused.message())
        };
        self.check_tool_allowed(id, tool).map_err(refused)
    }

    /// A call of a query has ended. If it called the response tool, the query ends before the
    /// caller receives the result.
    pub(in crate::realm) fn query_call_ended(
        &mut self,
        call: &RealmCall,
        outcome: &CallOutcome,
        now: Now,
    ) -> Effects {
        let Some(id) = &call.context.query_id else {
            return Effects::new();
        };
        let Some(query) = self.queries.get_mut(id) else {
            return Effects::new();
        };
        query.tool_calls.record(&call.request, outcome);
        let is_response = !query.has_response && query.is_response(call, outcome);
        if !is_response {
            Effects::new()
        } else if query.is_streaming {
            // Progress from before this call may still be in the stream of the agent.
            self.response_tool_called(id, now)
        } else {
            self.end_query(id, QueryOutcome::Completed(CompletedQuery::default()), now)
        }
    }
}
