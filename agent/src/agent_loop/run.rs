//! The loop.

use std::sync::Arc;

use bridge_protocol::{ErrorCode, Query, QueryContent};
use tokio::sync::mpsc;
use tracing::debug;

use super::Answer;
use super::budget::{Budget, ExhaustedLimit, history_bytes};
use super::prompt::{self, ANSWER_NOW, PromptBoundary, SYSTEM_PROMPT};
use super::turn::collect_turn;
use crate::agent_loop::progress_sink::ProgressSink;
use crate::agent_loop::tool_call_log::ToolCallLog;
use crate::agent_loop::tool_catalog::ToolCatalog;
use crate::agent_loop::tool_runner::{IndexedCall, ToolRunner, reject_calls};
use crate::bridge::BridgeTools;
use crate::config::Limits;
use crate::failure::Failure;
use crate::model::{Call, CallResult, Message, Model, ModelTurn, Request, ToolSelection};

/// A query that is being answered.
#[derive(Debug)]
pub(super) struct AgentLoop<'a> {
    query: &'a Query,
    prompt: Arc<str>,
    bridge: &'a BridgeTools,
    model: &'a dyn Model,
    limits: &'a Limits,
    progress: &'a mpsc::Sender<QueryContent>,
    boundary: PromptBoundary,
    catalog: ToolCatalog,
    /// How the model calls the response tool.
    response_tool: Option<String>,
    /// The model has stopped without calling it, and must call it now.
    response_required: bool,
    budget: Budget<'a>,
    /// Why the next turn must be the answer, if it must.
    last_turn_reason: Option<ExhaustedLimit>,
    /// Calls of the query so far, also those that were not made.
    call_count: usize,
    history: Vec<Message>,
    record: ToolCallLog,
}

impl<'a> AgentLoop<'a> {
    pub(super) async fn start(
        asked: &'a Query,
        bridge: &'a BridgeTools,
        model: &'a dyn Model,
        limits: &'a Limits,
        say: &'a mpsc::Sender<QueryContent>,
    ) -> Result<Self, Failure> {
        let offer = ToolCatalog::new(bridge.list().await?);
        let response = find_response_tool(asked, &offer)?;
        let mark = PromptBoundary::new();
        let mut run = Self {
            query: asked,
            prompt: asked.prompt.as_str().into(),
            bridge,
            model,
            limits,
            progress: say,
            boundary: mark,
            catalog: offer,
            response_tool: response,
            response_required: false,
            budget: Budget::new(limits),
            last_turn_reason: None,
            call_count: 0,
            history: Vec::new(),
            record: ToolCallLog::default(),
        };
        run.write_opening();
        Ok(run)
    }

    fn write_opening(&mut self) {
        let opening = |run: &Self, is_last: bool| {
            let opening = prompt::opening_prompt(run.query, &run.catalog, is_last, &run.boundary);
            Message::User(opening)
        };
        self.history = vec![opening(self, false)];
        self.last_turn_reason = self.budget.last_turn_reason(self.input_bytes());
        if self.last_turn_reason.is_some() {
            self.history = vec![opening(self, true)];
        }
    }

    pub(super) async fn run(mut self) -> Result<Answer, Failure> {
        loop {
            let last = self.last_turn_reason;
            let must_respond = last.is_some() || self.response_required;
            let choice = match &self.response_tool {
                Some(response) if must_respond => ToolSelection::Only(response.clone()),
                _ => ToolSelection::Auto,
            };
            let is_forced = choice != ToolSelection::Auto;
            let turn = self.next_turn(choice).await?;
            self.check_response_call(&turn, is_forced)?;
            match (turn.calls.is_empty(), self.response_tool.clone(), last) {
                (true, None, _) => return Ok(self.into_answer(Some(turn.text))),
                (true, Some(response), _) => self.require_response_tool(&response, &turn),
                (false, None, Some(scarce)) => return Err(self.budget.exceeded(scarce)),
                (false, ..) => {
                    if self.run_calls(&turn).await? {
                        return Ok(self.into_answer(None));
                    }
                }
            }
        }
    }

    async fn next_turn(&mut self, choice: ToolSelection) -> Result<ModelTurn, Failure> {
        let reads = self.input_bytes();
        let max_output_tokens = self.budget.begin_turn(reads)?;
        let said = self.model.turn(Request {
            query: self.query.uuid.clone(),
            prompt: Arc::clone(&self.prompt),
            system: SYSTEM_PROMPT.to_owned(),
            history: self.history.clone(),
            tools: self.catalog.tools(),
            tool_selection: choice,
            max_output_tokens,
        });
        let (turn, usage) = collect_turn(said, &mut ProgressSink::new(self.progress)).await?;
        let message = Message::Model(turn.clone());
        let wrote = history_bytes(std::slice::from_ref(&message));
        self.budget.end_turn(usage, reads, wrote);
        debug!(
            query = %self.query.uuid,
            round = self.budget.rounds(),
            tokens = self.budget.tokens(),
            calls = turn.calls.len(),
            "the model has said its turn"
        );
        // An empty turn is nothing that a provider takes back.
        if !turn.text.is_empty() || !turn.calls.is_empty() {
            self.history.push(message);
        }
        Ok(turn)
    }

