//! The record of a call for the audit file and the metrics, which is made also if the call is
//! cancelled.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::access::SourceAccess;
use super::audit::{AuditEntry, LinePermit};
use super::offered_tool::OfferedTool;
use super::output::CallOutput;
use super::redaction::{arguments_text, shorten_arguments};
use crate::metrics::Metrics;

/// The source of the calls of pages in the audit file and in metrics.
const PAGE: &str = "page";

/// The outcome of a call that has not ended: the query was cancelled, or has timed out.
const CANCELLED: &str = "cancelled";

/// Records a call when it is dropped.
#[derive(Debug)]
pub(crate) struct CallRecord<'a> {
    source: &'a str,
    metrics: &'a Metrics,
    started_at: Instant,
    line: Option<(AuditEntry, LinePermit)>,
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
        let mut record = self.record(PAGE);
        if self.sources.records.audit.is_open() {
            match self.sources.records.audit.reserve() {
                Some(permit) => {
                    let schema = schema.unwrap_or(&Value::Null);
                    let entry = self.audit_entry(PAGE, tool, arguments, schema);
                    record.line = Some((entry, permit));
                }
                None => self.sources.records.metrics.count_lost_audit_line(),
            }
        }
        record
    }

    /// Begins the record of a call of a source. `None` if the audit file cannot be written.
    pub(super) fn record_source_call<'a>(
        &'a self,
        offered: &'a OfferedTool,
        arguments: &Map<String, Value>,
    ) -> Option<CallRecord<'a>> {
        let source = offered.source_name();
        let mut record = self.record(source);
        let permit = self.sources.records.audit.reserve()?;
        if self.sources.records.audit.is_open() {
            let tool = &offered.tool;
            let entry = self.audit_entry(source, &tool.name, arguments, tool.arguments.schema());
            record.line = Some((entry, permit));
        }
        Some(record)
    }

    fn record<'a>(&'a self, source: &'a str) -> CallRecord<'a> {
        CallRecord {
            source,
            metrics: &self.sources.records.metrics,
            started_at: Instant::now(),
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
        if let Some((mut entry, permit)) = self.line.take() {
            entry.end(self.outcome, duration, self.bytes);
            permit.write(&entry);
        }
    }
}
