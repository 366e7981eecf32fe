//! The tool calls in the final message of a query.

use bridge_protocol::QueryToolCall;
use serde_json::value::{RawValue, to_raw_value};

use crate::realm::{CallFailure, CallOutcome, PageAnswer, PageRequest};

/// The maximum number of tool calls in the final message of a query.
const MAX_TOOL_CALLS: usize = 1024;

/// The memory that a tool call needs in addition to its texts.
const TOOL_CALL_OVERHEAD_BYTES: usize = 64;

/// The finished tool calls of a query: those of the page, in the order in which they ended, then
/// those that only the agent knows.
#[derive(Debug)]
pub(in crate::realm) struct ToolCalls {
    calls: Vec<QueryToolCall>,
    bytes: usize,
    max_bytes: usize,
}

impl ToolCalls {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            calls: Vec::new(),
            bytes: 0,
            max_bytes,
        }
    }

    /// Records a finished call. If `max_bytes` is exceeded, its result, and then also its
    /// arguments, are replaced by a short note or an empty object.
    pub(in crate::realm) fn record(&mut self, request: &PageRequest, outcome: &CallOutcome) {
        let PageRequest::Tool { tool, input } = request else {
            return;
        };
        self.push(tool.name(), None, input, outcome_bytes(outcome), || {
            raw_result(outcome)
        });
    }

    /// Appends the calls of the agent to tools that are not those of the page, which the bridge
    /// does not know. They have a source.
    pub(in crate::realm) fn append_foreign(&mut self, calls: Vec<QueryToolCall>) {
        for call in calls {
            let Some(source) = &call.source else {
                continue;
            };
            let size = call.result.as_ref().map_or(0, |result| result.get().len());
            self.push(&call.tool, Some(source), &call.arguments, size, || {
                call.result.clone()
            });
        }
    }

    /// Adds a call whose result has this size.
    fn push(
        &mut self,
        tool: &str,
        source: Option<&String>,
        arguments: &RawValue,
        result_bytes: usize,
        result: impl FnOnce() -> Option<Box<RawValue>>,
    ) {
        let overhead = tool.len() + source.map_or(0, String::len) + TOOL_CALL_OVERHEAD_BYTES;
        let fits = |bytes: usize| self.bytes + overhead + bytes <= self.max_bytes;
        // The agent chooses these names.
        let is_too_long = source.is_some() && !fits(0);
        if self.calls.len() == MAX_TOOL_CALLS || is_too_long {
            return;
        }
        let argument_bytes = arguments.get().len();
        let (arguments, result) = if fits(argument_bytes + result_bytes) {
            (arguments.to_owned(), result())
        } else if fits(argument_bytes) {
            (arguments.to_owned(), omission_note(result_bytes))
        } else {
            (
                RawValue::from_string("{}".to_owned()).unwrap_or_default(),
                omission_note(result_bytes),
            )
        };
        let result_bytes = result.as_ref().map_or(0, |result| result.get().len());
        self.bytes += overhead + arguments.get().len() + result_bytes;
        self.calls.push(QueryToolCall {
            tool: tool.to_owned(),
            arguments,
            result,
            source: source.cloned(),
        });
    }

    pub(in crate::realm) fn take(&mut self) -> Vec<QueryToolCall> {
        std::mem::take(&mut self.calls)
    }
}

fn omission_note(bytes: usize) -> Option<Box<RawValue>> {
    let note = format!("left out: {bytes} bytes, more than `max_query_bytes` has room for");
    to_raw_value(&note).ok()
}

fn outcome_bytes(outcome: &CallOutcome) -> usize {
    match outcome {
        CallOutcome::Answered(answer) => answer.bytes(),
        CallOutcome::Failed(failure) => {
            let data = failure.data.as_ref().map_or(0, |data| data.get().len());
            failure.message.len() + data
        }
    }
}

/// The result of a call as JSON, verbatim as the page wrote it if possible.
fn raw_result(outcome: &CallOutcome) -> Option<Box<RawValue>> {
    match outcome {
        CallOutcome::Answered(PageAnswer::Value(value)) => value.as_ref()?.to_raw_value(),
        CallOutcome::Answered(PageAnswer::Content {
            content,
            structured,
            meta,
        }) => {
            #[derive(serde::Serialize)]
            #[serde(rename_all = "camelCase")]
            struct Whole<'a> {
                content: &'a RawValue,
                #[serde(skip_serializing_if = "Option::is_none")]
                structured_content: Option<&'a RawValue>,
                #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
                meta: Option<&'a RawValue>,
            }
            let whole = Whole {
                content,
                structured_content: structured.as_deref(),
                meta: meta.as_deref(),
            };
            to_raw_value(&whole).ok()
        }
        CallOutcome::Failed(failure) => raw_failure(failure),
    }
}

/// The failure of a call as JSON. Some pages fail with a whole result, which is in the failure's
/// data.
fn raw_failure(failure: &CallFailure) -> Option<Box<RawValue>> {
    let is_whole = |data: &RawValue| {
        serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(data.get())
            .is_ok_and(|fields| fields.contains_key("error"))
    };
    if let Some(data) = failure.data.as_ref().filter(|data| is_whole(data)) {
        return Some(data.clone());
    }
    let code = failure.code.as_str();
    to_raw_value(&serde_json::json!({ "error": failure.message, "code": code })).ok()
}
