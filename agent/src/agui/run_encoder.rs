//! Makes the events of a run from the progress of a query.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use bridge_protocol::QueryUsage;
use serde_json::{Map, Value, json};

use super::events::{Event, Interrupt, PROTOCOL_VERSION, Role, RunOutcome};
use super::run_usage::RunUsage;
use crate::failure::Failure;

/// The name of the custom event for notes to the person.
const NOTE_EVENT: &str = "mcp-web.note";

/// The code of a run that was cancelled, for clients from before version 1.0. These do not know the
/// outcome `cancelled`.
const CANCELLED_CODE: &str = "QueryCancelled";

/// The result of a call that has none.
const NOT_MADE: &str = "The call was not made, or was cancelled.";

/// The identity of a run.
#[derive(Clone, Debug)]
pub(crate) struct RunIdentity {
    pub(crate) thread_id: String,
    pub(crate) run_id: String,
    pub(crate) parent_run_id: Option<String>,
    /// Whether the client declares a version of the protocol.
    pub(crate) is_versioned: bool,
}

/// The state of the events of a query: what is open, and which ids are used.
///
/// Each method reports one step of the query and appends the events that describe it. The first is
/// [`started`](Self::started), and the last is one of [`succeeded`](Self::succeeded),
/// [`cancelled`](Self::cancelled) and [`failed`](Self::failed). A query whose calls wait for the
/// client has several runs: the next begins with [`started`](Self::started) again.
#[derive(Debug)]
pub(crate) struct RunEncoder {
    run: RunIdentity,
    /// What all ids begin with: the id of the query, which is never used again. That of a run is
    /// chosen by the client.
    id_prefix: String,
    events: Vec<Event>,
    open: Option<OpenMessage>,
    /// The message of the assistant that contains the calls of this turn.
    turn_message: Option<String>,
    message_count: usize,
    calls: BTreeMap<String, CallState>,
    /// The calls of this run in the order in which they began.
    call_order: Vec<String>,
    interrupts: Vec<Interrupt>,
    usage: RunUsage,
}

