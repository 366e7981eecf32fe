//! Makes the calls of one turn.

use std::time::Duration;

use bridge_protocol::QueryContent;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::boundary::PromptBoundary;
use super::tool_call_log::ToolCallLog;
use super::tool_catalog::ToolCatalog;
use super::truncate::truncate;
use super::usage_meter::UsageMeter;
use crate::bridge::{BridgeTools, PageCallResult};
use crate::config::Limits;
use crate::failure::Failure;
use crate::model::{Call, CallResult};

/// The additional time after a tool's own timeout, in which the bridge reports that timeout itself.
const BRIDGE_TIMEOUT_MARGIN: Duration = Duration::from_secs(1);

/// The maximum length of the error text that is sent to the page. The model receives the whole
/// text.
const MAX_ERROR_CHARS: usize = 300;

/// Makes the calls of one turn, and reports each to the page.
#[derive(Debug)]
pub(super) struct ToolRunner<'a> {
    pub(super) bridge: &'a BridgeTools,
    pub(super) catalog: &'a ToolCatalog,
    pub(super) limits: &'a Limits,
    pub(super) boundary: &'a PromptBoundary,
    pub(super) progress: &'a mpsc::Sender<QueryContent>,
    pub(super) meter: &'a UsageMeter,
}

/// A call with its index in the turn and its number in the query.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexedCall<'a> {
    pub(super) index: usize,
    pub(super) number: usize,
    pub(super) call: &'a Call,
}

/// A call that has ended.
#[derive(Debug)]
struct FinishedCall {
    result: CallResult,
    /// The page's result, if the call was sent to the bridge.
    page_result: Option<Option<Box<RawValue>>>,
}

