//! The errors of queries. The texts in `error` do not change; `reason` gives the next
//! step.

use bridge_protocol::{BridgeToPage, ErrorCode, QueryFailure, QueryId};

use crate::realm::CallFailure;
use crate::realm::query::{EndedQuery, EndedQueryState};

/// The maximum length of the error of a malformed message, in characters.
const MAX_MALFORMED_CHARS: usize = 200;

/// The reason why a query has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    pub code: ErrorCode,
    pub error: String,
    /// The next step, for the message.
    pub reason: Option<String>,
}

impl QueryError {
    pub fn new(code: ErrorCode, error: impl Into<String>, reason: Option<&str>) -> Self {
        Self {
            code,
            error: error.into(),
            reason: reason.map(str::to_owned),
        }
    }

    /// An error that the agent has reported. Codes that do not belong to agents become
    /// `agent_failed`.
    pub fn from_agent(error: String, reason: Option<String>, code: Option<&str>) -> Self {
        let code = code.and_then(|code| code.parse().ok());
        Self {
            code: code.filter(is_agent_code).unwrap_or(ErrorCode::AgentFailed),
            error,
            reason,
        }
    }

    pub fn no_agent() -> Self {
        let remedy = "start the bridge with `agent_url` (--agent-url)";
        Self::new(
            ErrorCode::AgentNotConfigured,
            "Missing Agent URL",
            Some(remedy),
        )
    }

    pub(super) fn limit_exceeded(max_queries: usize) -> Self {
        let remedy =
            format!("{max_queries} queries of this token are in flight; raise `max_queries`");
        let error = "Query limit exceeded. Wait for existing queries to complete.";
        Self::new(ErrorCode::QueryLimitExceeded, error, Some(&remedy))
    }

    pub(super) fn response_tool_required(tool: &str) -> Self {
        let error = format!(
            "Query specified responseTool '{tool}' but agent called queryComplete() instead"
        );
        Self::new(ErrorCode::AgentFailed, error, None)
    }

    pub(super) fn page_gone() -> Self {
        Self::new(ErrorCode::PageGone, "Session not found", None)
    }

    /// The query has exceeded its own timeout or that of the bridge.
    pub(super) fn timed_out(has_own_timeout: bool) -> Self {
        let error = "The agent did not complete the query in time";
        let remedy = if has_own_timeout {
            "give the query a longer `timeout`"
        } else {
            "raise `query_timeout`"
        };
        Self::new(ErrorCode::QueryTimeout, error, Some(remedy))
    }

    /// The query that a page tries to attach to does not exist.
    pub(super) fn not_found() -> Self {
        let error = "There is no query with this uuid in this session";
        let remedy = "it ended too long ago, was cancelled, or belongs to another tab: ask anew";
        Self::new(ErrorCode::QueryNotFound, error, Some(remedy))
    }

    pub fn bridge_stopping() -> Self {
        let error = "The bridge is shutting down";
        Self::new(
            ErrorCode::BridgeStopping,
            error,
            Some("ask again when it is back"),
        )
    }

    pub fn duplicate_uuid() -> Self {
        let error = "A query with this uuid was asked before";
        Self::new(
            ErrorCode::QueryCompleted,
            error,
            Some("ask with a new uuid"),
        )
    }

    pub(super) fn malformed_uuid() -> Self {
        let error = "The uuid of the query is malformed";
        let remedy = "allowed are letters, digits, `-`, `_` and `.`: use crypto.randomUUID()";
        Self::new(ErrorCode::ProtocolViolation, error, Some(remedy))
    }

    /// The fields of the message are invalid. The error may quote a field of any length.
    pub(super) fn malformed_message(error: &str) -> Self {
        let error = error.chars().take(MAX_MALFORMED_CHARS).collect::<String>();
        let error = format!("The query is malformed: {error}");
        let remedy = "see the fields of a query in docs/queries.md";
        Self::new(ErrorCode::ProtocolViolation, error, Some(remedy))
    }

    pub(super) fn guessable_uuid() -> Self {
        let error = "The uuid of the query can be guessed";
        let remedy = "whoever knows it may report on the query: use crypto.randomUUID()";
        Self::new(ErrorCode::ProtocolViolation, error, Some(remedy))
    }

    pub(super) fn missing_scope() -> Self {
        let error = "The token of the page does not grant `query`";
        let remedy = "ask its issuer for a token with this scope";
        Self::new(ErrorCode::InsufficientScope, error, Some(remedy))
    }

    /// The message to the page.
    pub(super) fn into_message(self, uuid: QueryId) -> BridgeToPage {
        BridgeToPage::QueryFailure(QueryFailure {
            uuid,
            error: self.error,
            reason: self.reason,
            code: self.code,
        })
    }
}

fn is_agent_code(code: &ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::AgentUnavailable
            | ErrorCode::BridgeUnavailable
            | ErrorCode::ModelUnauthorized
            | ErrorCode::ModelRateLimited
            | ErrorCode::ModelUnavailable
            | ErrorCode::ModelRequestRefused
            | ErrorCode::ModelStreamBroken
            | ErrorCode::ModelStreamUnfinished
            | ErrorCode::ModelArgumentsCutOff
            | ErrorCode::ModelCallInvalid
            | ErrorCode::ModelRefused
            | ErrorCode::ModelLengthReached
            | ErrorCode::ModelAnswerEmpty
            | ErrorCode::ModelAnswerInvalid
            | ErrorCode::ModelInputTooLong
            | ErrorCode::QueryBudgetExceeded
            | ErrorCode::QueryTimeout
            | ErrorCode::ResponseToolNotCalled
            // Errors of the page that only the agent can find.
            | ErrorCode::ProtocolViolation
            | ErrorCode::ToolNotFound
            | ErrorCode::InsufficientScope
    )
}

/// The reason why an agent cannot report on a query or make calls for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportRejected {
    /// The query does not exist or has ended.
    NotFound,
    /// The query has ended without the agent, which is being sent a cancellation.
    Cancelling,
    /// The page of the query is gone.
    PageGone,
    /// The query has failed because its response tool was not called.
    ResponseToolRequired(String),
}

impl ReportRejected {
    /// The rejection of a report on a query that has ended.
    pub(super) fn from_ended(ended: &EndedQuery) -> Self {
        match ended.state {
            EndedQueryState::PageGone { .. } => ReportRejected::PageGone,
            EndedQueryState::CancellingAgent { .. } => ReportRejected::Cancelling,
            EndedQueryState::Released => ReportRejected::NotFound,
        }
    }

    /// The error code for the agent.
    pub fn code(&self) -> ErrorCode {
        match self {
            ReportRejected::NotFound => ErrorCode::QueryNotFound,
            ReportRejected::Cancelling => ErrorCode::QueryNotActive,
            ReportRejected::PageGone => ErrorCode::InvalidSession,
            ReportRejected::ResponseToolRequired(_) => ErrorCode::AgentFailed,
        }
    }
}

/// Converts the rejection into the failure of a call that belongs to the query.
impl From<ReportRejected> for CallFailure {
    fn from(refusal: ReportRejected) -> Self {
        let message = match &refusal {
            ReportRejected::NotFound => "the query has ended: nothing more is wanted".to_owned(),
            ReportRejected::Cancelling => "the page has cancelled the query: stop".to_owned(),
            ReportRejected::PageGone => {
                "the page that asked is gone: its tools cannot be called".to_owned()
            }
            ReportRejected::ResponseToolRequired(why) => why.clone(),
        };
        CallFailure::new(refusal.code(), message)
    }
}