    /// What the model reads in its next turn, in bytes.
    fn input_bytes(&self) -> u64 {
        SYSTEM_PROMPT.len() as u64 + self.catalog.bytes() + history_bytes(&self.history)
    }

    /// A model that had to call the response tool has called it.
    fn check_response_call(&self, turn: &ModelTurn, is_forced: bool) -> Result<(), Failure> {
        let responds = turn.calls.iter().any(|call| self.is_response_call(call));
        match &self.response_tool {
            Some(response) if is_forced && !responds => Err(response_tool_not_called(response)),
            _ => Ok(()),
        }
    }

    fn is_response_call(&self, call: &Call) -> bool {
        self.response_tool.as_ref() == Some(&call.tool)
    }

    /// The model has stopped without the response tool.
    fn require_response_tool(&mut self, response: &str, turn: &ModelTurn) {
        self.response_required = true;
        // Providers take no turn that follows one of the model itself.
        if !turn.text.is_empty() {
            let reminder = prompt::response_tool_reminder(response, &self.boundary);
            self.history.push(Message::User(reminder));
        }
        self.last_turn_reason = self.budget.last_turn_reason(self.input_bytes());
    }

    /// Makes the calls of a turn: that of the response tool last and alone. True if it has succeeded,
    /// which completes the query.
    async fn run_calls(&mut self, turn: &ModelTurn) -> Result<bool, Failure> {
        let (responses, others) = self.index_calls(&turn.calls);
        let granted = self.budget.reserve_calls(others.len());
        let (others, beyond) = others.split_at(granted);
        let mut results = vec![None; turn.calls.len()];
        let caller = ToolRunner {
            bridge: self.bridge,
            catalog: &self.catalog,
            limits: self.limits,
            boundary: &self.boundary,
            progress: self.progress,
        };
        caller
            .run_parallel(others, &mut results, &mut self.record)
            .await?;
        caller.reject_excess(beyond, &mut results).await;
        if let Some((response, again)) = responses.split_first() {
            let result = caller.run_single(*response, &mut self.record).await?;
            if !result.is_error {
                return Ok(true);
            }
            results[response.index] = Some(result);
            reject_calls(again, "the answer is one call.", &mut results);
        }
        self.append_results(results.into_iter().flatten().collect());
        self.refresh_tools().await?;
        Ok(false)
    }

    fn index_calls<'b>(
        &mut self,
        calls: &'b [Call],
    ) -> (Vec<IndexedCall<'b>>, Vec<IndexedCall<'b>>) {
        let before = self.call_count;
        self.call_count += calls.len();
        let numbered = calls.iter().enumerate().map(|(place, call)| IndexedCall {
            index: place,
            number: before + place + 1,
            call,
        });
        numbered.partition(|numbered| self.is_response_call(numbered.call))
    }

    fn append_results(&mut self, results: Vec<CallResult>) {
        self.history.push(Message::Results(results));
        self.last_turn_reason = self.budget.last_turn_reason(self.input_bytes());
        if self.last_turn_reason.is_some()
            && self.response_tool.is_none()
            && let Some(Message::Results(results)) = self.history.last_mut()
            && let Some(last) = results.last_mut()
        {
            self.boundary.append_note(&mut last.text, ANSWER_NOW);
        }
    }

    /// What a call has done may have brought other tools.
    async fn refresh_tools(&mut self) -> Result<(), Failure> {
        let listed = self.bridge.list().await?;
        // A page that is being loaded again has none for a moment: its calls wait at the bridge.
        if !listed.is_empty() {
            self.catalog = ToolCatalog::new(listed);
        }
        Ok(())
    }

    fn into_answer(self, result: Option<String>) -> Answer {
        Answer {
            result,
            tool_calls: self.record.into_calls(),
        }
    }
}

/// How the model calls the tool that it must answer with.
fn find_response_tool(asked: &Query, offer: &ToolCatalog) -> Result<Option<String>, Failure> {
    let Some(demanded) = &asked.response_tool else {
        return Ok(None);
    };
    if let Some(name) = offer.offered_name(&demanded.name) {
        return Ok(Some(name.to_owned()));
    }
    let name = &demanded.name;
    let message = format!("the page has no tool `{name}`, which the answer must be a call of");
    let remedy = "register the response tool before you ask";
    Err(Failure::new(ErrorCode::ToolNotFound, message).with_remedy(remedy))
}

fn response_tool_not_called(response: &str) -> Failure {
    let message = format!("the model has not called `{response}`, which the answer must be");
    let remedy = "say in the prompt what the answer should be, or use another model";
    Failure::new(ErrorCode::ResponseToolNotCalled, message).with_remedy(remedy)
}
