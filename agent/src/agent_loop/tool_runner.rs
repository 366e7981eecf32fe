//! Makes the calls of one turn.

mod query_call;

use agent_tools::{AgentFailure, CallOutput, CallStatus, OfferedTool, UserShares, text};
use bridge_protocol::QueryContent;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use serde_json::value::RawValue;

use super::boundary::PromptBoundary;
use super::call_activity::BusyCall;
use super::indexed_call::IndexedCall;
use super::input::QueryInput;
use super::rejection::Rejection;
use super::tool_call_log::ToolCallLog;
use super::tool_catalog::ToolCatalog;
use super::trace_spans::begin_call;
use super::truncate::truncate;
use crate::model::{CallResult, ModelCall};

/// The maximum length of the error text that is sent to the page. The model receives the whole
/// text.
const MAX_ERROR_CHARS: usize = 300;

/// The maximum size of a source's result that is sent to the page, in bytes. The model receives more.
const MAX_SOURCE_RESULT_BYTES: usize = 2048;

/// Makes the calls of one turn, and reports each to the page.
#[derive(Debug)]
pub(super) struct ToolRunner<'a> {
    input: QueryInput<'a>,
    catalog: &'a ToolCatalog,
    boundary: &'a PromptBoundary,
    /// At most `parallel_calls` of the page's tools are made at the same time.
    page_shares: UserShares,
}

/// A call whose end was reported.
#[derive(Debug)]
struct EndedCall<'a> {
    call: IndexedCall<'a>,
    result: FinishedCall,
}

/// The result of a call, and how it has ended.
#[derive(Debug)]
struct FinishedCall {
    result: CallResult,
    outcome: CallStatus,
    /// The result for the final event, if the call was made by the page or by a source.
    logged: Option<Option<Box<RawValue>>>,
}

impl<'a> ToolRunner<'a> {
    pub(super) fn new(
        input: QueryInput<'a>,
        catalog: &'a ToolCatalog,
        boundary: &'a PromptBoundary,
    ) -> Self {
        let page_calls = input.limits.parallel_calls;
        Self {
            input,
            catalog,
            boundary,
            page_shares: UserShares::new(page_calls, page_calls),
        }
    }

    /// Makes calls, of which the page gets at most `parallel_calls` at the same time, and puts the
    /// result of each at its index.
    pub(super) async fn run_parallel<'b>(
        &'b self,
        calls: &[IndexedCall<'b>],
        results: &mut [Option<CallResult>],
        call_log: &mut ToolCallLog,
    ) -> Result<(), AgentFailure> {
        let calls = calls.iter().map(|call| self.run(*call));
        let mut running: FuturesUnordered<_> = calls.collect();
        while let Some(ended) = running.next().await {
            let EndedCall { call, result } = ended?;
            results[call.index] = Some(self.log(call.call, result, call_log));
        }
        Ok(())
    }

    /// Makes one call.
    pub(super) async fn run_single(
        &self,
        call: IndexedCall<'_>,
        call_log: &mut ToolCallLog,
    ) -> Result<CallResult, AgentFailure> {
        let EndedCall { result, .. } = self.run(call).await?;
        Ok(self.log(call.call, result, call_log))
    }

    /// Records a call if the page or a source has made it.
    fn log(
        &self,
        call: &ModelCall,
        finished: FinishedCall,
        call_log: &mut ToolCallLog,
    ) -> CallResult {
        if let Some(result) = finished.logged {
            let tool = self.catalog.registered_name(&call.tool).to_owned();
            let source = self.source_of(&call.tool);
            call_log.add(tool, source, &call.arguments, result);
        }
        finished.result
    }

    /// Ends a call that is not made, and returns its result. It is reported like any other: the page
    /// may have its arguments, and the client would make a call of a tool of the client that has no end.
    pub(super) async fn reject(&self, call: IndexedCall<'_>, rejection: Rejection) -> CallResult {
        let busy = self.input.state.activity.begin();
        busy.count_report();
        self.send_progress(self.started(call)).await;
        let output = CallOutput::failed(rejection.outcome, rejection.text);
        let finished = self.finished(call.call, output, None);
        self.report_end(call, &finished, busy).await;
        finished.result
    }

