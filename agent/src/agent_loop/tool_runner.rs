//! Makes the calls of one turn.

mod source_call;

use std::time::Duration;

use bridge_protocol::{Query, QueryContent};
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use serde_json::value::RawValue;
use tokio::sync::Semaphore;

use super::approvals::{must_be_approved, wait_for_approval};
use super::boundary::PromptBoundary;
use super::call_activity::BusyCall;
use super::client_result::ClientResult;
use super::input::QueryInput;
use super::tool_call_log::ToolCallLog;
use super::tool_catalog::{Executor, ToolCatalog, ToolInfo};
use super::truncate::truncate;
use crate::failure::Failure;
use crate::model::{Call, CallResult};
use crate::text;
use crate::tools::{Approval, CallOutcome, CallOutput, NotApproved};

/// The additional time after a tool's own timeout, in which the bridge reports that timeout itself.
const BRIDGE_TIMEOUT_MARGIN: Duration = Duration::from_secs(1);

/// The maximum length of the error text that is sent to the page. The model receives the whole
/// text.
const MAX_ERROR_CHARS: usize = 300;

/// The maximum size of a source's result that is sent to the page, in bytes. The model receives more.
const MAX_SOURCE_RESULT_BYTES: usize = 2048;

/// What the model is told in addition about a call that was not approved.
const DENIED_REMEDY: &str =
    "Do not request it again: go on without it, or say what could not be done.";

/// Makes the calls of one turn, and reports each to the page.
#[derive(Debug)]
pub(super) struct ToolRunner<'a> {
    input: QueryInput<'a>,
    catalog: &'a ToolCatalog,
    boundary: &'a PromptBoundary,
    /// What calls of the page's tools need, so that at most `parallel_calls` are made at the same time.
    permits: Semaphore,
}

/// A call with its index in the turn and its number in the query.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexedCall<'a> {
    pub(super) index: usize,
    pub(super) number: usize,
    pub(super) call: &'a Call,
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
    outcome: CallOutcome,
    /// The result for the final event, if the call was made by the page or by a source.
    logged: Option<Option<Box<RawValue>>>,
}

impl<'a> ToolRunner<'a> {
    pub(super) fn new(
        input: QueryInput<'a>,
        catalog: &'a ToolCatalog,
        boundary: &'a PromptBoundary,
    ) -> Self {
        Self {
            input,
            catalog,
            boundary,
            permits: Semaphore::new(input.limits.parallel_calls),
        }
    }

    /// Makes calls, of which the page gets at most `parallel_calls` at the same time, and puts the
    /// result of each at its index.
    pub(super) async fn run_parallel<'b>(
        &'b self,
        calls: &[IndexedCall<'b>],
        results: &mut [Option<CallResult>],
        call_log: &mut ToolCallLog,
    ) -> Result<(), Failure> {
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
    ) -> Result<CallResult, Failure> {
        let EndedCall { result, .. } = self.run(call).await?;
        Ok(self.log(call.call, result, call_log))
    }

    /// Records a call if the page or a source has made it.
    fn log(&self, call: &Call, finished: FinishedCall, call_log: &mut ToolCallLog) -> CallResult {
        if let Some(result) = finished.logged {
            let tool = self.catalog.registered_name(&call.tool).to_owned();
            let source = self.source_of(&call.tool);
            call_log.add(tool, source, &call.arguments, result);
        }
        finished.result
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
        let max_calls = self.input.limits.max_calls;
        let reason = format!("a query may make {max_calls} calls, and they are made.");
        reject_calls(calls, &reason, results);
        let text = format!(
            "The {max_calls} calls of this query are made: the model has to answer with what it knows"
        );
        self.send_progress(QueryContent::Note { text }).await;
    }

