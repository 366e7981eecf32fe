//! Reads the progress of a query as the events of a run. A run ends before its query where the query
//! waits for the client, and another run continues it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bridge_protocol::{BridgeToPage, ErrorCode, QueryContent, QueryUsage};
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::events::Event;
use super::run_encoder::{RunEncoder, RunIdentity};
use super::run_input::RunInput;
use crate::agent_loop::{ClientResult, QueryState};
use crate::failure::Failure;

/// The result of a call that the client leaves open although it goes on.
const NOT_ANSWERED: &str = "The app has not made this call: the person has gone on.";

/// The run of a query.
#[derive(Debug)]
pub(crate) struct Run {
    encoder: RunEncoder,
    /// The prefix of the ids of calls: a client needs ids that are unique in its thread.
    call_prefix: String,
    /// The messages of the query. Dropping the receiver cancels the query.
    messages: mpsc::Receiver<BridgeToPage>,
    state: Arc<QueryState>,
    phase: Phase,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Running,
    /// The run has ended, and its query waits for the client.
    Suspended,
    /// The query has ended.
    Ended,
}

impl RunInput {
    /// Returns the identity of the run that is requested.
    pub(crate) fn identity(&self) -> RunIdentity {
        RunIdentity {
            thread_id: self.thread_id.clone(),
            run_id: self.run_id.clone(),
            parent_run_id: self.parent_run_id.clone(),
            is_versioned: self.is_versioned(),
        }
    }
}

impl Run {
    /// Starts the run of a new query. `query` is the id of the query.
    pub(crate) fn start(
        run: RunIdentity,
        query: &str,
        messages: mpsc::Receiver<BridgeToPage>,
        state: Arc<QueryState>,
    ) -> Self {
        state.activity.keep_results();
        let mut encoder = RunEncoder::new(run, query.to_owned());
        encoder.started();
        Self {
            encoder,
            call_prefix: format!("{query}-call-"),
            messages,
            state,
            phase: Phase::Running,
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns whether the query has ended, and all of its messages were received or are waiting.
    pub(crate) fn query_has_ended(&self) -> bool {
        self.messages.is_closed()
    }

    /// Reports something to the person.
    pub(crate) fn note(&mut self, text: &str) {
        self.encoder.note(text);
    }

    /// Returns the next events, which are none after the last.
    pub(crate) async fn next_events(&mut self) -> Vec<Event> {
        loop {
            let events = self.encoder.take_events();
            if !events.is_empty() || self.phase != Phase::Running {
                return events;
            }
            match self.messages.recv().await {
                Some(message) => self.receive(message),
                None => {
                    self.encoder.failed(&unread_end());
                    self.phase = Phase::Ended;
                }
            }
            let is_idle = self.messages.is_empty() && !self.state.activity.is_busy();
            if self.phase == Phase::Running && self.encoder.waits_for_client() && is_idle {
                self.encoder.suspended();
                self.phase = Phase::Suspended;
            }
        }
    }

    /// Continues a suspended run with a request that answers its calls.
    ///
    /// If the request leaves an approval open, the new run ends at once and asks for it again.
    pub(crate) fn resume(&mut self, input: &RunInput) {
        let interrupted = self.encoder.interrupted_calls();
        let approvals: Option<Vec<_>> = (interrupted.iter())
            .map(|call| input.approval(call))
            .collect();
        let Some(approvals) = approvals else {
            self.encoder.restarted(input.identity());
            self.encoder.suspended();
            return;
        };
        let pending = self.encoder.pending_calls();
        self.encoder.resumed(input.identity());
        self.phase = Phase::Running;
        // The model receives the prompt together with the results, which are sent below.
        let prompt = input.prompt();
        if !prompt.is_empty() {
            self.state.add_prompt(prompt.text);
        }
        for (call, is_approved) in interrupted.iter().zip(approvals) {
            let id = self.query_call_id(call);
            // A call whose time for approval has expired has its result already.
            self.state.approvals.answer(id, is_approved);
        }
        for call in pending {
            let result = input.client_result(&call).unwrap_or_else(|| ClientResult {
                text: NOT_ANSWERED.to_owned(),
                is_error: true,
                pictures: Vec::new(),
            });
            let id = self.query_call_id(&call).to_owned();
            self.state.client_calls.finish(&id, result);
        }
    }

    /// Returns whether a request continues this suspended run: its thread still has the calls that
    /// wait for the client. It has not if the person has changed an earlier message.
    pub(crate) fn is_continued_by(&self, input: &RunInput) -> bool {
        let interrupted = self.encoder.interrupted_calls();
        let pending = self.encoder.pending_calls();
        let mut waiting = interrupted.iter().chain(&pending);
        waiting.any(|call| input.has_call(call))
    }

    fn call_id(&self, id: &str) -> String {
        format!("{}{id}", self.call_prefix)
    }

    /// Returns the id that a call has within its query.
    fn query_call_id<'a>(&self, call: &'a str) -> &'a str {
        call.strip_prefix(&self.call_prefix).unwrap_or(call)
    }

