//! Makes the events of a run from the progress of a query.

use std::time::{Duration, SystemTime};

use agent_tools::AgentFailure;
use bridge_protocol::QueryUsage;
use serde_json::{Map, Value, json};

use super::call_states::{CallState, CallStates};
use super::events::{AguiEvent, Interrupt, PROTOCOL_VERSION, Role, RunOutcome};
use super::run_input::RunIdentity;
use super::run_usage::RunUsage;

/// The name of the custom event for notes to the person.
const NOTE_EVENT: &str = "mcp-web.note";

/// The code of a run that was cancelled, for clients from before version 1.0. These do not know the
/// outcome `cancelled`.
const CANCELLED_CODE: &str = "QueryCancelled";

/// The result of a call that has none.
const NOT_MADE: &str = "The call was not made, or was cancelled.";

/// The state of the events of a query: what is open, and which ids are used.
///
/// Each method reports one step of the query and appends the events that describe it. The first is
/// [`started`](Self::started), and the last is one of [`succeeded`](Self::succeeded),
/// [`cancelled`](Self::cancelled) and [`failed`](Self::failed). A query whose calls wait for the
/// client has several runs: one ends with [`suspended`](Self::suspended), and the next begins with
/// [`restarted`](Self::restarted).
#[derive(Debug)]
pub(crate) struct RunEncoder {
    run: RunIdentity,
    /// The beginning of all ids: the id of the query, which is never used again. That of a run is
    /// chosen by the client.
    id_prefix: String,
    events: Vec<AguiEvent>,
    open: Option<OpenMessage>,
    /// The message of the assistant that contains the calls of this turn.
    turn_message: Option<String>,
    message_count: usize,
    calls: CallStates,
    usage: RunUsage,
}

/// A message whose end was not sent yet.
#[derive(Debug)]
enum OpenMessage {
    Text(String),
    Reasoning(String),
}

impl RunEncoder {
    pub(crate) fn new(run: RunIdentity, id_prefix: String) -> Self {
        Self {
            run,
            id_prefix,
            events: Vec::new(),
            open: None,
            turn_message: None,
            message_count: 0,
            calls: CallStates::default(),
            usage: RunUsage::default(),
        }
    }

    /// Continues with another run.
    pub(crate) fn restarted(&mut self, run: RunIdentity) {
        self.run = run;
        self.turn_message = None;
        self.usage.begin_run();
        self.started();
    }

    /// The client has answered the request for the approval of a call.
    pub(crate) fn approval_answered(&mut self, call: &str) {
        self.calls.set(call, CallState::Running);
    }

    /// The client has the result of a call that it has made.
    pub(crate) fn client_answered(&mut self, call: &str) {
        self.calls.set(call, CallState::Answered);
    }

    /// Returns the id of the query.
    pub(crate) fn query(&self) -> &str {
        &self.id_prefix
    }

    /// Returns the id that a call has for the client, from the one that it has within its query.
    pub(crate) fn call_id(&self, id: &str) -> String {
        format!("{}-call-{id}", self.id_prefix)
    }

