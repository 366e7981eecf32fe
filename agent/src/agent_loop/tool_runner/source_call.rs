//! Calls of tools of sources.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::value::to_raw_value;

use super::{FinishedCall, MAX_SOURCE_RESULT_BYTES, ToolRunner};
use crate::agent_loop::call_activity::BusyCall;
use crate::agent_loop::tool_catalog::ToolInfo;
use crate::model::Call;
use crate::text;
use crate::tools::{Approval, CallOutput, CallSteps, NotApproved};

/// A call of a source, for its policy.
struct SourceCall<'a> {
    runner: &'a ToolRunner<'a>,
    number: usize,
    call: &'a Call,
    info: &'a ToolInfo,
    busy: &'a BusyCall<'a>,
    /// Whether the call was reported.
    is_reported: AtomicBool,
}

impl CallSteps for SourceCall<'_> {
    async fn approve(&self) -> Result<Option<Approval>, NotApproved> {
        let asking = (self.runner).ask_person(self.number, self.call, self.info, self.busy);
        // A call that was not approved was reported as a request for approval.
        asking
            .await
            .inspect_err(|_| self.is_reported.store(true, Ordering::Relaxed))
    }

    async fn begin(&self) {
        self.report().await;
        self.runner.input.state.meter.count_call();
    }
}

impl SourceCall<'_> {
    /// Reports the call, unless it was reported.
    async fn report(&self) {
        if !self.is_reported.swap(true, Ordering::Relaxed) {
            let runner = self.runner;
            runner.report_start(self.number, self.call, self.busy).await;
        }
    }
}

impl ToolRunner<'_> {
    /// Makes a call of a tool of a source, if the policy allows it.
    pub(super) async fn call_source(
        &self,
        number: usize,
        call: &Call,
        info: &ToolInfo,
        busy: &BusyCall<'_>,
    ) -> FinishedCall {
        let Some(offered) = &info.offered else {
            return self.refuse_unknown(number, call, busy).await;
        };
        let steps = SourceCall {
            runner: self,
            number,
            call,
            info,
            busy,
            is_reported: AtomicBool::new(false),
        };
        let timeout = self.input.limits.call_timeout;
        let arguments = call.arguments.clone();
        let output = self
            .input
            .sources
            .call(offered, arguments, timeout, &steps)
            .await;
        // What a check has refused is reported, too.
        steps.report().await;
        self.finished_source_call(call, output)
    }

    /// Refuses a call of a tool that is not offered. If it is one of a source, that is recorded.
    pub(super) async fn refuse_unknown(
        &self,
        number: usize,
        call: &Call,
        busy: &BusyCall<'_>,
    ) -> FinishedCall {
        self.report_start(number, call, busy).await;
        let sources = self.input.sources;
        match sources.find(&call.tool) {
            Some(offered) => {
                let output = sources.refuse(&offered, &call.arguments);
                self.finished_source_call(call, output)
            }
            None => self.finished(call, self.unknown_tool(call), None),
        }
    }

    fn finished_source_call(&self, call: &Call, output: CallOutput) -> FinishedCall {
        let logged = text::shorten_bytes(&output.text, MAX_SOURCE_RESULT_BYTES);
        self.finished(call, output, Some(to_raw_value(&logged).ok()))
    }
}
