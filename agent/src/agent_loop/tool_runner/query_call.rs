//! One call of a query: the profile of its tool, and what the query does in the steps of the pipeline.

use std::time::Duration;

use agent_tools::pipeline::{self, CallSteps};
use agent_tools::{
    AgentFailure, Approval, CallLimits, CallOutput, CallProfile, CallStatus, OfferedTool, text,
};
use bridge_protocol::QueryContent;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value};

use super::{FinishedCall, MAX_SOURCE_RESULT_BYTES, ToolRunner};
use crate::agent_loop::approvals::{must_be_approved, wait_for_approval};
use crate::agent_loop::call_activity::{BusyCall, WaitingCall};
use crate::agent_loop::client_result::ClientResult;
use crate::agent_loop::indexed_call::IndexedCall;
use crate::agent_loop::input::QueryInput;
use crate::agent_loop::open_calls::OpenCall;
use crate::agent_loop::tool_catalog::{Executor, ToolInfo};
use crate::model::ModelCall;

/// The additional time after a tool's own timeout, in which the bridge reports that timeout itself.
const BRIDGE_TIMEOUT_MARGIN: Duration = Duration::from_secs(1);

/// The party that runs the tool of a call.
#[derive(Clone, Copy, Debug)]
enum CallTarget<'a> {
    Page(&'a ToolInfo),
    /// A source, also if the query does not have the tool.
    Source(&'a OfferedTool),
    /// The client that asks.
    Client(&'a ToolInfo),
    /// The agent: the tool changes the state that the application shares.
    State(&'a ToolInfo),
}

/// A call of a query.
#[derive(Debug)]
struct QueryCall<'a> {
    runner: &'a ToolRunner<'a>,
    indexed: IndexedCall<'a>,
    target: CallTarget<'a>,
    busy: &'a BusyCall<'a>,
    /// Whether the page knows of the call.
    is_reported: bool,
    has_begun: bool,
    /// The result that the client brings, once the call has begun.
    client_result: Option<OpenCall<'a, ClientResult>>,
    waiting: Option<WaitingCall<'a>>,
}

impl ToolRunner<'_> {
    /// Makes a call, whoever runs its tool.
    pub(super) async fn execute(
        &self,
        indexed: IndexedCall<'_>,
        busy: &BusyCall<'_>,
    ) -> Result<FinishedCall, AgentFailure> {
        let call = indexed.call;
        let Some(target) = self.target(&call.tool) else {
            busy.count_report();
            self.send_progress(self.started(indexed)).await;
            return Ok(self.finished(call, self.unknown_tool(call), None));
        };
        let profile = self.profile(call, target);
        let mut steps = QueryCall::new(self, indexed, target, busy);
        let finished = pipeline::call(&profile, call.arguments.clone(), &mut steps).await?;
        // A call that a step has refused is also reported.
        steps.report().await;
        Ok(finished)
    }

    /// Returns the party that runs a tool. `None` if the tool does not exist.
    fn target(&self, tool: &str) -> Option<CallTarget<'_>> {
        let Some(info) = self.catalog.info(tool) else {
            return self.catalog.withheld(tool).map(CallTarget::Source);
        };
        match (info.executor, &info.offered) {
            (Executor::Page, _) => Some(CallTarget::Page(info)),
            (Executor::Source, Some(offered)) => Some(CallTarget::Source(offered)),
            (Executor::Client, _) => Some(CallTarget::Client(info)),
            (Executor::Agent, _) => Some(CallTarget::State(info)),
            // The loop reads the answer itself.
            (Executor::Source, None) | (Executor::Answer, _) => None,
        }
    }

    fn profile<'b>(&'b self, call: &'b ModelCall, target: CallTarget<'b>) -> CallProfile<'b> {
        let sources = self.input.sources;
        let schema = self.catalog.input_schema(&call.tool);
        let schema = schema.unwrap_or(&Value::Null);
        match target {
            CallTarget::Page(info) => {
                let limits = self.call_limits(call, info, self.page_timeout(info));
                let name = &info.registered_name;
                sources.page_profile(name, schema, info.class, &self.page_shares, limits)
            }
            CallTarget::Source(offered) => {
                let time = (offered.tool.timeout).unwrap_or(self.input.limits.call_timeout);
                let info = self.catalog.info(&call.tool);
                let limits = info.map(|info| self.call_limits(call, info, time));
                sources.source_profile(offered, limits)
            }
            CallTarget::Client(info) | CallTarget::State(info) => {
                sources.client_profile(&info.registered_name, schema, info.class)
            }
        }
    }

    fn call_limits(&self, call: &ModelCall, info: &ToolInfo, time: Duration) -> CallLimits {
        let QueryInput { query, limits, .. } = self.input;
        CallLimits {
            time,
            must_be_approved: must_be_approved(&call.tool, info, query, &limits.ask),
            approval_timeout: limits.approval_timeout,
        }
    }

    /// Returns the timeout of a tool of the page. The bridge enforces the one that a tool has set itself,
    /// because it can report more details.
    fn page_timeout(&self, info: &ToolInfo) -> Duration {
        let own_timeout = info.own_timeout;
        let own_timeout = own_timeout.map(|it| it.saturating_add(BRIDGE_TIMEOUT_MARGIN));
        let call_timeout = self.input.limits.call_timeout;
        call_timeout.max(own_timeout.unwrap_or_default())
    }
}

