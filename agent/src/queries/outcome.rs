//! The outcome of a query.

use agent_tools::AgentFailure;

use crate::agent_loop::FinalAnswer;

/// The outcome of a query.
#[derive(Debug)]
pub(super) enum QueryOutcome {
    Answered(FinalAnswer),
    Failed(AgentFailure),
    /// Cancelled, with the reason.
    Cancelled(String),
}

impl QueryOutcome {
    /// Returns the name of the outcome in the log: an error code for a failure.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Answered(_) => "complete",
            Self::Failed(failure) => failure.code.as_str(),
            Self::Cancelled(_) => "cancelled",
        }
    }

    /// Creates the outcome of a query whose answer is not awaited any more.
    pub(super) fn unwanted() -> Self {
        Self::Cancelled("nobody waits for the answer any more".to_owned())
    }
}
