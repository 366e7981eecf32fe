//! The loop over the turns of the model.

use std::sync::Arc;

use bridge_protocol::{ErrorCode, Query, QueryContent, QueryToolCall, TokenUsage};
use tracing::debug;

use super::boundary::PromptBoundary;
use super::budget::{Budget, ExhaustedLimit, history_bytes};
use super::input::QueryInput;
use super::progress_sink::ProgressSink;
use super::prompt::{self, ANSWER_NOW};
use super::tool_call_log::ToolCallLog;
use super::tool_catalog::ToolCatalog;
use super::tool_runner::{IndexedCall, ToolRunner, reject_calls};
use super::turn::{CallName, collect_turn};
use crate::failure::Failure;
use crate::model::{ArgumentsDelta, Call, CallResult, Message, ModelTurn, Request, ToolSelection};

/// The answer to a query.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The text of the last turn; `None` if the response tool has completed the query.
    pub(crate) result: Option<String>,
    /// The calls, in the order in which they ended.
    pub(crate) tool_calls: Vec<QueryToolCall>,
}

/// The state of a query that is being answered.
#[derive(Debug)]
pub(super) struct AgentLoop<'a> {
    input: QueryInput<'a>,
    prompt: Arc<str>,
    boundary: PromptBoundary,
    catalog: ToolCatalog,
    /// The name by which the model calls the response tool.
    response_tool: Option<String>,
    /// Whether the model stopped without calling the response tool, and must call it now.
    response_required: bool,
    /// The turns that were asked for again: they did not call the response tool though they had to,
    /// or had neither text nor calls.
    repeated_turns: usize,
    budget: Budget<'a>,
    /// Why the next turn must be the last, if it must.
    last_turn_reason: Option<ExhaustedLimit>,
    /// The calls that the model has requested so far, rejected ones included.
    call_count: usize,
    history: Vec<Message>,
    call_log: ToolCallLog,
}

impl<'a> AgentLoop<'a> {
    /// Lists the tools, checks that the response tool is among them, and writes the first message.
    pub(super) async fn start(input: QueryInput<'a>) -> Result<Self, Failure> {
        let catalog = ToolCatalog::new(input.tools.list().await?);
        let response_tool = find_response_tool(input.query, &catalog)?;
        let mut agent_loop = Self {
            input,
            prompt: input.query.prompt.as_str().into(),
            boundary: PromptBoundary::new(),
            catalog,
            response_tool,
            response_required: false,
            repeated_turns: 0,
            budget: Budget::new(input.limits),
            last_turn_reason: None,
            call_count: 0,
            history: Vec::new(),
            call_log: ToolCallLog::default(),
        };
        agent_loop.write_opening();
        Ok(agent_loop)
    }

    fn write_opening(&mut self) {
        self.history = vec![self.opening(false)];
        self.last_turn_reason = self.budget.last_turn_reason(self.input_bytes());
        if self.last_turn_reason.is_some() {
            self.history = vec![self.opening(true)];
        }
    }

    fn opening(&self, is_last_turn: bool) -> Message {
        let (catalog, boundary) = (&self.catalog, &self.boundary);
        let opening = prompt::opening_prompt(
            self.input.query,
            self.input.caller,
            catalog,
            is_last_turn,
            boundary,
        );
        Message::User(opening)
    }

    /// Runs turn after turn until the query is answered.
    pub(super) async fn run(mut self) -> Result<Answer, Failure> {
        loop {
            let last_turn_reason = self.last_turn_reason;
            let must_respond = last_turn_reason.is_some() || self.response_required;
            let selection = match &self.response_tool {
                Some(response) if must_respond => ToolSelection::Only(response.clone()),
                _ => ToolSelection::Auto,
            };
            let is_forced = selection != ToolSelection::Auto;
            let turn = self.next_turn(selection).await?;
            if is_forced && let Some(response) = self.missing_response(&turn) {
                self.repeat_turn(response_tool_not_called(&response))?;
                // Their ids may be known to the page.
                self.call_count += turn.calls.len();
                reject_calls_of_turn(&mut self.history, &turn, &response);
                self.require_response_tool(&response, &turn);
            } else if turn.calls.is_empty() {
                match self.response_tool.clone() {
                    Some(response) => self.require_response_tool(&response, &turn),
                    None if turn.text.trim().is_empty() => self.repeat_turn(empty_answer())?,
                    None => return Ok(self.into_answer(Some(turn.text))),
                }
            } else if self.response_tool.is_none()
                && let Some(limit) = last_turn_reason
            {
                return Err(self.budget.exceeded(limit));
            } else if self.run_calls(&turn).await? {
                return Ok(self.into_answer(None));
            }
        }
    }

