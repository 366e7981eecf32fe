//! Reads the progress of a query as the events of a run. A run ends before its query where the query
//! waits for the client, and another run continues it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use agent_tools::AgentFailure;
use bridge_protocol::{BridgeToPage, ErrorCode, QueryContent, QueryId, QueryUsage};
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::events::AguiEvent;
use super::run_encoder::RunEncoder;
use super::run_input::{RunIdentity, RunInput};
use super::thread::NewMessages;
use crate::agent_loop::{AddedPrompt, ClientResult, QueryState};
use crate::queries::BodyReservation;

/// The run of a query.
#[derive(Debug)]
pub(crate) struct AguiRun {
    encoder: RunEncoder,
    /// The messages of the query. Dropping the receiver cancels the query.
    messages: mpsc::Receiver<BridgeToPage>,
    state: Arc<QueryState>,
    phase: RunPhase,
    /// The memory of the largest request that has continued the query: the query keeps its state.
    body: Option<BodyReservation>,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunPhase {
    Running,
    /// The run has ended, and its query waits for the client.
    Suspended,
    /// The query has ended.
    Ended,
}

impl AguiRun {
    /// Starts the run of a new query. `query` is the id of the query.
    pub(crate) fn start(
        run: RunIdentity,
        query: &str,
        messages: mpsc::Receiver<BridgeToPage>,
        state: Arc<QueryState>,
    ) -> Self {
        state.results.keep();
        let mut encoder = RunEncoder::new(run, query.to_owned());
        encoder.started();
        Self {
            encoder,
            messages,
            state,
            phase: RunPhase::Running,
            body: None,
        }
    }

    pub(crate) fn phase(&self) -> RunPhase {
        self.phase
    }

    /// Returns the id of the query.
    pub(crate) fn query(&self) -> QueryId {
        self.encoder.query().into()
    }

    /// Reports to the person that files of a prompt were left out, if any were.
    pub(crate) fn note_omitted_files(&mut self, prompt: &NewMessages) {
        if prompt.omitted_files > 0 {
            let text = "A file was left out: the agent reads only files that are in the message.";
            self.encoder.note(text);
        }
    }

    /// Returns the next events, which are none after the last.
    pub(crate) async fn next_events(&mut self) -> Vec<AguiEvent> {
        loop {
            let events = self.encoder.take_events();
            if !events.is_empty() || self.phase != RunPhase::Running {
                return events;
            }
            match self.messages.recv().await {
                Some(message) => self.receive(message),
                None => {
                    self.encoder.failed(&unread_end());
                    self.phase = RunPhase::Ended;
                }
            }
            self.suspend_if_idle();
        }
    }

    /// Ends the run if only the client can continue.
    fn suspend_if_idle(&mut self) {
        let is_idle = self.encoder.waits_for_client() && !self.state.activity.is_busy();
        if self.phase == RunPhase::Running && is_idle {
            self.encoder.suspended();
            self.phase = RunPhase::Suspended;
        }
    }

    /// Continues a suspended run with a request that answers its calls.
    ///
    /// If the request leaves an approval open, the new run ends at once and asks for it again.
    pub(crate) fn resume(&mut self, input: &RunInput, body: BodyReservation) {
        let held = self.body.as_ref().map_or(0, BodyReservation::bytes);
        if body.bytes() >= held {
            self.body = Some(body);
        }
        self.encoder.restarted(input.identity());
        let interrupted = self.encoder.interrupted_calls();
        let open = interrupted.iter().filter(|call| self.is_open(call));
        let approvals: Option<Vec<_>> = open
            .map(|call| Some((call, input.approval(call)?)))
            .collect();
        let Some(approvals) = approvals else {
            self.encoder.suspended();
            return;
        };
        self.phase = RunPhase::Running;
        let prompt = input.prompt();
        self.note_omitted_files(&prompt);
        let has_prompt = !prompt.is_empty();
        // The model receives them together with the results, which are sent below.
        self.add_to_query(prompt, input);
        let mut is_continued = false;
        for call in &interrupted {
            // A call whose time for approval has expired has its result already.
            self.encoder.approval_answered(call);
        }
        for (call, is_approved) in approvals {
            let id = self.encoder.query_call_id(call);
            is_continued |= self.state.approvals.reply(id, is_approved);
        }
        for call in self.encoder.pending_calls() {
            let result = match input.client_result(&call) {
                Some(result) => result,
                None if has_prompt => ClientResult::not_made(),
                // The client did not know of it: the run before has asked for approvals.
                None => continue,
            };
            self.encoder.client_answered(&call);
            let id = self.encoder.query_call_id(&call);
            is_continued |= self.state.client_calls.reply(id, result);
        }
        if !is_continued {
            self.suspend_if_idle();
        }
    }