    fn receive(&mut self, message: BridgeToPage) {
        match message {
            BridgeToPage::QueryProgress(progress) => {
                if let Ok(content) = serde_json::from_str(progress.content.get()) {
                    self.progress(content);
                }
            }
            BridgeToPage::QueryComplete(complete) => {
                self.usage(complete.usage.as_deref());
                let result = complete.result.as_deref();
                let result = result.and_then(|it| serde_json::from_str(it.get()).ok());
                self.encoder.succeeded(result);
                self.phase = Phase::Ended;
            }
            BridgeToPage::QueryFailure(failure) => {
                let remedy = failure.reason;
                self.encoder.failed(&Failure {
                    remedy,
                    ..Failure::new(failure.code, failure.error)
                });
                self.phase = Phase::Ended;
            }
            BridgeToPage::QueryCancel(cancel) => {
                self.encoder.cancelled(&cancel.reason.unwrap_or_default());
                self.phase = Phase::Ended;
            }
            _ => {}
        }
    }

    fn usage(&mut self, usage: Option<&RawValue>) {
        let usage = usage.and_then(|it| serde_json::from_str::<QueryUsage>(it.get()).ok());
        if let Some(usage) = usage {
            self.encoder.usage(usage);
        }
    }

    fn progress(&mut self, content: QueryContent) {
        match content {
            QueryContent::Text { text } => self.encoder.text(text),
            QueryContent::Thinking { text } => self.encoder.thinking(text),
            QueryContent::Note { text } => self.encoder.note(&text),
            QueryContent::Usage { usage } => self.encoder.usage(usage),
            QueryContent::ToolArguments { id, tool, delta } => {
                self.encoder.arguments(&self.call_id(&id), &tool, delta);
            }
            QueryContent::ToolStarted {
                id,
                tool,
                arguments,
            } => {
                let call = self.call_id(&id);
                if self.state.client_calls.is_open(&id) {
                    self.encoder.client_call(&call, &tool, &arguments);
                } else {
                    self.encoder.call(&call, &tool, &arguments);
                }
            }
            QueryContent::ApprovalRequested {
                id,
                tool,
                arguments,
                expires_in_ms,
            } => {
                let call = self.call_id(&id);
                let expires_in = Duration::from_millis(expires_in_ms);
                let now = SystemTime::now();
                self.encoder
                    .approval_requested(&call, &tool, &arguments, now, expires_in);
            }
            QueryContent::ToolFinished { id, error, .. } => {
                let result = self.state.activity.take_result(&id).or(error);
                let call = self.call_id(&id);
                self.encoder.result(&call, result.unwrap_or_default());
                if let Some(state) = self.state.shared.take_change() {
                    self.encoder.state(state);
                }
            }
        }
    }
}

/// Creates the failure of a query whose last message was dropped, because nobody has read the messages
/// before it in time.
fn unread_end() -> Failure {
    let message = "the query has ended, and its end was not read in time";
    Failure::new(ErrorCode::QueryTimeout, message).with_remedy("send the message of the user again")
}

#[cfg(test)]
mod tests {
    use bridge_protocol::{QueryId, QueryProgress};

    use super::*;

    #[tokio::test]
    async fn a_run_whose_last_message_was_dropped_fails() {
        let (sender, messages) = mpsc::channel(1);
        let input = br#"{"threadId":"t","runId":"r","messages":[]}"#;
        let identity = RunInput::parse(input).unwrap().identity();
        let mut run = Run::start(identity, "q", messages, Arc::new(QueryState::new()));
        let text = "half".to_owned();
        let progress = BridgeToPage::QueryProgress(QueryProgress {
            uuid: QueryId::from("q"),
            number: None,
            content: QueryContent::Text { text }.to_raw(),
        });
        sender.send(progress).await.unwrap();
        drop(sender);
        let mut events = Vec::new();
        while run.phase() == Phase::Running {
            events.extend(run.next_events().await);
        }
        let Some(Event::RunError { message, code, .. }) = events.last() else {
            panic!("{events:?}");
        };
        assert_eq!(code, "QueryTimeout");
        assert!(
            message.ends_with("send the message of the user again"),
            "{message}"
        );
        assert!(run.next_events().await.is_empty());
    }
}