    async fn next_turn(&mut self, tool_selection: ToolSelection) -> Result<ModelTurn, Failure> {
        let input_bytes = self.input_bytes();
        let max_output_tokens = self.budget.begin_turn(input_bytes)?;
        let events = self.input.model.turn(Request {
            query: self.input.query.uuid.clone(),
            prompt: Arc::clone(&self.prompt),
            system: self.input.system.to_owned(),
            history: self.history.clone(),
            tools: self.catalog.tools(),
            tool_selection,
            max_output_tokens,
        });
        let sink = &mut ProgressSink::new(self.input.progress);
        let (turn, usage) =
            collect_turn(events, sink, |arguments| self.name_call(arguments)).await?;
        self.report_usage(usage).await;
        let message = Message::Model(turn.clone());
        let output_bytes = history_bytes(std::slice::from_ref(&message));
        self.budget.end_turn(usage, input_bytes, output_bytes);
        debug!(
            query = %self.input.query.uuid,
            round = self.budget.rounds(),
            tokens = self.budget.tokens(),
            calls = turn.calls.len(),
            "a turn of the model has ended"
        );
        // Providers do not accept an empty turn in a request.
        if !turn.text.is_empty() || !turn.calls.is_empty() {
            self.history.push(message);
        }
        Ok(turn)
    }

    /// Names a call of the turn that the model is writing.
    fn name_call(&self, arguments: &ArgumentsDelta) -> CallName {
        CallName {
            id: call_number(self.call_count, arguments.index).to_string(),
            tool: self.catalog.registered_name(&arguments.tool).to_owned(),
        }
    }

    async fn report_usage(&self, turn: TokenUsage) {
        let QueryInput { state, model, .. } = self.input;
        let meter = &state.meter;
        meter.add_turn(model.name(), turn);
        let usage = meter.usage();
        // A closed channel is not an error: a receiver that does not need the answer any more drops
        // it.
        if !usage.models.is_empty() {
            let _ = self
                .input
                .progress
                .send(QueryContent::Usage { usage })
                .await;
        }
    }

    /// Returns the size of the model's input in the next turn.
    fn input_bytes(&self) -> u64 {
        self.input.system.len() as u64 + self.catalog.bytes() + history_bytes(&self.history)
    }

    /// Returns the response tool if a turn does not call it.
    fn missing_response(&self, turn: &ModelTurn) -> Option<String> {
        let responds = turn.calls.iter().any(|call| self.is_response_call(call));
        self.response_tool.clone().filter(|_| !responds)
    }

    /// Lets the model try again after a turn that is of no use, or fails if it has had its chance.
    fn repeat_turn(&mut self, failure: Failure) -> Result<(), Failure> {
        if self.repeated_turns == MAX_REPEATED_TURNS {
            return Err(failure);
        }
        self.repeated_turns += 1;
        debug!(query = %self.input.query.uuid, %failure, "the model is asked again");
        Ok(())
    }

    fn is_response_call(&self, call: &Call) -> bool {
        self.response_tool.as_ref() == Some(&call.tool)
    }

    /// Makes the next turn call the response tool: this turn ended without calling it.
    fn require_response_tool(&mut self, response: &str, turn: &ModelTurn) {
        self.response_required = true;
        // Providers do not accept two turns of the model in succession.
        if !turn.text.is_empty() && turn.calls.is_empty() {
            let reminder = prompt::response_tool_reminder(response, &self.boundary);
            self.history.push(Message::User(reminder));
        }
        self.last_turn_reason = self.budget.last_turn_reason(self.input_bytes());
    }

