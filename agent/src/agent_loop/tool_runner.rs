//! The calls of one turn.

use std::time::Duration;

use bridge_protocol::QueryContent;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::prompt::PromptBoundary;
use crate::agent_loop::tool_call_log::ToolCallLog;
use crate::agent_loop::tool_catalog::ToolCatalog;
use crate::agent_loop::truncate::truncate;
use crate::bridge::{BridgeTools, PageCallResult};
use crate::config::Limits;
use crate::failure::Failure;
use crate::model::{Call, CallResult};

/// Makes the calls of one turn.
#[derive(Debug)]
pub(super) struct ToolRunner<'a> {
    pub(super) bridge: &'a BridgeTools,
    pub(super) catalog: &'a ToolCatalog,
    pub(super) limits: &'a Limits,
    pub(super) boundary: &'a PromptBoundary,
    pub(super) progress: &'a mpsc::Sender<QueryContent>,
}

/// For the bridge to say that a tool has not kept to its own time.
const BRIDGE_TIMEOUT_MARGIN: Duration = Duration::from_secs(1);

/// A call with its place in the turn, and its number in the query.
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
    /// What the page answered, if the bridge was asked.
    page_result: Option<Option<Box<RawValue>>>,
}

impl ToolRunner<'_> {
    /// Makes calls, a few at the same time, and puts each result in its place.
    pub(super) async fn run_parallel(
        &self,
        calls: &[IndexedCall<'_>],
        results: &mut [Option<CallResult>],
        record: &mut ToolCallLog,
    ) -> Result<(), Failure> {
        // A list of boxes: of anything lighter the compiler cannot see that it may go to a thread.
        let running: Vec<_> = calls.iter().map(|call| self.run_boxed(*call)).collect();
        let mut running = stream::iter(running).buffer_unordered(self.limits.parallel_calls);
        while let Some((numbered, ended)) = running.next().await {
            let result = self.finish(numbered, ended?, record).await;
            results[numbered.index] = Some(result);
        }
        Ok(())
    }

    fn run_boxed<'b>(
        &'b self,
        numbered: IndexedCall<'b>,
    ) -> BoxFuture<'b, (IndexedCall<'b>, Result<FinishedCall, Failure>)> {
        async move { (numbered, self.execute(numbered).await) }.boxed()
    }

    /// Makes one call while no other runs.
    pub(super) async fn run_single(
        &self,
        numbered: IndexedCall<'_>,
        record: &mut ToolCallLog,
    ) -> Result<CallResult, Failure> {
        let ended = self.execute(numbered).await?;
        Ok(self.finish(numbered, ended, record).await)
    }

    /// Says that these calls are too many.
    pub(super) async fn reject_excess(
        &self,
        calls: &[IndexedCall<'_>],
        results: &mut [Option<CallResult>],
    ) {
        let [_, ..] = calls else { return };
        let most = self.limits.max_calls;
        let why = format!("a query may make {most} calls, and they are made.");
        reject_calls(calls, &why, results);
        let text = format!(
            "The {most} calls of this query are made: the model has to answer with what it knows"
        );
        self.send_progress(QueryContent::Note { text }).await;
    }

    async fn execute(&self, numbered: IndexedCall<'_>) -> Result<FinishedCall, Failure> {
        let IndexedCall { number, call, .. } = numbered;
        self.send_progress(QueryContent::ToolStarted {
            id: number.to_string(),
            tool: self.registered_name(call),
            arguments: call.arguments.clone(),
        })
        .await;
        let (called, answered) = match self.catalog.info(&call.tool) {
            None => (self.unknown_tool(call), None),
            Some(known) => {
                let mut called = self.call_with_timeout(call, known.own_timeout).await?;
                let answered = called.page_result.take();
                (called, Some(answered))
            }
        };
        let result = CallResult {
            id: call.id.clone(),
            tool: call.tool.clone(),
            text: truncate(
                called.text,
                self.limits.max_tool_result_bytes,
                self.boundary,
            ),
            is_error: called.is_error,
        };
        Ok(FinishedCall {
            result,
            page_result: answered,
        })
    }

    /// A call that takes too long is dropped, which cancels it at the bridge. A tool that says that
    /// it takes longer than others is watched by the bridge, which says more of what happened.
    async fn call_with_timeout(
        &self,
        call: &Call,
        takes: Option<Duration>,
    ) -> Result<PageCallResult, Failure> {
        let own = takes.map(|takes| takes.saturating_add(BRIDGE_TIMEOUT_MARGIN));
        let within = self.limits.call_timeout.max(own.unwrap_or_default());
        let calling = self.bridge.call(&call.tool, call.arguments.clone());
        match tokio::time::timeout(within, calling).await {
            Ok(called) => called,
            Err(_) => Ok(PageCallResult::from_error(&timeout_message(within))),
        }
    }

    /// The page never hears of it.
    fn unknown_tool(&self, call: &Call) -> PageCallResult {
        let names = self.catalog.names().join(", ");
        let tool = &call.tool;
        PageCallResult::from_error(&format!("There is no tool `{tool}`. There are: {names}"))
    }

    async fn finish(
        &self,
        numbered: IndexedCall<'_>,
        ended: FinishedCall,
        record: &mut ToolCallLog,
    ) -> CallResult {
        let IndexedCall { number, call, .. } = numbered;
        let FinishedCall {
            result,
            page_result: answered,
        } = ended;
        if let Some(answered) = answered {
            record.add(self.registered_name(call), &call.arguments, answered);
        }
        self.send_progress(QueryContent::ToolFinished {
            id: number.to_string(),
            tool: self.registered_name(call),
            is_error: result.is_error,
            error: result.is_error.then(|| truncate_error(&result.text)),
        })
        .await;
        result
    }

    /// As registered, where it is.
    fn registered_name(&self, call: &Call) -> String {
        let known = self.catalog.info(&call.tool);
        known
            .map_or(&call.tool, |known| &known.registered_name)
            .clone()
    }

    /// Nobody listening is no failure: whoever does not want the answer drops it.
    async fn send_progress(&self, content: QueryContent) {
        let _ = self.progress.send(content).await;
    }
}

/// The page does not hear of these calls, and the model hears why.
pub(super) fn reject_calls(
    calls: &[IndexedCall<'_>],
    why: &str,
    results: &mut [Option<CallResult>],
) {
    for IndexedCall {
        index: place, call, ..
    } in calls
    {
        results[*place] = Some(CallResult {
            id: call.id.clone(),
            tool: call.tool.clone(),
            text: format!("Not called: {why}"),
            is_error: true,
        });
    }
}

fn timeout_message(within: Duration) -> String {
    let within = humantime::format_duration(within);
    format!("The tool did not answer within {within}, and was cancelled.")
}

/// What a person reads of a failure: the whole is for the model.
const MAX_ERROR_CHARS: usize = 300;

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
        let short = truncate_error(&"ä".repeat(MAX_ERROR_CHARS + 1));
        assert_eq!(short.chars().count(), MAX_ERROR_CHARS + 1);
        assert!(short.ends_with('…'));
    }
}
