//! The record of a call for the audit file and the metrics, which is made also if the call is
//! cancelled.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::access::SourceAccess;
use super::approval::{Approval, NotApproved};
use super::audit::{AuditEntry, AuditLog, LinePermit};
use super::offered_tool::OfferedTool;
use super::output::{CallOutcome, CallOutput};
use super::redaction::{arguments_text, shorten_arguments};
use super::sources::Records;
use crate::metrics::Metrics;

/// The source of the calls of pages in the audit file and in metrics. No other source has this name.
pub(super) const PAGE_SOURCE: &str = "page";

/// The outcome of a call that has not ended: the query was cancelled, or has timed out.
const CANCELLED: &str = "cancelled";

/// Records a call when it is dropped.
#[derive(Debug)]
pub(crate) struct CallRecord<'a> {
    source: &'a str,
    metrics: &'a Metrics,
    started_at: Instant,
    audit: &'a AuditLog,
    /// `None` if there is no audit file.
    entry: Option<AuditEntry>,
    /// The place that was reserved for the entry, if one was.
    line: Option<LinePermit>,
    outcome: &'static str,
    /// The size of the result.
    bytes: usize,
}

impl SourceAccess {
    /// Begins the record of a call of a page. It is made also while the audit file cannot be written.
    pub(crate) fn record_page_call(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        schema: Option<&Value>,
    ) -> CallRecord<'_> {
        let schema = schema.unwrap_or(&Value::Null);
        self.record(PAGE_SOURCE, tool, arguments, schema)
    }

    /// Begins the record of a call of a source.
    pub(super) fn record_source_call<'a>(
        &'a self,
        offered: &'a OfferedTool,
        arguments: &Map<String, Value>,
    ) -> CallRecord<'a> {
        let tool = &offered.tool;
        let schema = tool.arguments.schema();
        self.record(offered.source_name(), &tool.name, arguments, schema)
    }

    fn record<'a>(
        &'a self,
        source: &'a str,
        tool: &str,
        arguments: &Map<String, Value>,
        schema: &Value,
    ) -> CallRecord<'a> {
        let Records { audit, metrics, .. } = &self.sources.records;
        let entry = || self.audit_entry(source, tool, arguments, schema);
        CallRecord {
            source,
            metrics,
            started_at: Instant::now(),
            audit,
            entry: audit.is_open().then(entry),
            line: None,
            outcome: CANCELLED,
            bytes: 0,
        }
    }

    fn audit_entry(
        &self,
        source: &str,
        tool: &str,
        arguments: &Map<String, Value>,
        schema: &Value,
    ) -> AuditEntry {
        AuditEntry::new(
            self.caller.as_ref(),
            self.profile.as_ref().map(|profile| profile.name.as_str()),
            &self.query,
            source,
            tool,
            self.redacted_arguments(arguments, schema),
        )
    }
}

impl SourceAccess {
    fn redacted_arguments(&self, arguments: &Map<String, Value>, schema: &Value) -> Box<RawValue> {
        let text = arguments_text(arguments, schema);
        shorten_arguments(self.sources.records.redact(text))
    }
}

impl CallRecord<'_> {
    /// Reserves a line of the audit file, before a call that must not be made without one. Returns
    /// whether there is room.
    pub(super) fn reserve_line(&mut self) -> bool {
        self.line = self.audit.reserve();
        self.line.is_some()
    }

    /// Records what a person has said about the call, if somebody was asked. Returns the output of a call
    /// that must not be made.
    pub(crate) fn approval(
        &mut self,
        approval: Result<Option<Approval>, NotApproved>,
    ) -> Result<(), CallOutput> {
        let (approval, output) = match approval {
            Ok(approval) => (approval, Ok(())),
            Err(NotApproved { approval, reason }) => {
                let output = CallOutput::failed(CallOutcome::Denied, reason);
                (Some(approval), Err(output))
            }
        };
        if let Some(entry) = &mut self.entry {
            entry.approval = approval;
        }
        output
    }

    /// Records how the call has ended.
    pub(crate) fn end(mut self, output: &CallOutput) {
        self.outcome = output.outcome.as_str();
        self.bytes = output.text.len();
    }
}

impl Drop for CallRecord<'_> {
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
