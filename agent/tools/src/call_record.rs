//! The record of a call for the audit file and the metrics, which is made also if the call is
//! cancelled.

use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::access::SourceAccess;
use crate::approval::Approval;
use crate::audit::{AuditLog, CallEntry, LinePermit};
use crate::metrics::Metrics;
use crate::output::CallOutput;
use crate::redaction::{arguments_text, shorten_arguments, without_secrets};
use crate::sources::Records;

/// The source of the calls of pages in the audit file and in metrics. No other source has this name.
pub const PAGE_SOURCE: &str = "page";

/// The source of the calls of clients, and of changes of the state that they share.
pub const CLIENT_SOURCE: &str = "client";

/// The outcome of a call that has not ended: the query was cancelled, or has timed out.
const CANCELLED: &str = "cancelled";

/// Records a call when it is dropped.
#[derive(Debug)]
pub(super) struct AuditedCall<'a> {
    source: &'a str,
    metrics: &'a Metrics,
    started_at: Instant,
    audit: &'a AuditLog,
    /// The entry for the audit file; `None` without one.
    entry: Option<CallEntry>,
    /// Whether the call is not made without a line.
    needs_line: bool,
    /// The place that was reserved for the entry, if one was.
    line: Option<LinePermit>,
    outcome: &'static str,
    /// The size of the result.
    bytes: usize,
}

/// The data of a call for the audit file and the metrics.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordedCall<'a> {
    pub(super) access: &'a SourceAccess,
    pub(super) source: &'a str,
    pub(super) tool: &'a str,
    pub(super) schema: &'a Value,
    /// Whether the call is not made without a line of the audit file.
    pub(super) needs_line: bool,
}

impl<'a> RecordedCall<'a> {
    /// Begins the record of a call.
    pub(super) fn begin(self, arguments: &Map<String, Value>) -> AuditedCall<'a> {
        let Records { audit, metrics, .. } = &self.access.sources.records;
        AuditedCall {
            source: self.source,
            metrics,
            started_at: Instant::now(),
            audit,
            entry: audit.is_open().then(|| self.audit_entry(arguments)),
            needs_line: self.needs_line,
            line: None,
            outcome: CANCELLED,
            bytes: 0,
        }
    }

    fn audit_entry(self, arguments: &Map<String, Value>) -> CallEntry {
        let access = self.access;
        let text = arguments_text(arguments, self.schema);
        let text = without_secrets(text, access.sources.records.secrets.as_deref());
        CallEntry::new(
            access.caller.as_ref(),
            access.profile().map(|profile| profile.name.as_str()),
            &access.query,
            self.source,
            self.tool,
            shorten_arguments(text),
        )
    }
}

impl AuditedCall<'_> {
    /// Reserves a line of the audit file, if the call must not be made without one. Returns whether it
    /// can be made.
    pub(super) fn reserve_line(&mut self) -> bool {
        if self.needs_line {
            self.line = self.audit.reserve();
        }
        self.line.is_some() || !self.needs_line
    }

    /// Records the answer of the person about the call.
    pub(super) fn approval(&mut self, approval: Approval) {
        if let Some(entry) = &mut self.entry {
            entry.approval = Some(approval);
        }
    }

    /// Records how the call has ended.
    pub(super) fn end(mut self, output: &CallOutput) {
        self.outcome = output.outcome.as_str();
        self.bytes = output.text.len();
    }
}

impl Drop for AuditedCall<'_> {
    fn drop(&mut self) {
        let duration = self.started_at.elapsed();
        self.metrics.count_call(self.source, self.outcome, duration);
        let Some(mut entry) = self.entry.take() else {
            return;
        };
        entry.end(self.outcome, duration, self.bytes);
        match self.line.take() {
            Some(line) => line.write(&entry),
            None if self.audit.write(&entry) => {}
            None => self.metrics.count_lost_audit_line(),
        }
    }
}