    /// Makes a call and reports it. It is busy from now on, before the returned future is polled: no
    /// other call of the turn can look like the last.
    fn run<'b>(
        &'b self,
        call: IndexedCall<'b>,
    ) -> BoxFuture<'b, Result<EndedCall<'b>, AgentFailure>> {
        let busy = self.input.state.activity.begin();
        // It is boxed: otherwise the compiler cannot prove that it is `Send`.
        async move {
            let tool = &call.call.tool;
            let name = self.catalog.registered_name(tool);
            let span = begin_call(name, || self.source_of(tool));
            let result = span.scope().run(self.execute(call, &busy)).await;
            match &result {
                Ok(finished) if finished.result.is_error => span.fail(finished.outcome.as_str()),
                Ok(_) => {}
                Err(failure) => span.fail(failure.code.as_str()),
            }
            drop(span);
            let result = result?;
            self.report_end(call, &result, busy).await;
            Ok(EndedCall { call, result })
        }
        .boxed()
    }

    fn finished(
        &self,
        call: &ModelCall,
        output: CallOutput,
        logged: Option<Option<Box<RawValue>>>,
    ) -> FinishedCall {
        let is_error = output.is_error();
        let mut result = CallResult::new(call, output.text, is_error);
        let cut = truncate(&mut result.text, self.input.limits.max_tool_result_bytes);
        let filter = &self.input.state.media;
        let (media, left_out) = filter.filter(output.pictures, self.input.model);
        result.media = media;
        for note in cut.iter().chain(&left_out) {
            self.boundary.append_note(&mut result.notes, note);
        }
        FinishedCall {
            result,
            outcome: output.outcome,
            logged,
        }
    }

    /// Creates the result of a call of a tool that does not exist. Nothing is sent to the bridge.
    fn unknown_tool(&self, call: &ModelCall) -> CallOutput {
        let names = self.catalog.names().join(", ");
        let tool = &call.tool;
        let reason = format!("There is no tool `{tool}`. There are: {names}");
        CallOutput::failed(CallStatus::Unavailable, reason)
    }

    /// Returns the source of a tool, also if the query does not have the tool.
    fn source_of(&self, tool: &str) -> Option<String> {
        let withheld = || self.catalog.withheld(tool).map(OfferedTool::source_name);
        let source = self.catalog.source(tool).or_else(withheld);
        source.map(str::to_owned)
    }

    fn started(&self, indexed: IndexedCall<'_>) -> QueryContent {
        let IndexedCall { number, call, .. } = indexed;
        QueryContent::ToolStarted {
            id: number.to_string(),
            tool: self.catalog.registered_name(&call.tool).to_owned(),
            source: self.source_of(&call.tool),
            arguments: call.arguments.clone(),
        }
    }

    async fn report_end(&self, call: IndexedCall<'_>, finished: &FinishedCall, busy: BusyCall<'_>) {
        let IndexedCall { number, call, .. } = call;
        let FinishedCall {
            result, outcome, ..
        } = finished;
        let id = number.to_string();
        self.input.state.results.record(&id, &result.text);
        let source = self.source_of(&call.tool);
        // The page has not seen what a source returns.
        let is_new = source.is_some() && !result.is_error;
        busy.count_report();
        drop(busy);
        self.send_progress(QueryContent::ToolFinished {
            id,
            tool: self.catalog.registered_name(&call.tool).to_owned(),
            source,
            result: is_new.then(|| text::shorten_bytes(&result.text, MAX_SOURCE_RESULT_BYTES)),
            is_error: result.is_error,
            error: result
                .is_error
                .then(|| text::shorten(&result.text, MAX_ERROR_CHARS)),
            outcome: result.is_error.then(|| outcome.as_str().to_owned()),
        })
        .await;
    }

    /// Sends progress to the page. A closed channel is not an error: a receiver that does not need
    /// the answer any more drops it.
    async fn send_progress(&self, content: QueryContent) {
        let _ = self.input.progress.send(content).await;
    }
}
