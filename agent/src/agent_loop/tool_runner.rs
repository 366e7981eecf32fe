//! Makes the calls of one turn.

use std::time::Duration;

use bridge_protocol::QueryContent;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::value::RawValue;

use super::approvals::{Approval, must_be_approved};
use super::boundary::PromptBoundary;
use super::call_activity::BusyCall;
use super::client_calls::ClientResult;
use super::input::QueryInput;
use super::tool_call_log::ToolCallLog;
use super::tool_catalog::{Executor, ToolCatalog, ToolInfo};
use super::truncate::truncate;
use crate::bridge::PageCallResult;
use crate::failure::Failure;
use crate::model::{Call, CallResult};

/// The additional time after a tool's own timeout, in which the bridge reports that timeout itself.
const BRIDGE_TIMEOUT_MARGIN: Duration = Duration::from_secs(1);

/// The maximum length of the error text that is sent to the page. The model receives the whole
/// text.
const MAX_ERROR_CHARS: usize = 300;

/// What the model is told in addition about a call that was not approved.
const DENIED_REMEDY: &str =
    "Do not request it again: go on without it, or say what could not be done.";

/// Makes the calls of one turn, and reports each to the page.
#[derive(Debug)]
pub(super) struct ToolRunner<'a> {
    pub(super) input: QueryInput<'a>,
    pub(super) catalog: &'a ToolCatalog,
    pub(super) boundary: &'a PromptBoundary,
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
    outcome: CallOutcome,
    /// The page's result, if the call was sent to the bridge.
    page_result: Option<Option<Box<RawValue>>>,
}

/// How a call has ended, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallOutcome {
    Ok,
    ToolError,
    Denied,
    Timeout,
    /// There is no such tool.
    Unavailable,
}

impl CallOutcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ToolError => "tool_error",
            Self::Denied => "denied",
            Self::Timeout => "timeout",
            Self::Unavailable => "unavailable",
        }
    }
}