    /// Adds the new messages of the person, and the state of the application if it has changed.
    fn add_to_query(&mut self, prompt: NewMessages, input: &RunInput) {
        let shared = input.shared_state();
        let is_changed = shared.is_some_and(|state| self.state.shared.share(state));
        let added = AddedPrompt {
            text: prompt.text,
            attachments: prompt.attachments,
            context: input
                .state_item()
                .filter(|_| is_changed)
                .into_iter()
                .collect(),
        };
        self.state.add_prompt(added);
    }

    /// Returns whether a request continues this suspended run: its thread still has calls that wait
    /// for the client, and the query can still read the messages of the person since then. The
    /// thread has not if the person has changed an earlier message.
    pub(crate) fn is_continued_by(&self, known_calls: &HashSet<&str>, has_prompt: bool) -> bool {
        let waiting = self.encoder.waiting_calls();
        let is_known = waiting.iter().any(|call| known_calls.contains(&**call));
        is_known && (!has_prompt || waiting.iter().any(|call| self.is_open(call)))
    }

    /// Returns whether the query waits for the reply to a call.
    fn is_open(&self, call: &str) -> bool {
        let id = self.encoder.query_call_id(call);
        self.state.approvals.is_open(id) || self.state.client_calls.is_open(id)
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
                self.phase = RunPhase::Ended;
            }
            BridgeToPage::QueryFailure(failure) => {
                let remedy = failure.reason;
                self.encoder.failed(&AgentFailure {
                    remedy,
                    ..AgentFailure::new(failure.code, failure.error)
                });
                self.phase = RunPhase::Ended;
            }
            BridgeToPage::QueryCancel(cancel) => {
                self.encoder.cancelled(&cancel.reason.unwrap_or_default());
                self.phase = RunPhase::Ended;
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
                let call = self.encoder.call_id(&id);
                self.encoder.arguments(&call, &tool, delta);
            }
            QueryContent::ToolStarted {
                id,
                tool,
                arguments,
                ..
            } => {
                self.state.activity.report_read();
                let call = self.encoder.call_id(&id);
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
                ..
            } => {
                self.state.activity.report_read();
                let call = self.encoder.call_id(&id);
                let expires_in = Duration::from_millis(expires_in_ms);
                let now = SystemTime::now();
                self.encoder
                    .approval_requested(&call, &tool, &arguments, now, expires_in);
            }
            QueryContent::ToolFinished { id, error, .. } => {
                self.state.activity.report_read();
                let result = self.state.results.take(&id).or(error);
                let call = self.encoder.call_id(&id);
                self.encoder.result(&call, result.unwrap_or_default());
                if let Some(state) = self.state.shared.take_change() {
                    self.encoder.state(state);
                }
            }
        }
    }
}

/// Creates the failure of a query whose last message was dropped, because the earlier messages were
/// not read in time.
fn unread_end() -> AgentFailure {
    let message = "the query has ended, and its end was not read in time";
    AgentFailure::new(ErrorCode::QueryTimeout, message)
        .with_remedy("send the message of the user again")
}

#[cfg(test)]
mod tests {
    use bridge_protocol::QueryProgress;
    use serde_json::Map;

    use super::*;

