//! The record of one round of a call: it is counted when it ends.

use tokio::time::Instant;

use super::error::CallError;
use super::outcome::RoundOutcome;
use crate::counters::{CallEnd, CallKind};
use crate::hub::Hub;
use crate::results::tool_result::ToolResult;
use bridge_realm::realm::CallOutcome;

/// Counts a call when it ends. A record that is dropped before that is one of a call that its
/// client has cancelled.
pub(crate) struct CallRecord<'a> {
    hub: &'a Hub,
    kind: CallKind,
    started: Instant,
    end: CallEnd,
}

impl<'a> CallRecord<'a> {
    /// Begins the record of a call.
    pub(super) fn begin(hub: &'a Hub, kind: CallKind) -> Self {
        Self {
            hub,
            kind,
            started: Instant::now(),
            end: CallEnd::Cancelled,
        }
    }

    /// Ends the record.
    pub(super) fn end(mut self, end: CallEnd) {
        self.end = end;
    }
}

impl Drop for CallRecord<'_> {
    fn drop(&mut self) {
        let duration = self.started.elapsed();
        self.hub.counters.calls.count(self.kind, self.end, duration);
    }
}

impl CallEnd {
    /// The end of a round with this outcome, whose result is no failure.
    pub(super) fn from_round<T>(outcome: &Result<RoundOutcome<T>, CallError>) -> Self {
        match outcome {
            Ok(RoundOutcome::Complete(_)) => Self::Completed,
            Ok(RoundOutcome::InputRequired { .. }) => Self::InputRequired,
            Err(error) => Self::Failed(Some(error.code())),
        }
    }

    /// The end of a round of a tool call, whose result may be a failure.
    pub(super) fn from_tool_round(outcome: &Result<RoundOutcome<ToolResult>, CallError>) -> Self {
        match outcome {
            Ok(RoundOutcome::Complete(result)) if result.is_error() => {
                Self::Failed(result.error_code())
            }
            other => Self::from_round(other),
        }
    }

    /// The end of a call with what its page has answered.
    pub(super) fn from_outcome(outcome: &CallOutcome) -> Self {
        match outcome {
            CallOutcome::Answered(_) => Self::Completed,
            CallOutcome::Failed(failure) => Self::Failed(Some(failure.code)),
        }
    }
}
