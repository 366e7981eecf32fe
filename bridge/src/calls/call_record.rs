//! The record of one round of a call: when it ends, it is counted, and logged if the audit log is
//! on.

use std::sync::Arc;

use bridge_edge::ClientAddress;
use bridge_protocol::{CallerTransport, ErrorCode};
use tokio::time::Instant;

use super::CallOptions;
use super::audit::AuditEntry;
use super::round_outcome::RoundOutcome;
use crate::budget::RefusalKind;
use crate::counters::{CallKind, CountedEnd};
use crate::hub::Hub;
use bridge_mcp_results::request_error::RequestError;
use bridge_mcp_results::tool_result::CallToolResult;
use bridge_realm::realm::CallOutcome;

/// Counts a call when it ends. A record that is dropped before that is one of a call that its
/// client has cancelled.
pub(crate) struct CallRecord<'a> {
    hub: &'a Hub,
    kind: CallKind,
    started: Instant,
    end: CountedEnd,
    address: ClientAddress,
    route: &'static str,
    audit: Option<Arc<AuditEntry>>,
}

impl<'a> CallRecord<'a> {
    /// Begins the record of a call of what has this name or URI. `arguments` returns the JSON text
    /// of its arguments for the audit log, which contains them only where this is configured.
    pub(super) fn begin(
        hub: &'a Hub,
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
        let route = match caller.call_context.caller.as_ref().map(|caller| caller.via) {
            None | Some(CallerTransport::Mcp) => "/mcp",
            Some(CallerTransport::Http) => "/tool-call",
        };
        Self {
            hub,
            kind,
            started: Instant::now(),
            end: CountedEnd::Cancelled,
            address: caller.address,
            route,
            audit: caller.audit.clone(),
        }
    }

    /// Begins the record of the rest of a call, for whose result its client has got a handle.
    pub(super) fn begin_in_background(
        hub: &'a Hub,
        started: Instant,
        caller: &CallOptions<'_>,
    ) -> Self {
        Self {
            hub,
            kind: CallKind::Background,
            started,
            end: CountedEnd::Cancelled,
            address: caller.address,
            route: "background",
            audit: caller.audit.clone(),
        }
    }

    /// Ends the record.
    pub(super) fn end(mut self, end: CountedEnd) {
        self.end = end;
    }
}

impl Drop for CallRecord<'_> {
    fn drop(&mut self) {
        let duration = self.started.elapsed();
        self.hub.counters.calls.count(self.kind, self.end, duration);
        if let Some(audit) = &self.audit {
            audit.log(self.kind, self.end, duration);
        }
        if self.end == CountedEnd::Failed(Some(ErrorCode::CallLimitExceeded)) {
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
    pub(super) fn from_result(result: &CallToolResult) -> Self {
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
