//! Calls of tools of sources.

use std::sync::Arc;

use serde_json::value::to_raw_value;

use super::{FinishedCall, MAX_SOURCE_RESULT_BYTES, ToolRunner};
use crate::agent_loop::call_activity::BusyCall;
use crate::agent_loop::tool_catalog::ToolInfo;
use crate::model::Call;
use crate::text;
use crate::tools::{CallOutput, CallSteps, OfferedTool};

/// A call of a source, for its policy.
struct SourceCall<'a> {
    runner: &'a ToolRunner<'a>,
    number: usize,
    call: &'a Call,
    /// `None` if the tool is not offered, so that the call is refused before it begins.
    info: Option<&'a ToolInfo>,
    busy: &'a BusyCall<'a>,
}

impl CallSteps for SourceCall<'_> {
    async fn approve(&self) -> Result<(), String> {
        let Some(info) = self.info else {
            return Ok(());
        };
        let Self {
            runner,
            number,
            call,
            busy,
            ..
        } = *self;
        runner.ask_person(number, call, info, busy).await
    }

    async fn begin(&self) {
        let Self {
            runner,
            number,
            call,
            busy,
            ..
        } = *self;
        runner.report_start(number, call, busy).await;
        runner.input.state.meter.count_call();
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
        match &info.offered {
            Some(offered) => {
                self.run_source_call(number, call, offered, Some(info), busy)
                    .await
            }
            None => self.refuse_unknown(number, call, busy).await,
        }
    }

    /// Refuses a call of a tool that is not offered. If it is one of a source, the policy refuses and
    /// records it.
    pub(super) async fn refuse_unknown(
        &self,
        number: usize,
        call: &Call,
        busy: &BusyCall<'_>,
    ) -> FinishedCall {
        if let Some(offered) = self.input.sources.find(&call.tool) {
            return self
                .run_source_call(number, call, &offered, None, busy)
                .await;
        }
        self.report_start(number, call, busy).await;
        self.finished(call, self.unknown_tool(call), None)
    }

    async fn run_source_call(
        &self,
        number: usize,
        call: &Call,
        offered: &Arc<OfferedTool>,
        info: Option<&ToolInfo>,
        busy: &BusyCall<'_>,
    ) -> FinishedCall {
        let steps = SourceCall {
            runner: self,
            number,
            call,
            info,
            busy,
        };
        let timeout = self.input.limits.call_timeout;
        let arguments = call.arguments.clone();
        let sources = self.input.sources;
        let output: CallOutput = sources.call(offered, arguments, timeout, &steps).await;
        let logged = text::shorten_bytes(&output.text, MAX_SOURCE_RESULT_BYTES);
        self.finished(call, output, Some(to_raw_value(&logged).ok()))
    }
}