    /// Makes the calls of a turn; the call of the response tool runs last and alone. Returns
    /// whether that call succeeded, which completes the query.
    async fn run_calls(&mut self, turn: &ModelTurn) -> Result<bool, Failure> {
        let (response_calls, other_calls) = self.index_calls(&turn.calls);
        let granted = self.budget.reserve_calls(other_calls.len());
        let (granted, excess) = other_calls.split_at(granted);
        let mut results = vec![None; turn.calls.len()];
        let runner = ToolRunner {
            input: self.input,
            catalog: &self.catalog,
            boundary: &self.boundary,
        };
        runner
            .run_parallel(granted, &mut results, &mut self.call_log)
            .await?;
        runner.reject_excess(excess, &mut results).await;
        if let Some((response, repeated)) = response_calls.split_first() {
            let result = runner.run_single(*response, &mut self.call_log).await?;
            if !result.is_error {
                return Ok(true);
            }
            results[response.index] = Some(result);
            reject_calls(repeated, "the answer is one call.", &mut results);
        }
        self.append_results(results.into_iter().flatten().collect());
        self.refresh_tools().await?;
        Ok(false)
    }

    /// Numbers the calls of a turn, and separates those of the response tool from the others.
    fn index_calls<'b>(
        &mut self,
        calls: &'b [Call],
    ) -> (Vec<IndexedCall<'b>>, Vec<IndexedCall<'b>>) {
        let before = self.call_count;
        self.call_count += calls.len();
        let indexed = calls.iter().enumerate().map(|(index, call)| IndexedCall {
            index,
            number: call_number(before, index),
            call,
        });
        indexed.partition(|indexed| self.is_response_call(indexed.call))
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

    /// Lists the tools again: a call may have changed them.
    async fn refresh_tools(&mut self) -> Result<(), Failure> {
        let tools = self.input.tools.list().await?;
        // A page that reloads has no tools for a moment. Calls of its former tools wait at the
        // bridge.
        if !tools.is_empty() {
            self.catalog = ToolCatalog::new(tools);
        }
        Ok(())
    }

    fn into_answer(self, result: Option<String>) -> Answer {
        Answer {
            result,
            tool_calls: self.call_log.into_calls(),
        }
    }
}

/// Returns the number of a call within the query. `before` is the number of calls in earlier turns.
fn call_number(before: usize, index: usize) -> usize {
    before + index + 1
}

/// Finds the name by which the model calls the response tool of a query.
fn find_response_tool(query: &Query, catalog: &ToolCatalog) -> Result<Option<String>, Failure> {
    let Some(requested) = &query.response_tool else {
        return Ok(None);
    };
    if let Some(name) = catalog.offered_name(&requested.name) {
        return Ok(Some(name.to_owned()));
    }
    let name = &requested.name;
    let message = format!("the page has no tool `{name}`, which the answer must be a call of");
    let remedy = "register the response tool before you send the query";
    Err(Failure::new(ErrorCode::ToolNotFound, message).with_remedy(remedy))
}

/// How many turns of a query are asked for again.
const MAX_REPEATED_TURNS: usize = 1;

/// Answers the calls of a turn that should have called the response tool, and none else.
fn reject_calls_of_turn(history: &mut Vec<Message>, turn: &ModelTurn, response: &str) {
    if turn.calls.is_empty() {
        return;
    }
    let rejected = turn.calls.iter().map(|call| CallResult {
        id: call.id.clone(),
        tool: call.tool.clone(),
        text: format!("Not called: the answer must be a call of `{response}`. Call it now."),
        is_error: true,
    });
    history.push(Message::Results(rejected.collect()));
}

fn empty_answer() -> Failure {
    let message = "the model has answered with neither text nor a call, twice";
    let remedy = "say more in the prompt, or use another model";
    Failure::new(ErrorCode::ModelAnswerEmpty, message).with_remedy(remedy)
}

fn response_tool_not_called(response: &str) -> Failure {
    let message = format!("the model has not called `{response}`, which the answer must be");
    let remedy = "say in the prompt what the answer should be, or use another model";
    Failure::new(ErrorCode::ResponseToolNotCalled, message).with_remedy(remedy)
}