    /// Makes a call and reports it. It is busy from now on, before the returned future is polled: no
    /// other call of the turn can look like the last.
    fn run<'b>(&'b self, call: IndexedCall<'b>) -> BoxFuture<'b, Result<EndedCall<'b>, Failure>> {
        let busy = self.input.state.activity.begin();
        // It is boxed: otherwise the compiler cannot prove that it is `Send`.
        async move {
            let result = self.execute(call, &busy).await?;
            self.report_end(call, &result, busy).await;
            Ok(EndedCall { call, result })
        }
        .boxed()
    }

    async fn execute(
        &self,
        call: IndexedCall<'_>,
        busy: &BusyCall<'_>,
    ) -> Result<FinishedCall, Failure> {
        let IndexedCall { number, call, .. } = call;
        let Some(info) = self.catalog.info(&call.tool) else {
            return Ok(self.refuse_unknown(number, call, busy).await);
        };
        match info.executor {
            Executor::Client => Ok(self.wait_for_client(number, call, busy).await),
            Executor::Agent => {
                self.report_start(number, call, busy).await;
                Ok(self.update_state(call))
            }
            Executor::Source => Ok(self.call_source(number, call, info, busy).await),
            Executor::Page | Executor::Answer => self.call_page(number, call, info, busy).await,
        }
    }

    /// Makes a call of a tool of the page, once the person and the limit of parallel calls allow it.
    async fn call_page(
        &self,
        number: usize,
        call: &Call,
        info: &ToolInfo,
        busy: &BusyCall<'_>,
    ) -> Result<FinishedCall, Failure> {
        let mut record = self.input.sources.record_page_call(
            &info.registered_name,
            &call.arguments,
            self.catalog.input_schema(&call.tool),
        );
        let approval = self.ask_person(number, call, info, busy).await;
        if let Err(output) = record.approval(approval) {
            record.end(&output);
            return Ok(self.finished(call, output, None));
        }
        // The semaphore is never closed.
        let _permit = self.permits.acquire().await;
        self.report_start(number, call, busy).await;
        self.input.state.meter.count_call();
        let mut output = self.call_with_timeout(call, info).await?;
        record.end(&output);
        let page_result = output.page_result.take();
        Ok(self.finished(call, output, Some(page_result)))
    }

    /// Waits for the result of a call that the client makes.
    async fn wait_for_client(
        &self,
        number: usize,
        call: &Call,
        busy: &BusyCall<'_>,
    ) -> FinishedCall {
        // It is open before it is reported: who reads the report wants to know who makes the call.
        let open = self.input.state.client_calls.open(&number.to_string());
        self.input.state.meter.count_call();
        busy.count_report();
        let waiting = busy.wait_outside();
        self.send_progress(self.started(number, call)).await;
        // The timeout is that of the query.
        let result = open.wait().await;
        let ClientResult {
            text,
            is_error,
            pictures,
        } = result.unwrap_or_else(ClientResult::not_made);
        drop(waiting);
        let outcome = if is_error {
            CallOutcome::ToolError
        } else {
            CallOutcome::Ok
        };
        let output = CallOutput {
            outcome,
            pictures,
            ..CallOutput::from_text(text)
        };
        self.finished(call, output, None)
    }

    /// Changes the state that the application shares.
    fn update_state(&self, call: &Call) -> FinishedCall {
        self.input.state.meter.count_call();
        let output = match self.input.state.shared.update(&call.arguments) {
            Ok(()) => CallOutput::from_text("The state is changed."),
            Err(reason) => CallOutput::from_error(reason),
        };
        self.finished(call, output, None)
    }

    fn finished(
        &self,
        call: &Call,
        output: CallOutput,
        logged: Option<Option<Box<RawValue>>>,
    ) -> FinishedCall {
        let is_error = output.is_error();
        let max_bytes = self.input.limits.max_tool_result_bytes;
        let text = truncate(output.text, max_bytes, self.boundary);
        let media = &self.input.state.media;
        FinishedCall {
            result: CallResult {
                media: media.filter(output.pictures, self.input.model),
                ..CallResult::new(call, text, is_error)
            },
            outcome: output.outcome,
            logged,
        }
    }

    /// Waits for the approval of a call, if it needs one. Fails if the call must not be made.
    async fn ask_person(
        &self,
        number: usize,
        call: &Call,
        info: &ToolInfo,
        busy: &BusyCall<'_>,
    ) -> Result<Option<Approval>, NotApproved> {
        let QueryInput {
            query,
            limits,
            state,
            ..
        } = self.input;
        if !self.must_be_approved(call, info, query) {
            return Ok(None);
        }
        let expires_in = limits.approval_timeout;
        let id = number.to_string();
        let open = state.approvals.open(&id);
        busy.count_report();
        let _waiting = busy.wait_outside();
        self.send_progress(QueryContent::ApprovalRequested {
            id,
            tool: info.registered_name.clone(),
            source: info.source().map(str::to_owned),
            arguments: call.arguments.clone(),
            expires_in_ms: u64::try_from(expires_in.as_millis()).unwrap_or(u64::MAX),
        })
        .await;
        let approval = wait_for_approval(open, expires_in).await;
        let reason = match approval {
            Approval::Granted => return Ok(Some(approval)),
            Approval::Denied => "The person did not approve this call.".to_owned(),
            Approval::Expired => {
                let expires_in = humantime::format_duration(expires_in);
                format!("Nobody approved this call within {expires_in}.")
            }
        };
        Err(NotApproved {
            approval,
            reason: format!("{reason} {DENIED_REMEDY}"),
        })
    }

    fn must_be_approved(&self, call: &Call, info: &ToolInfo, query: &Query) -> bool {
        let by_profile = info.offered.is_some() && self.input.sources.must_be_approved(info.class);
        by_profile || must_be_approved(&call.tool, info, query, &self.input.limits.ask)
    }

    /// Calls a tool. A call that exceeds its timeout is dropped, which cancels it at the bridge.
    /// The bridge enforces the timeout that a tool has set itself, because it can report more
    /// details.
    async fn call_with_timeout(&self, call: &Call, info: &ToolInfo) -> Result<CallOutput, Failure> {
        let own_timeout = info
            .own_timeout
            .map(|it| it.saturating_add(BRIDGE_TIMEOUT_MARGIN));
        let timeout = self
            .input
            .limits
            .call_timeout
            .max(own_timeout.unwrap_or_default());
        let page_tools = self.input.page_tools;
        let calling = page_tools.call(&info.call_name, call.arguments.clone());
        match tokio::time::timeout(timeout, calling).await {
            Ok(output) => output,
            Err(_) => {
                let reason = timeout_message(timeout);
                Ok(CallOutput::failed(CallOutcome::Timeout, reason))
            }
        }
    }

    /// Creates the result of a call of a tool that does not exist. Nothing is sent to the bridge.
    fn unknown_tool(&self, call: &Call) -> CallOutput {
        let names = self.catalog.names().join(", ");
        let tool = &call.tool;
        let reason = format!("There is no tool `{tool}`. There are: {names}");
        CallOutput::failed(CallOutcome::Unavailable, reason)
    }

    /// Returns the source of a tool, also if the query does not have the tool.
    fn source_of(&self, tool: &str) -> Option<String> {
        if self.catalog.info(tool).is_some() {
            return self.catalog.source(tool).map(str::to_owned);
        }
        let offered = self.input.sources.find(tool);
        offered.map(|offered| offered.source_name().to_owned())
    }

    async fn report_start(&self, number: usize, call: &Call, busy: &BusyCall<'_>) {
        busy.count_report();
        self.send_progress(self.started(number, call)).await;
    }

    fn started(&self, number: usize, call: &Call) -> QueryContent {
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

/// Rejects calls: the model receives the reason, and nothing is sent to the page.
pub(super) fn reject_calls(
    calls: &[IndexedCall<'_>],
    reason: &str,
    results: &mut [Option<CallResult>],
) {
    for IndexedCall { index, call, .. } in calls {
        let text = format!("Not called: {reason}");
        results[*index] = Some(CallResult::new(call, text, true));
    }
}

fn timeout_message(timeout: Duration) -> String {
    let timeout = humantime::format_duration(timeout);
    format!("The tool did not answer within {timeout}, and was cancelled.")
}