impl<'a> QueryCall<'a> {
    fn new(
        runner: &'a ToolRunner<'a>,
        indexed: IndexedCall<'a>,
        target: CallTarget<'a>,
        busy: &'a BusyCall<'a>,
    ) -> Self {
        Self {
            runner,
            indexed,
            target,
            busy,
            is_reported: false,
            has_begun: false,
            client_result: None,
            waiting: None,
        }
    }

    /// Reports the call, unless it was reported.
    async fn report(&mut self) {
        if std::mem::replace(&mut self.is_reported, true) {
            return;
        }
        self.busy.count_report();
        if self.client_result.is_some() {
            self.waiting = Some(self.busy.wait_outside());
        }
        let started = self.runner.started(self.indexed);
        self.runner.send_progress(started).await;
    }

    /// Waits for the result of a call that the client makes.
    async fn wait_for_client(&mut self) -> CallOutput {
        let result = match self.client_result.take() {
            Some(open) => open.wait().await,
            None => None,
        };
        self.waiting = None;
        let ClientResult {
            text,
            is_error,
            pictures,
        } = result.unwrap_or_else(ClientResult::not_made);
        let outcome = if is_error {
            CallStatus::ToolError
        } else {
            CallStatus::Ok
        };
        CallOutput {
            outcome,
            pictures,
            ..CallOutput::from_text(text)
        }
    }
}

impl CallSteps for QueryCall<'_> {
    type Output = FinishedCall;
    type Error = AgentFailure;

    async fn ask_person(&mut self, timeout: Duration) -> Approval {
        let (runner, call) = (self.runner, self.indexed.call);
        let id = self.indexed.number.to_string();
        let open = runner.input.state.approvals.open(&id);
        self.busy.count_report();
        let _waiting = self.busy.wait_outside();
        runner
            .send_progress(QueryContent::ApprovalRequested {
                id,
                tool: runner.catalog.registered_name(&call.tool).to_owned(),
                source: runner.source_of(&call.tool),
                arguments: call.arguments.clone(),
                expires_in_ms: u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
            })
            .await;
        let approval = wait_for_approval(open, timeout).await;
        // A call that was not approved was reported as a request for approval.
        self.is_reported = approval != Approval::Granted;
        approval
    }

    async fn begin(&mut self) {
        self.has_begun = true;
        let state = self.runner.input.state;
        state.meter.count_call();
        if let CallTarget::Client(_) = self.target {
            // It is opened before it is reported: a reader of the report asks who makes the call.
            let id = self.indexed.number.to_string();
            self.client_result = Some(state.client_calls.open(&id));
        }
        self.report().await;
    }

    async fn run(&mut self, arguments: Map<String, Value>) -> Result<CallOutput, AgentFailure> {
        let input = self.runner.input;
        match self.target {
            CallTarget::Page(info) => input.page_tools.call(&info.call_name, arguments).await,
            CallTarget::Source(offered) => Ok(input.sources.run(offered, arguments).await),
            CallTarget::Client(_) => Ok(self.wait_for_client().await),
            CallTarget::State(_) => Ok(match input.state.shared.update(&arguments) {
                Ok(()) => CallOutput::from_text("The state is changed."),
                Err(reason) => CallOutput::from_error(reason),
            }),
        }
    }

    fn shape(&mut self, mut output: CallOutput) -> FinishedCall {
        let logged = match self.target {
            CallTarget::Page(_) if self.has_begun => Some(output.page_result.take()),
            CallTarget::Source(_) => {
                let text = text::shorten_bytes(&output.text, MAX_SOURCE_RESULT_BYTES);
                Some(to_raw_value(&text).ok())
            }
            _ => None,
        };
        self.runner.finished(self.indexed.call, output, logged)
    }
}