    /// Returns the id that a call has within its query, from the one that it has for the client.
    pub(crate) fn query_call_id<'a>(&self, call: &'a str) -> &'a str {
        let id = call.strip_prefix(&self.id_prefix);
        id.and_then(|id| id.strip_prefix("-call-")).unwrap_or(call)
    }

    /// Returns the events since the last call of this method.
    pub(crate) fn take_events(&mut self) -> Vec<AguiEvent> {
        std::mem::take(&mut self.events)
    }

    pub(crate) fn started(&mut self) {
        self.events.push(AguiEvent::RunStarted {
            thread_id: self.run.thread_id.clone(),
            run_id: self.run.run_id.clone(),
            protocol_version: PROTOCOL_VERSION,
            parent_run_id: self.run.parent_run_id.clone(),
        });
    }

    /// The model has written a piece of its text.
    pub(crate) fn text(&mut self, delta: String) {
        // Clients from before version 1.0 refuse an empty piece.
        if delta.is_empty() {
            return;
        }
        let message_id = match &self.open {
            Some(OpenMessage::Text(id)) => id.clone(),
            _ => {
                self.close_message();
                let message_id = self.new_message_id();
                self.turn_message = Some(message_id.clone());
                self.open = Some(OpenMessage::Text(message_id.clone()));
                self.events.push(AguiEvent::TextMessageStart {
                    message_id: message_id.clone(),
                    role: Role::Assistant,
                });
                message_id
            }
        };
        self.events
            .push(AguiEvent::TextMessageContent { message_id, delta });
    }

    /// The model has written a piece of its reasoning.
    pub(crate) fn thinking(&mut self, delta: String) {
        if delta.is_empty() {
            return;
        }
        let message_id = match &self.open {
            Some(OpenMessage::Reasoning(id)) => id.clone(),
            _ => {
                self.close_message();
                self.turn_message = None;
                let message_id = self.new_message_id();
                self.open = Some(OpenMessage::Reasoning(message_id.clone()));
                self.events.push(AguiEvent::ReasoningStart {
                    message_id: message_id.clone(),
                });
                self.events.push(AguiEvent::ReasoningMessageStart {
                    message_id: message_id.clone(),
                    role: Role::Reasoning,
                });
                message_id
            }
        };
        self.events
            .push(AguiEvent::ReasoningMessageContent { message_id, delta });
    }

    /// The model has written a piece of the arguments of a call.
    pub(crate) fn arguments(&mut self, call: &str, tool: &str, delta: String) {
        self.begin_call(call, tool);
        if self.calls.get(call) == Some(&CallState::Writing) && !delta.is_empty() {
            let tool_call_id = call.to_owned();
            self.events.push(AguiEvent::ToolCallArgs {
                tool_call_id,
                delta,
            });
        }
    }

    /// A call is being made. Its arguments are sent whole unless they were sent in pieces.
    pub(crate) fn call(&mut self, call: &str, tool: &str, arguments: &Map<String, Value>) {
        if self.calls.get(call).is_none() {
            self.begin_call(call, tool);
            self.events.push(AguiEvent::ToolCallArgs {
                tool_call_id: call.to_owned(),
                delta: Value::Object(arguments.clone()).to_string(),
            });
        }
        self.end_call(call);
        self.calls.set(call, CallState::Running);
    }

    /// A call has its result, or the reason for which it failed. Those of the client's own tools are
    /// not sent: the client has made them.
    pub(crate) fn result(&mut self, call: &str, content: String) {
        if self.calls.get(call) == Some(&CallState::Answered) {
            return;
        }
        self.end_call(call);
        self.close_message();
        // Text of the model after a result belongs to its next turn.
        self.turn_message = None;
        self.message_count += 1;
        self.events.push(AguiEvent::ToolCallResult {
            message_id: format!("{}-result-{}", self.id_prefix, self.message_count),
            tool_call_id: call.to_owned(),
            content,
            role: Role::Tool,
        });
        self.calls.set(call, CallState::Answered);
    }

    /// A call waits for the approval of a person, who can give it until `now` and `expires_in`.
    pub(crate) fn approval_requested(
        &mut self,
        call: &str,
        tool: &str,
        arguments: &Map<String, Value>,
        now: SystemTime,
        expires_in: Duration,
    ) {
        self.call(call, tool, arguments);
        let interrupt = Interrupt::for_call(call, tool, now + expires_in);
        self.calls.set(call, CallState::Interrupted(interrupt));
    }

    /// The client must make a call, with one of its tools.
    pub(crate) fn client_call(&mut self, call: &str, tool: &str, arguments: &Map<String, Value>) {
        self.call(call, tool, arguments);
        self.calls.set(call, CallState::Pending);
    }

    /// The state of the thread has changed.
    pub(crate) fn state(&mut self, snapshot: Value) {
        self.events.push(AguiEvent::StateSnapshot { snapshot });
    }

    pub(crate) fn note(&mut self, text: &str) {
        self.events.push(AguiEvent::Custom {
            name: NOTE_EVENT,
            value: json!({ "text": text }),
        });
    }

    /// The use of the query so far.
    pub(crate) fn usage(&mut self, usage: QueryUsage) {
        self.usage.update(usage);
    }

    /// Returns whether the run has to end before the query does: a call waits for the client, and no
    /// other is being made.
    pub(crate) fn waits_for_client(&self) -> bool {
        self.calls.wait_for_client()
    }

    /// Returns the calls of the client's own tools that wait for their results, in the order in which
    /// they began.
    pub(crate) fn pending_calls(&self) -> Vec<String> {
        self.calls.with(|state| *state == CallState::Pending)
    }

    /// Returns the calls that wait for the approval of a person.
    pub(crate) fn interrupted_calls(&self) -> Vec<String> {
        self.calls.with(|state| state.interrupt().is_some())
    }

    /// Returns the calls that wait for the client.
    pub(crate) fn waiting_calls(&self) -> Vec<String> {
        self.calls.with(CallState::waits_for_client)
    }

    /// The query is answered.
    pub(crate) fn succeeded(&mut self, result: Option<Value>) {
        self.close_all();
        self.finished(result, self.success());
    }

    /// The run ends before the query: calls wait for the client. Until the next run, nothing is
    /// reported.
    pub(crate) fn suspended(&mut self) {
        self.close_message();
        for call in self.calls.with(|state| *state == CallState::Writing) {
            self.end_call(&call);
        }
        let interrupts = self.calls.interrupts();
        let outcome = if interrupts.is_empty() {
            self.success()
        } else {
            Some(RunOutcome::Interrupt { interrupts })
        };
        self.finished(None, outcome);
    }

    fn success(&self) -> Option<RunOutcome> {
        self.run.is_versioned.then(|| RunOutcome::Success {
            pending_tool_call_ids: self.pending_calls(),
        })
    }

    /// The run was cancelled, and its stream still has a reader.
    pub(crate) fn cancelled(&mut self, reason: &str) {
        if self.run.is_versioned {
            self.close_all();
            self.finished(None, Some(RunOutcome::Cancelled));
        } else {
            self.error(reason.to_owned(), CANCELLED_CODE.to_owned());
        }
    }

    pub(crate) fn failed(&mut self, failure: &AgentFailure) {
        let message = match &failure.remedy {
            Some(remedy) => format!("{}: {remedy}", failure.message),
            None => failure.message.clone(),
        };
        self.error(message, failure.code.to_string());
    }

    fn error(&mut self, message: String, code: String) {
        self.close_all();
        self.events.push(AguiEvent::RunError {
            message,
            code,
            usage: self.usage.of_run(),
        });
    }

    fn finished(&mut self, result: Option<Value>, outcome: Option<RunOutcome>) {
        self.events.push(AguiEvent::RunFinished {
            thread_id: self.run.thread_id.clone(),
            run_id: self.run.run_id.clone(),
            result,
            outcome,
            usage: self.usage.of_run(),
        });
    }

    fn new_message_id(&mut self) -> String {
        self.message_count += 1;
        format!("{}-message-{}", self.id_prefix, self.message_count)
    }

    /// Sends the start of a call, unless it was sent.
    fn begin_call(&mut self, call: &str, tool: &str) {
        if self.calls.get(call).is_some() {
            return;
        }
        self.close_message();
        let parent_message_id = match &self.turn_message {
            Some(id) => id.clone(),
            None => {
                let id = self.new_message_id();
                self.turn_message = Some(id.clone());
                id
            }
        };
        self.events.push(AguiEvent::ToolCallStart {
            tool_call_id: call.to_owned(),
            tool_call_name: tool.to_owned(),
            parent_message_id,
        });
        self.calls.set(call, CallState::Writing);
    }

    /// Sends the end of a call, unless it was sent.
    fn end_call(&mut self, call: &str) {
        if self.calls.get(call) == Some(&CallState::Writing) {
            self.calls.set(call, CallState::Written);
            let tool_call_id = call.to_owned();
            self.events.push(AguiEvent::ToolCallEnd { tool_call_id });
        }
    }

    fn close_message(&mut self) {
        match self.open.take() {
            Some(OpenMessage::Text(message_id)) => {
                self.events.push(AguiEvent::TextMessageEnd { message_id });
            }
            Some(OpenMessage::Reasoning(message_id)) => {
                self.events.push(AguiEvent::ReasoningMessageEnd {
                    message_id: message_id.clone(),
                });
                self.events.push(AguiEvent::ReasoningEnd { message_id });
            }
            None => {}
        }
    }

    /// Closes what is open. Calls that were never made get a result, because a thread in which a
    /// call has none cannot be continued at most providers.
    fn close_all(&mut self) {
        self.close_message();
        for call in self.calls.with(CallState::is_unanswered) {
            self.result(&call, NOT_MADE.to_owned());
        }
    }
}

#[cfg(test)]
mod tests;