impl ToolRunner<'_> {
    /// Makes calls, at most `parallel_calls` at the same time, and puts the result of each at its
    /// index.
    pub(super) async fn run_parallel<'b>(
        &'b self,
        calls: &[IndexedCall<'b>],
        results: &mut [Option<CallResult>],
        call_log: &mut ToolCallLog,
    ) -> Result<(), Failure> {
        // The futures are boxed: otherwise the compiler cannot prove that they are `Send`.
        let (client_calls, other_calls): (Vec<_>, Vec<_>) = calls
            .iter()
            .partition(|call| self.is_client_call(call.call));
        let run_all = |calls: Vec<IndexedCall<'b>>| {
            let running = calls.into_iter().map(|call| self.run_boxed(call));
            stream::iter(running.collect::<Vec<_>>())
        };
        // The client makes its calls elsewhere, and all together.
        let client_call_count = client_calls.len().max(1);
        let mut running = stream::select(
            run_all(other_calls).buffer_unordered(self.input.limits.parallel_calls),
            run_all(client_calls).buffer_unordered(client_call_count),
        );
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
        let max_calls = self.input.limits.max_calls;
        let reason = format!("a query may make {max_calls} calls, and they are made.");
        reject_calls(calls, &reason, results);
        let text = format!(
            "The {max_calls} calls of this query are made: the model has to answer with what it knows"
        );
        self.send_progress(QueryContent::Note { text }).await;
    }

    async fn execute(&self, call: IndexedCall<'_>) -> Result<FinishedCall, Failure> {
        let IndexedCall { number, call, .. } = call;
        let info = self.catalog.info(&call.tool);
        let busy = self.input.state.activity.begin();
        let denied = match info {
            Some(info) => self.ask_person(number, call, info, &busy).await,
            None => None,
        };
        if let Some(reason) = denied {
            let result = PageCallResult::from_error(&reason);
            return Ok(self.finished(call, result, CallOutcome::Denied, None));
        }
        let executor = info.map(|info| info.executor);
        if executor == Some(Executor::Client) {
            return Ok(self.wait_for_client(number, call, &busy).await);
        }
        self.send_started(number, call).await;
        if executor == Some(Executor::Agent) {
            return Ok(self.update_state(call));
        }
        let Some(info) = info else {
            let result = self.unknown_tool(call);
            return Ok(self.finished(call, result, CallOutcome::Unavailable, None));
        };
        self.input.state.meter.count_call();
        let (mut result, outcome) = self.call_with_timeout(call, info.own_timeout).await?;
        let page_result = result.page_result.take();
        Ok(self.finished(call, result, outcome, Some(page_result)))
    }

    async fn send_started(&self, number: usize, call: &Call) {
        self.send_progress(QueryContent::ToolStarted {
            id: number.to_string(),
            tool: self.catalog.registered_name(&call.tool).to_owned(),
            arguments: call.arguments.clone(),
        })
        .await;
    }

    fn is_client_call(&self, call: &Call) -> bool {
        self.catalog
            .info(&call.tool)
            .is_some_and(|it| it.executor == Executor::Client)
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
        let waiting = busy.wait_outside();
        self.send_started(number, call).await;
        let ClientResult {
            text,
            is_error,
            pictures,
        } = open.wait().await;
        drop(waiting);
        let outcome = if is_error {
            CallOutcome::ToolError
        } else {
            CallOutcome::Ok
        };
        let result = PageCallResult {
            text,
            is_error,
            page_result: None,
            pictures,
        };
        self.finished(call, result, outcome, None)
    }

    /// Changes the state that the application shares.
    fn update_state(&self, call: &Call) -> FinishedCall {
        self.input.state.meter.count_call();
        match self.input.state.shared.update(&call.arguments) {
            Ok(()) => {
                let result = PageCallResult {
                    text: "The state is changed.".to_owned(),
                    is_error: false,
                    page_result: None,
                    pictures: Vec::new(),
                };
                self.finished(call, result, CallOutcome::Ok, None)
            }
            Err(reason) => {
                let result = PageCallResult::from_error(reason);
                self.finished(call, result, CallOutcome::ToolError, None)
            }
        }
    }

    fn finished(
        &self,
        call: &Call,
        result: PageCallResult,
        outcome: CallOutcome,
        page_result: Option<Option<Box<RawValue>>>,
    ) -> FinishedCall {
        let max_bytes = self.input.limits.max_tool_result_bytes;
        FinishedCall {
            result: CallResult {
                id: call.id.clone(),
                tool: call.tool.clone(),
                text: truncate(result.text, max_bytes, self.boundary),
                is_error: result.is_error,
                media: self
                    .input
                    .state
                    .media
                    .filter(result.pictures, self.input.model),
            },
            outcome,
            page_result,
        }
    }

    /// Waits for the approval of a call that needs one. Returns the reason for the model if the call
    /// must not be made.
    async fn ask_person(
        &self,
        number: usize,
        call: &Call,
        info: &ToolInfo,
        busy: &BusyCall<'_>,
    ) -> Option<String> {
        let QueryInput {
            query,
            limits,
            state,
            ..
        } = self.input;
        if !must_be_approved(info, query, &limits.ask) {
            return None;
        }
        let expires_in = limits.approval_timeout;
        let id = number.to_string();
        let request = state.approvals.open(&id);
        let _waiting = busy.wait_outside();
        self.send_progress(QueryContent::ApprovalRequested {
            id,
            tool: info.registered_name.clone(),
            arguments: call.arguments.clone(),
            expires_in_ms: u64::try_from(expires_in.as_millis()).unwrap_or(u64::MAX),
        })
        .await;
        let reason = match request.wait(expires_in).await {
            Approval::Granted => return None,
            Approval::Denied => "The person did not approve this call.".to_owned(),
            Approval::Expired => {
                let expires_in = humantime::format_duration(expires_in);
                format!("Nobody approved this call within {expires_in}.")
            }
        };
        Some(format!("{reason} {DENIED_REMEDY}"))
    }

    /// Calls a tool. A call that exceeds its timeout is dropped, which cancels it at the bridge.
    /// The bridge enforces the timeout that a tool has set itself, because it can report more
    /// details.
    async fn call_with_timeout(
        &self,
        call: &Call,
        own_timeout: Option<Duration>,
    ) -> Result<(PageCallResult, CallOutcome), Failure> {
        let own_timeout = own_timeout.map(|it| it.saturating_add(BRIDGE_TIMEOUT_MARGIN));
        let timeout = self
            .input
            .limits
            .call_timeout
            .max(own_timeout.unwrap_or_default());
        let calling = self.input.tools.call(&call.tool, call.arguments.clone());
        match tokio::time::timeout(timeout, calling).await {
            Ok(result) => {
                let result = result?;
                let outcome = if result.is_error {
                    CallOutcome::ToolError
                } else {
                    CallOutcome::Ok
                };
                Ok((result, outcome))
            }
            Err(_) => {
                let result = PageCallResult::from_error(&timeout_message(timeout));
                Ok((result, CallOutcome::Timeout))
            }
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
            outcome,
            page_result,
        } = finished;
        if let Some(page_result) = page_result {
            call_log.add(
                self.catalog.registered_name(&call.tool).to_owned(),
                &call.arguments,
                page_result,
            );
        }
        let id = number.to_string();
        self.input.state.activity.record_result(&id, &result.text);
        self.send_progress(QueryContent::ToolFinished {
            id,
            tool: self.catalog.registered_name(&call.tool).to_owned(),
            is_error: result.is_error,
            error: result.is_error.then(|| truncate_error(&result.text)),
            outcome: result.is_error.then(|| outcome.as_str().to_owned()),
        })
        .await;
        result
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
        results[*index] = Some(CallResult {
            id: call.id.clone(),
            tool: call.tool.clone(),
            text: format!("Not called: {reason}"),
            is_error: true,
            media: Vec::new(),
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