/// A message whose end was not sent yet.
#[derive(Debug)]
enum OpenMessage {
    Text(String),
    Reasoning(String),
}

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallState {
    /// The model writes its arguments.
    Open,
    /// Its arguments are complete, and it is being made.
    Ended,
    /// It waits for the approval of a person.
    Interrupted,
    /// It waits for its result, which the client has to bring.
    Pending,
    /// Its result was sent, or the client has it.
    Answered,
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
            calls: BTreeMap::new(),
            call_order: Vec::new(),
            interrupts: Vec::new(),
            usage: RunUsage::default(),
        }
    }

    /// Continues with another run, whose request does not answer the calls that wait for the client.
    pub(crate) fn restarted(&mut self, run: RunIdentity) {
        self.run = run;
        self.usage.begin_run();
        self.started();
    }

    /// Continues with another run, whose request answers the calls that have waited for the client.
    pub(crate) fn resumed(&mut self, run: RunIdentity) {
        self.turn_message = None;
        self.call_order.clear();
        self.interrupts.clear();
        for state in self.calls.values_mut() {
            match state {
                CallState::Interrupted => *state = CallState::Ended,
                CallState::Pending => *state = CallState::Answered,
                CallState::Open | CallState::Ended | CallState::Answered => {}
            }
        }
        self.restarted(run);
    }

    /// Returns the events since the last call of this method.
    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    pub(crate) fn started(&mut self) {
        self.events.push(Event::RunStarted {
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
                self.events.push(Event::TextMessageStart {
                    message_id: message_id.clone(),
                    role: Role::Assistant,
                });
                message_id
            }
        };
        self.events
            .push(Event::TextMessageContent { message_id, delta });
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
                self.events.push(Event::ReasoningStart {
                    message_id: message_id.clone(),
                });
                self.events.push(Event::ReasoningMessageStart {
                    message_id: message_id.clone(),
                    role: Role::Reasoning,
                });
                message_id
            }
        };
        self.events
            .push(Event::ReasoningMessageContent { message_id, delta });
    }

    /// The model has written a piece of the arguments of a call.
    pub(crate) fn arguments(&mut self, call: &str, tool: &str, delta: String) {
        self.begin_call(call, tool);
        if self.calls.get(call) == Some(&CallState::Open) && !delta.is_empty() {
            let tool_call_id = call.to_owned();
            self.events.push(Event::ToolCallArgs {
                tool_call_id,
                delta,
            });
        }
    }

    /// The arguments of a call are complete. They are sent whole unless they were sent in pieces.
    pub(crate) fn call(&mut self, call: &str, tool: &str, arguments: &Map<String, Value>) {
        if !self.calls.contains_key(call) {
            self.begin_call(call, tool);
            self.events.push(Event::ToolCallArgs {
                tool_call_id: call.to_owned(),
                delta: Value::Object(arguments.clone()).to_string(),
            });
        }
        self.end_call(call);
    }

    /// A call has its result, or the reason for which it failed. Those of the client's own tools are
    /// not sent: the client has made them.
    pub(crate) fn result(&mut self, call: &str, content: String) {
        if self.calls.get(call) == Some(&CallState::Answered) {
            return;
        }
        self.end_call(call);
        self.close_message();
        // What the model writes after a result belongs to its next turn.
        self.turn_message = None;
        self.message_count += 1;
        self.events.push(Event::ToolCallResult {
            message_id: format!("{}-result-{}", self.id_prefix, self.message_count),
            tool_call_id: call.to_owned(),
            content,
            role: Role::Tool,
        });
        self.calls.insert(call.to_owned(), CallState::Answered);
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
        self.calls.insert(call.to_owned(), CallState::Interrupted);
        self.interrupts
            .push(Interrupt::for_call(call, tool, now + expires_in));
    }

    /// The client has to make a call, with one of its own tools.
    pub(crate) fn client_call(&mut self, call: &str, tool: &str, arguments: &Map<String, Value>) {
        self.call(call, tool, arguments);
        self.calls.insert(call.to_owned(), CallState::Pending);
    }

    /// The state of the thread has changed.
    pub(crate) fn state(&mut self, snapshot: Value) {
        self.events.push(Event::StateSnapshot { snapshot });
    }

    pub(crate) fn note(&mut self, text: &str) {
        self.events.push(Event::Custom {
            name: NOTE_EVENT,
            value: json!({ "text": text }),
        });
    }

    /// What the query has used so far.
    pub(crate) fn usage(&mut self, usage: QueryUsage) {
        self.usage.update(usage);
    }

    /// Returns whether the run has to end before the query does: a call waits for the client, and no
    /// other is being made.
    pub(crate) fn waits_for_client(&self) -> bool {
        let has = |state| self.calls.values().any(|it| *it == state);
        (has(CallState::Interrupted) || has(CallState::Pending)) && !has(CallState::Ended)
    }

    /// Returns the calls of the client's own tools that wait for their results, in the order in which
    /// they began.
    pub(crate) fn pending_calls(&self) -> Vec<String> {
        self.calls_of(CallState::Pending)
    }

    /// Returns the calls that wait for the approval of a person.
    pub(crate) fn interrupted_calls(&self) -> Vec<String> {
        self.calls_of(CallState::Interrupted)
    }

    fn calls_of(&self, state: CallState) -> Vec<String> {
        let calls = self.call_order.iter();
        calls
            .filter(|call| self.calls[*call] == state)
            .cloned()
            .collect()
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
        for call in self.calls_of(CallState::Open) {
            self.end_call(&call);
        }
        let outcome = if self.interrupts.is_empty() {
            self.success()
        } else {
            // A request that does not answer them gets them again.
            let interrupts = self.interrupts.clone();
            Some(RunOutcome::Interrupt { interrupts })
        };
        self.finished(None, outcome);
    }

    fn success(&self) -> Option<RunOutcome> {
        self.run.is_versioned.then(|| RunOutcome::Success {
            pending_tool_call_ids: self.pending_calls(),
        })
    }

    /// The run was cancelled, and somebody reads its stream still.
    pub(crate) fn cancelled(&mut self, reason: &str) {
        if self.run.is_versioned {
            self.close_all();
            self.finished(None, Some(RunOutcome::Cancelled));
        } else {
            self.error(reason.to_owned(), CANCELLED_CODE.to_owned());
        }
    }

    pub(crate) fn failed(&mut self, failure: &Failure) {
        let message = match &failure.remedy {
            Some(remedy) => format!("{}: {remedy}", failure.message),
            None => failure.message.clone(),
        };
        self.error(message, failure.code.to_string());
    }

    fn error(&mut self, message: String, code: String) {
        self.close_all();
        self.events.push(Event::RunError {
            message,
            code,
            usage: self.usage.of_run(),
        });
    }

    fn finished(&mut self, result: Option<Value>, outcome: Option<RunOutcome>) {
        self.events.push(Event::RunFinished {
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
        if self.calls.contains_key(call) {
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
        self.events.push(Event::ToolCallStart {
            tool_call_id: call.to_owned(),
            tool_call_name: tool.to_owned(),
            parent_message_id,
        });
        self.calls.insert(call.to_owned(), CallState::Open);
        self.call_order.push(call.to_owned());
    }

    /// Sends the end of a call, unless it was sent.
    fn end_call(&mut self, call: &str) {
        if let Some(state @ CallState::Open) = self.calls.get_mut(call) {
            *state = CallState::Ended;
            let tool_call_id = call.to_owned();
            self.events.push(Event::ToolCallEnd { tool_call_id });
        }
    }

    fn close_message(&mut self) {
        match self.open.take() {
            Some(OpenMessage::Text(message_id)) => {
                self.events.push(Event::TextMessageEnd { message_id });
            }
            Some(OpenMessage::Reasoning(message_id)) => {
                self.events.push(Event::ReasoningMessageEnd {
                    message_id: message_id.clone(),
                });
                self.events.push(Event::ReasoningEnd { message_id });
            }
            None => {}
        }
    }

    /// Closes what is open. Calls that were never made get a result, because a thread in which a
    /// call has none cannot be continued at most providers.
    fn close_all(&mut self) {
        self.close_message();
        let is_unanswered = |state: &CallState| matches!(state, CallState::Open | CallState::Ended);
        let calls = self.calls.iter().filter(|(_, state)| is_unanswered(state));
        for call in calls.map(|(call, _)| call.clone()).collect::<Vec<_>>() {
            self.result(&call, NOT_MADE.to_owned());
        }
    }
}

#[cfg(test)]
mod tests;