    fn start(state: Arc<QueryState>) -> (AguiRun, mpsc::Sender<BridgeToPage>) {
        let (sender, messages) = mpsc::channel(8);
        let input = br#"{"threadId":"t","runId":"r","messages":[]}"#;
        let identity = RunInput::parse(input).unwrap().identity();
        (AguiRun::start(identity, "q", messages, state), sender)
    }

    async fn send(sender: &mpsc::Sender<BridgeToPage>, content: QueryContent) {
        let progress = BridgeToPage::QueryProgress(QueryProgress {
            uuid: QueryId::from("q"),
            number: None,
            content: content.to_raw(),
        });
        sender.send(progress).await.unwrap();
    }

    fn tool_started(id: &str) -> QueryContent {
        QueryContent::ToolStarted {
            id: id.to_owned(),
            tool: "paint".to_owned(),
            source: None,
            arguments: Map::new(),
        }
    }

    #[tokio::test]
    async fn a_run_is_not_suspended_before_all_calls_are_reported() {
        let state = Arc::new(QueryState::new());
        let (mut run, sender) = start(Arc::clone(&state));
        let calls = ["1", "2"].map(|id| (state.client_calls.open(id), state.activity.begin()));
        let _waiting = calls.each_ref().map(|(_, call)| {
            call.count_report();
            call.wait_outside()
        });
        for (id, expected) in [("1", RunPhase::Running), ("2", RunPhase::Suspended)] {
            send(&sender, tool_started(id)).await;
            while !run
                .next_events()
                .await
                .iter()
                .any(|it| matches!(it, AguiEvent::ToolCallEnd { .. }))
            {}
            assert_eq!(run.phase(), expected, "call {id}");
        }
    }

    #[tokio::test]
    async fn a_rejected_call_of_a_client_tool_has_its_result_when_the_run_waits_for_others() {
        let state = Arc::new(QueryState::new());
        let (mut run, sender) = start(Arc::clone(&state));
        let arguments = |id: &str| QueryContent::ToolArguments {
            id: id.to_owned(),
            tool: "paint".to_owned(),
            delta: "{".to_owned(),
        };
        for id in ["1", "2"] {
            send(&sender, arguments(id)).await;
        }
        let rejected = state.activity.begin();
        rejected.count_report();
        rejected.count_report();
        send(&sender, tool_started("1")).await;
        let finished = QueryContent::ToolFinished {
            id: "1".to_owned(),
            tool: "paint".to_owned(),
            source: None,
            result: None,
            is_error: true,
            error: Some("Not called".to_owned()),
            outcome: Some("invalid_args".to_owned()),
        };
        let (_open, made) = (state.client_calls.open("2"), state.activity.begin());
        drop(rejected);
        send(&sender, finished).await;
        made.count_report();
        let _waiting = made.wait_outside();
        send(&sender, tool_started("2")).await;
        let mut ends = Vec::new();
        while run.phase() == RunPhase::Running {
            ends.extend(
                run.next_events()
                    .await
                    .into_iter()
                    .filter_map(|event| match event {
                        AguiEvent::ToolCallEnd { tool_call_id } => {
                            Some(format!("end {tool_call_id}"))
                        }
                        AguiEvent::ToolCallResult { tool_call_id, .. } => {
                            Some(format!("result {tool_call_id}"))
                        }
                        _ => None,
                    }),
            );
        }
        assert_eq!(run.phase(), RunPhase::Suspended);
        assert_eq!(ends, ["end q-call-1", "result q-call-1", "end q-call-2"]);
        assert_eq!(run.encoder.pending_calls(), ["q-call-2"]);
    }

    #[tokio::test]
    async fn a_run_whose_last_message_was_dropped_fails() {
        let (mut run, sender) = start(Arc::new(QueryState::new()));
        let text = "half".to_owned();
        send(&sender, QueryContent::Text { text }).await;
        drop(sender);
        let mut events = Vec::new();
        while run.phase() == RunPhase::Running {
            events.extend(run.next_events().await);
        }
        let Some(AguiEvent::RunError { message, code, .. }) = events.last() else {
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
