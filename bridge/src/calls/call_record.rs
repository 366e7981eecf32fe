//! The record of one round of a call: when it ends, it is counted, logged if the audit log is on, and
//! its span ends.
//!
//! It ends when the client has got the answer, so that the record says what the client got. An answer
//! may be replaced after the call has ended, for example because too many answers wait to be read.

use std::sync::Arc;
use std::time::Duration;

use bridge_edge::ClientAddress;
use bridge_protocol::{CallerTransport, ErrorCode};
use tokio::time::Instant;

use super::CallOptions;
use super::audit::AuditEntry;
use super::call_trace::describe_end;
use super::round_outcome::RoundOutcome;
use crate::budget::{Delivery, RefusalKind};
use crate::counters::{CallKind, CountedEnd};
use crate::hub::Hub;
use bridge_mcp_results::request_error::RequestError;
use bridge_mcp_results::tool_result::CallToolResult;
use bridge_realm::realm::CallOutcome;
use bridge_traces::TraceSpan;

/// The outcome of a round of a call, with the record of the round. The record belongs to the answer
/// that the client gets.
#[derive(Debug)]
#[must_use = "a record that is dropped is one of an answer that was not delivered"]
pub(crate) struct Recorded<T> {
    pub(crate) outcome: T,
    pub(crate) record: CallRecord,
}

/// Counts a round of a call when it ends. A record that is dropped without an answer is one of a call
/// that its client has cancelled, and one that is dropped with an answer that was not delivered is one
/// of a client that is gone.
#[derive(Debug)]
pub(crate) struct CallRecord {
    hub: Arc<Hub>,
    kind: CallKind,
    started: Instant,
    answer: Option<Answer>,
    address: ClientAddress,
    route: &'static str,
    audit: Option<Arc<AuditEntry>>,
    span: TraceSpan,
}

/// The answer to a round.
#[derive(Debug)]
struct Answer {
    end: CountedEnd,
    /// The time from the request to the answer.
    duration: Duration,
    is_delivered: bool,
}

impl CallRecord {
    /// Begins the record of a call of what has this name or URI. `arguments` returns the JSON text
    /// of its arguments for the audit log, which contains them only where this is configured.
    pub(super) fn begin(
        hub: &Arc<Hub>,
        kind: CallKind,
        caller: &mut CallOptions<'_>,
        name: &str,
        arguments: impl FnOnce() -> Option<String>,
    ) -> Self {
        caller.audit = AuditEntry::begin(
            hub.config.monitoring.audit,
            caller.realm,
            caller.address,
            &caller.call_context,
            name,
            arguments,
        );
        let span = caller
            .trace
            .begin_request(hub, kind, name, &caller.call_context);
        let route = match caller.call_context.caller.as_ref().map(|caller| caller.via) {
            None | Some(CallerTransport::Mcp) => "/mcp",
            Some(CallerTransport::Http) => "/tool-call",
        };
        Self {
            hub: Arc::clone(hub),
            kind,
            started: Instant::now(),
            answer: None,
            address: caller.address,
            route,
            audit: caller.audit.clone(),
            span,
        }
    }

    /// Begins the record of the rest of a call, for whose result its client has got a handle.
    pub(super) fn begin_in_background(
        hub: &Arc<Hub>,
        started: Instant,
        caller: &CallOptions<'_>,
    ) -> Self {
        Self {
            hub: Arc::clone(hub),
            kind: CallKind::Background,
            started,
            answer: None,
            address: caller.address,
            route: "background",
            audit: caller.audit.clone(),
            // The span of the page's call continues.
            span: TraceSpan::default(),
        }
    }

    /// Adds the record to the outcome of its round, which ends for the client like this unless another
    /// answer replaces it.
    pub(super) fn of<T>(mut self, outcome: T, end: impl FnOnce(&T) -> CountedEnd) -> Recorded<T> {
        self.set_answer(end(&outcome));
        Recorded {
            outcome,
            record: self,
        }
    }

    /// Sets the answer that the client is about to get, in place of an earlier one.
    pub(crate) fn set_answer(&mut self, end: CountedEnd) {
        let answer = self.answer.take();
        self.answer = Some(Answer {
            end,
            duration: answer.map_or_else(|| self.started.elapsed(), |answer| answer.duration),
            is_delivered: false,
        });
    }
}

impl Delivery for CallRecord {
    fn delivered(mut self) {
        if let Some(answer) = &mut self.answer {
            answer.is_delivered = true;
        }
    }
}

impl Drop for CallRecord {
    fn drop(&mut self) {
        let (end, duration) = match &self.answer {
            None => (CountedEnd::Cancelled, self.started.elapsed()),
            Some(answer) if answer.is_delivered => (answer.end, answer.duration),
            Some(answer) => (CountedEnd::Undelivered, answer.duration),
        };
        self.hub.counters.calls.count(self.kind, end, duration);
        if let Some(audit) = &self.audit {
            audit.log(self.kind, end, duration);
        }
        describe_end(&self.span, end);
        let is_over_limit = CountedEnd::Failed(Some(ErrorCode::CallLimitExceeded));
        if self
            .answer
            .as_ref()
            .is_some_and(|answer| answer.end == is_over_limit)
        {
            let reason = "as many calls of the token are in flight as may be (`max_calls`), or too \
                          much of their work waits";
            let (refusals, kind) = (&self.hub.budgets.refusals, RefusalKind::MaxCalls);
            refusals.record(kind, self.address, self.route, reason);
        }
    }
}

impl CountedEnd {
    /// The end of a round with this outcome, whose result is not a failure.
    pub(super) fn from_round<T>(outcome: &Result<RoundOutcome<T>, RequestError>) -> Self {
        match outcome {
            Ok(RoundOutcome::Complete(_)) => Self::Completed,
            Ok(RoundOutcome::InputRequired { .. }) => Self::InputRequired,
            Err(error) => Self::Failed(Some(error.code())),
        }
    }

    /// The end of a round of a tool call, whose result may be a failure.
    pub(super) fn from_tool_round(
        outcome: &Result<RoundOutcome<CallToolResult>, RequestError>,
    ) -> Self {
        match outcome {
            Ok(RoundOutcome::Complete(result)) => Self::from_result(result),
            other => Self::from_round(other),
        }
    }

    /// The end of a tool call with this result.
    pub(crate) fn from_result(result: &CallToolResult) -> Self {
        if result.is_handle() {
            Self::Background
        } else if result.is_error() {
            Self::Failed(result.error_code())
        } else {
            Self::Completed
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