impl ToolRunner<'_> {
    /// Makes calls, at most `parallel_calls` at the same time, and puts the result of each at its
    /// index.
    pub(super) async fn run_parallel(
        &self,
        calls: &[IndexedCall<'_>],
        results: &mut [Option<CallResult>],
        call_log: &mut ToolCallLog,
    ) -> Result<(), Failure> {
        // The futures are boxed: otherwise the compiler cannot prove that they are `Send`.
        let running: Vec<_> = calls.iter().map(|call| self.run_boxed(*call)).collect();
        let mut running = stream::iter(running).buffer_unordered(self.limits.parallel_calls);
        while let Some((call, finished)) = running.next().await {
            let result = self.finish(call, finished?, call_log).await;
            results[call.index] = Some(result);
        }
        Ok(())
    }

    fn run_boxed<'b>(
        &'b self,
        call: IndexedCall<'b>,
    ) -> BoxFuture<'b, (IndexedCall<'b>, Result<FinishedCall, Failure>)> {
        async move { (call, self.execute(call).await) }.boxed()
    }

    /// Makes one call.
    pub(super) async fn run_single(
        &self,
        call: IndexedCall<'_>,
        call_log: &mut ToolCallLog,
    ) -> Result<CallResult, Failure> {
        let finished = self.execute(call).await?;
        Ok(self.finish(call, finished, call_log).await)
    }

    /// Rejects calls over the limit of the query.
    pub(super) async fn reject_excess(
        &self,
        calls: &[IndexedCall<'_>],
        results: &mut [Option<CallResult>],
    ) {
        if calls.is_empty() {
            return;
        }
        let max_calls = self.limits.max_calls;
        let reason = format!("a query may make {max_calls} calls, and they are made.");
        reject_calls(calls, &reason, results);
        let text = format!(
            "The {max_calls} calls of this query are made: the model has to answer with what it knows"
        );
        self.send_progress(QueryContent::Note { text }).await;
    }

    async fn execute(&self, call: IndexedCall<'_>) -> Result<FinishedCall, Failure> {
        let IndexedCall { number, call, .. } = call;
        self.send_progress(QueryContent::ToolStarted {
            id: number.to_string(),
            tool: self.catalog.registered_name(&call.tool).to_owned(),
            arguments: call.arguments.clone(),
        })
        .await;
        self.meter.count_call();
        let (result, page_result) = match self.catalog.info(&call.tool) {
            None => (self.unknown_tool(call), None),
            Some(info) => {
                let mut result = self.call_with_timeout(call, info.own_timeout).await?;
                let page_result = result.page_result.take();
                (result, Some(page_result))
            }
        };
        let max_bytes = self.limits.max_tool_result_bytes;
        Ok(FinishedCall {
            result: CallResult {
                id: call.id.clone(),
                tool: call.tool.clone(),
                text: truncate(result.text, max_bytes, self.boundary),
                is_error: result.is_error,
            },
            page_result,
        })
    }

    /// Calls a tool. A call that exceeds its timeout is dropped, which cancels it at the bridge.
    /// The bridge enforces the timeout that a tool has set itself, because it can report more
    /// details.
    async fn call_with_timeout(
        &self,
        call: &Call,
        own_timeout: Option<Duration>,
    ) -> Result<PageCallResult, Failure> {
        let own_timeout = own_timeout.map(|it| it.saturating_add(BRIDGE_TIMEOUT_MARGIN));
        let timeout = self
            .limits
            .call_timeout
            .max(own_timeout.unwrap_or_default());
        let calling = self.bridge.call(&call.tool, call.arguments.clone());
        match tokio::time::timeout(timeout, calling).await {
            Ok(result) => result,
            Err(_) => Ok(PageCallResult::from_error(&timeout_message(timeout))),
        }
    }

    /// Creates the result of a call of a tool that does not exist. Nothing is sent to the bridge.
    fn unknown_tool(&self, call: &Call) -> PageCallResult {
        let names = self.catalog.names().join(", ");
        let tool = &call.tool;
        PageCallResult::from_error(&format!("There is no tool `{tool}`. There are: {names}"))
    }

    async fn finish(
        &self,
        call: IndexedCall<'_>,
        finished: FinishedCall,
        call_log: &mut ToolCallLog,
    ) -> CallResult {
        let IndexedCall { number, call, .. } = call;
        let FinishedCall {
            result,
            page_result,
        } = finished;
        if let Some(page_result) = page_result {
            call_log.add(
                self.catalog.registered_name(&call.tool).to_owned(),
                &call.arguments,
                page_result,
            );
        }
        self.send_progress(QueryContent::ToolFinished {
            id: number.to_string(),
            tool: self.catalog.registered_name(&call.tool).to_owned(),
            is_error: result.is_error,
            error: result.is_error.then(|| truncate_error(&result.text)),
            outcome: None,
        })
        .await;
        result
    }

    /// Sends progress to the page. A closed channel is not an error: a receiver that does not need
    /// the answer any more drops it.
    async fn send_progress(&self, content: QueryContent) {
        let _ = self.progress.send(content).await;
    }
}

/// Rejects calls: the model receives the reason, and nothing is sent to the page.
pub(super) fn reject_calls(
    calls: &[IndexedCall<'_>],
    reason: &str,
    results: &mut [Option<CallResult>],
) {
    for IndexedCall { index, call, .. } in calls {
        results[*index] = Some(CallResult {
            id: call.id.clone(),
            tool: call.tool.clone(),
            text: format!("Not called: {reason}"),
            is_error: true,
        });
    }
}

fn timeout_message(timeout: Duration) -> String {
    let timeout = humantime::format_duration(timeout);
    format!("The tool did not answer within {timeout}, and was cancelled.")
}

fn truncate_error(error: &str) -> String {
    match error.char_indices().nth(MAX_ERROR_CHARS) {
        Some((end, _)) => format!("{}…", &error[..end]),
        None => error.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_error_is_truncated_for_the_page() {
        assert_eq!(truncate_error("no"), "no");
        let truncated = truncate_error(&"ä".repeat(MAX_ERROR_CHARS + 1));
        assert_eq!(truncated.chars().count(), MAX_ERROR_CHARS + 1);
        assert!(truncated.ends_with('…'));
    }
}
