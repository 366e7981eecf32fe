//! The calls of a turn that are not made, and the reasons that the model reads.

use agent_tools::CallStatus;

use super::budget::Budget;
use super::indexed_call::IndexedCall;
use super::repeated_calls::RepeatedCalls;
use super::tool_catalog::ToolCatalog;
use crate::model::ModelCall;

/// Why a call is not made.
#[derive(Debug)]
pub(super) struct Rejection {
    pub(super) outcome: CallStatus,
    /// The result of the call, for the model.
    pub(super) text: String,
}

impl Rejection {
    fn new(outcome: CallStatus, reason: &str) -> Self {
        let text = format!("Not called: {reason}");
        Self { outcome, text }
    }

    /// Rejects a call whose arguments cannot be read.
    pub(super) fn of_unreadable(call: &ModelCall) -> Option<Self> {
        let reason = call.unreadable.as_ref()?;
        let reason = format!("{reason}. Call it again with a JSON object.");
        Some(Self::new(CallStatus::InvalidArguments, &reason))
    }

    /// Rejects an answer that does not fit its schema.
    pub(super) fn of_answer(violations: String) -> Self {
        Self {
            outcome: CallStatus::InvalidArguments,
            text: violations,
        }
    }

    /// Rejects a call in a turn that had to call the response tool, and nothing else.
    pub(super) fn of_other_call(response_tool: &str) -> Self {
        let reason = format!("the answer must be a call of `{response_tool}`. Call it now.");
        Self::new(CallStatus::Denied, &reason)
    }

    /// Rejects a call of the response tool after another one in the same turn.
    pub(super) fn of_second_answer() -> Self {
        Self::new(CallStatus::Denied, "the answer is one call.")
    }

    /// Rejects a call in a turn that had to be the answer.
    pub(super) fn of_last_turn() -> Self {
        let reason = "the request has used its turns, calls or tokens.";
        Self::new(CallStatus::RateLimited, reason)
    }

    fn of_repeated(reason: &str) -> Self {
        Self::new(CallStatus::RateLimited, reason)
    }

    fn of_excess(max_calls: usize) -> Self {
        let reason = format!("a query may make {max_calls} calls, and they are used up.");
        Self::new(CallStatus::RateLimited, &reason)
    }
}

/// The calls of a turn, without those of the response tool.
#[derive(Debug, Default)]
pub(super) struct SelectedCalls<'a> {
    /// The calls that are made.
    pub(super) granted: Vec<IndexedCall<'a>>,
    pub(super) rejected: Vec<(IndexedCall<'a>, Rejection)>,
    /// Whether calls are rejected because the query has no more.
    pub(super) has_excess: bool,
}

impl<'a> SelectedCalls<'a> {
    /// Decides about calls, and reserves those that are made.
    pub(super) fn new(
        calls: Vec<IndexedCall<'a>>,
        catalog: &ToolCatalog,
        repeated: &RepeatedCalls,
        budget: &mut Budget<'_>,
    ) -> Self {
        let mut selected = Self::default();
        let mut changing = Vec::new();
        for call in calls {
            // A tool that only reads may be called until a status changes.
            let is_read_only = catalog.is_read_only(&call.call.tool);
            let repeated = if is_read_only {
                None
            } else {
                repeated.refusal(call.call, &changing)
            };
            let repeated = repeated.map(|reason| Rejection::of_repeated(&reason));
            if let Some(rejection) = repeated.or_else(|| Rejection::of_unreadable(call.call)) {
                selected.rejected.push((call, rejection));
            } else if budget.reserve_call() {
                selected.granted.push(call);
                if !is_read_only {
                    changing.push(call);
                }
            } else {
                selected.has_excess = true;
                let rejection = Rejection::of_excess(budget.max_calls());
                selected.rejected.push((call, rejection));
            }
        }
        selected
    }
}
