//! The loop over the turns of the model.

use std::borrow::Cow;
use std::sync::Arc;

use agent_tools::{AgentFailure, OfferedTool};
use bridge_protocol::{ErrorCode, QueryContent, QueryToolCall, TokenUsage};
use serde_json::Value;
use tracing::debug;

use super::answer_tool::AnswerTool;
use super::approvals::unknown_names_note;
use super::attachments::PromptAttachments;
use super::boundary::PromptBoundary;
use super::budget::{Budget, ExhaustedLimit, history_bytes};
use super::history::{History, Shortened};
use super::input::QueryInput;
use super::progress_sink::ProgressSink;
use super::prompt::{self, ANSWER_NOW, OpeningPrompt};
use super::response::{
    answer_invalid, empty_answer, find_response_tool, reject_calls_of_turn,
    response_tool_not_called,
};
use super::tool_call_log::ToolCallLog;
use super::tool_catalog::{Executor, ToolCatalog};
use super::tool_runner::{IndexedCall, ToolRunner, reject_calls};
use super::turn::{CallName, collect_turn};
use crate::bridge::AllowedTool;
use crate::model::{
    ArgumentsDelta, CallResult, ModelCall, ModelMessage, ModelTurn, ToolSelection, TurnRequest,
    UserMessage,
};

/// The answer to a query.
#[derive(Debug)]
pub(crate) struct FinalAnswer {
    /// The text of the last turn, or the value that fits the `responseSchema`; `None` if the response
    /// tool has completed the query.
    pub(crate) result: Option<Value>,
    /// The calls, in the order in which they ended.
    pub(crate) tool_calls: Vec<QueryToolCall>,
}

/// The state of a query that is being answered.
#[derive(Debug)]
pub(super) struct AgentLoop<'a> {
    input: QueryInput<'a>,
    system: Cow<'a, str>,
    prompt: Arc<str>,
    boundary: PromptBoundary,
    answer_tool: Option<AnswerTool>,
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
    corrections: usize,
    shortenings: usize,
    history: History<'a>,
    call_log: ToolCallLog,
}

impl<'a> AgentLoop<'a> {
    /// Lists the tools, checks that the response tool is among them, and writes the first message.
    pub(super) async fn start(input: QueryInput<'a>) -> Result<Self, AgentFailure> {
        let (tools, source_tools) = tokio::join!(input.page_tools.list(), source_tools(input));
        let answer_tool = AnswerTool::for_query(input.query).await?;
        let catalog = catalog(input, answer_tool.as_ref(), &source_tools, tools?);
        let response_tool = find_response_tool(input.query, &catalog)?;
        let attachments = &input.query.attachments;
        let attachments = input
            .state
            .media
            .convert_attachments(attachments, input.model)?;
        let earlier = input.conversation.to_vec();
        let mut agent_loop = Self {
            input,
            system: prompt::with_sources(input.system, &input.sources.prompts(&source_tools)),
            prompt: input.query.prompt.as_str().into(),
            boundary: PromptBoundary::new(),
            answer_tool,
            catalog,
            response_tool,
            response_required: false,
            repeated_turns: 0,
            budget: Budget::new(input.limits),
            last_turn_reason: None,
            call_count: 0,
            corrections: 0,
            shortenings: 0,
            history: History::new(earlier, &input.state.transcript),
            call_log: ToolCallLog::default(),
        };
        let max_bytes = input.limits.max_history_bytes as u64;
        let shortened = agent_loop.history.shorten_earlier(max_bytes);
        agent_loop.note_shortened(shortened).await;
        if let Some(text) = unknown_names_note(input.query, &agent_loop.catalog) {
            agent_loop.send_progress(QueryContent::Note { text }).await;
        }
        agent_loop.write_opening(attachments);
        Ok(agent_loop)
    }

    fn write_opening(&mut self, attachments: PromptAttachments) {
        let PromptAttachments { media, items } = attachments;
        let message = |text| {
            ModelMessage::User(UserMessage {
                text,
                media: media.clone(),
            })
        };
        let is_remembered = self.input.query.conversation.is_some();
        let remembered = is_remembered.then(|| {
            message(prompt::remembered_prompt(
                self.input.query,
                &items,
                &self.boundary,
            ))
        });
        let opening = message(self.opening(&items, false));
        self.history.begin(opening, remembered.clone());
        self.last_turn_reason = self.budget.last_turn_reason(self.input_bytes());
        if self.last_turn_reason.is_some() {
            let opening = message(self.opening(&items, true));
            self.history.begin(opening, remembered);
        }
    }

    fn opening(&self, items: &[String], is_last_turn: bool) -> String {
        prompt::opening_prompt(OpeningPrompt {
            query: self.input.query,
            caller: self.input.caller,
            items,
            catalog: &self.catalog,
            response_tool: self.response_tool.as_deref(),
            is_last_turn,
            boundary: &self.boundary,
        })
    }

    /// Runs turn after turn until the query is answered.
    pub(super) async fn run(mut self) -> Result<FinalAnswer, AgentFailure> {
        loop {
            let must_respond = self.last_turn_reason.is_some() || self.response_required;
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
                    None => return Ok(self.into_answer(Some(turn.text.into()))),
                }
            } else if self.response_tool.is_none()
                && let Some(limit) = self.last_turn_reason
            {
                return Err(self.budget.exceeded(limit));
            } else if let Some(completed) = Box::pin(self.run_calls(&turn)).await? {
                return Ok(self.into_answer(completed.value));
            }
        }
    }

    /// Runs a turn, again with less input if it was too long for the model.
    async fn next_turn(
        &mut self,
        tool_selection: ToolSelection,
    ) -> Result<ModelTurn, AgentFailure> {
        loop {
            match self.try_turn(tool_selection.clone()).await {
                Err(failure) if failure.code == ErrorCode::ModelInputTooLong => {
                    self.shorten_input(failure).await?;
                }
                // The model may not read what another model has read, or its provider refuses it.
                Err(failure)
                    if failure.code == ErrorCode::ModelRequestRefused
                        && self.history.drop_earlier_media() =>
                {
                    let text = "Pictures and files of earlier requests were left out: the model's \
                                provider has refused the request with them";
                    let text = text.to_owned();
                    self.send_progress(QueryContent::Note { text }).await;
                }
                result => return result,
            }
        }
    }

    async fn try_turn(&mut self, tool_selection: ToolSelection) -> Result<ModelTurn, AgentFailure> {
        let input_bytes = self.input_bytes();
        let max_output_tokens = self.budget.begin_turn(input_bytes)?;
        let (history, earlier_messages) = self.history.messages();
        let events = self.input.model.turn(TurnRequest {
            query: self.input.query.uuid.clone(),
            prompt: Arc::clone(&self.prompt),
            system: self.system.clone().into_owned(),
            history,
            earlier_messages,
            tools: self.catalog.tools(),
            tool_selection,
            max_output_tokens,
        });
        let sink = &mut ProgressSink::new(self.input.progress);
        let (turn, usage) =
            collect_turn(events, sink, |arguments| self.name_call(arguments)).await?;
        self.report_usage(usage).await;
        let message = ModelMessage::Model(turn.clone());
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
            let catalog = &self.catalog;
            self.history
                .push_turn(&turn, |name| catalog.registered_name(name));
        }
        Ok(turn)
    }

    /// Leaves out the oldest of what the model reads, or fails if nothing can be left out.
    async fn shorten_input(&mut self, failure: AgentFailure) -> Result<(), AgentFailure> {
        let max_bytes = self.history.bytes() / 2;
        let shortened = self.history.shorten(max_bytes);
        if shortened == Shortened::Nothing || self.shortenings == MAX_SHORTENINGS {
            return Err(failure);
        }
        self.shortenings += 1;
        self.note_shortened(shortened).await;
        self.last_turn_reason = self.budget.last_turn_reason(self.input_bytes());
        Ok(())
    }

    async fn note_shortened(&self, shortened: Shortened) {
        if let Some(note) = shortened.note() {
            let text = note.to_owned();
            self.send_progress(QueryContent::Note { text }).await;
        }
    }

    /// Sends progress to the page. A closed channel is not an error: a receiver that does not need
    /// the answer any more drops it.
    async fn send_progress(&self, content: QueryContent) {
        let _ = self.input.progress.send(content).await;
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
        if !usage.models.is_empty() {
            self.send_progress(QueryContent::Usage { usage }).await;
        }
    }

    /// Returns the size of the model's input in the next turn.
    fn input_bytes(&self) -> u64 {
        self.system.len() as u64 + self.catalog.bytes() + self.history.bytes()
    }

    /// Returns the response tool if a turn does not call it.
    fn missing_response(&self, turn: &ModelTurn) -> Option<String> {
        let responds = turn.calls.iter().any(|call| self.is_response_call(call));
        self.response_tool.clone().filter(|_| !responds)
    }

    /// Lets the model try again after a useless turn, or fails if it has had its chance.
    fn repeat_turn(&mut self, failure: AgentFailure) -> Result<(), AgentFailure> {
        if self.repeated_turns == MAX_REPEATED_TURNS {
            return Err(failure);
        }
        self.repeated_turns += 1;
        debug!(query = %self.input.query.uuid, %failure, "the model is asked again");
        Ok(())
    }

    fn is_response_call(&self, call: &ModelCall) -> bool {
        self.response_tool.as_ref() == Some(&call.tool)
    }

    /// Makes the next turn call the response tool: this turn ended without calling it.
    fn require_response_tool(&mut self, response: &str, turn: &ModelTurn) {
        self.response_required = true;
        // Providers do not accept two turns of the model in succession.
        if !turn.text.is_empty() && turn.calls.is_empty() {
            let reminder = prompt::response_tool_reminder(response, &self.boundary);
            self.history.push_reminder(reminder);
        }
        self.last_turn_reason = self.budget.last_turn_reason(self.input_bytes());
    }

    /// Makes the calls of a turn; the call of the response tool runs last and alone. If that call
    /// succeeds, it completes the query.
    async fn run_calls(&mut self, turn: &ModelTurn) -> Result<Option<Completed>, AgentFailure> {
        let (response_calls, other_calls) = self.index_calls(&turn.calls);
        let granted = self.budget.reserve_calls(other_calls.len());
        let (granted, excess) = other_calls.split_at(granted);
        let mut results = vec![None; turn.calls.len()];
        let runner = ToolRunner::new(self.input, &self.catalog, &self.boundary);
        runner
            .run_parallel(granted, &mut results, &mut self.call_log)
            .await?;
        runner.reject_excess(excess, &mut results).await;
        let mut completed = None;
        if let Some((response, repeated)) = response_calls.split_first() {
            let (result, value) = match &self.answer_tool {
                Some(answer_tool) => read_answer(answer_tool, response.call).await?,
                None => (
                    runner.run_single(*response, &mut self.call_log).await?,
                    None,
                ),
            };
            completed = (!result.is_error).then_some(Completed { value });
            results[response.index] = Some(result);
            reject_calls(repeated, "the answer is one call.", &mut results);
        }
        let invalid_answer = response_calls
            .first()
            .and_then(|call| results[call.index].as_ref());
        let invalid_answer = invalid_answer
            .filter(|result| result.is_error && self.answer_tool.is_some())
            .map(|result| result.text.clone());
        let added = self.added_messages()?;
        self.append_results(results.into_iter().flatten().collect(), added);
        if completed.is_none() {
            if let Some(violations) = invalid_answer {
                self.correct_answer(&violations).await?;
            }
            self.refresh_tools().await?;
        }
        Ok(completed)
    }

    /// Lets the model correct an answer that does not fit the schema, or fails if it had its chances.
    async fn correct_answer(&mut self, violations: &str) -> Result<(), AgentFailure> {
        if self.corrections == MAX_CORRECTIONS {
            return Err(answer_invalid(violations));
        }
        self.corrections += 1;
        let text = "The answer does not have the form that the page needs: asking again".to_owned();
        self.send_progress(QueryContent::Note { text }).await;
        Ok(())
    }

    /// Numbers the calls of a turn, and separates those of the response tool from the others.
    fn index_calls<'b>(
        &mut self,
        calls: &'b [ModelCall],
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

    /// Returns the messages of the person while the query waited for the client.
    fn added_messages(&self) -> Result<Vec<ModelMessage>, AgentFailure> {
        let QueryInput { state, model, .. } = self.input;
        let prompts = state.take_added_prompts().into_iter();
        let messages = prompts.map(|prompt| {
            let attachments = state
                .media
                .convert_attachments(&prompt.attachments, model)?;
            Ok(prompt.into_message(attachments, &self.boundary))
        });
        messages.collect()
    }

    /// Appends the results of a turn, and the messages that the person has sent meanwhile.
    fn append_results(&mut self, results: Vec<CallResult>, added: Vec<ModelMessage>) {
        self.history.push(ModelMessage::Results(results));
        let input_bytes = self.input_bytes() + history_bytes(&added);
        self.last_turn_reason = self.budget.last_turn_reason(input_bytes);
        if self.last_turn_reason.is_some()
            && self.response_tool.is_none()
            && let Some(ModelMessage::Results(results)) = self.history.last_mut()
            && let Some(last) = results.last_mut()
        {
            self.boundary.append_note(&mut last.text, ANSWER_NOW);
        }
        for message in added {
            self.history.push(message);
        }
    }

    /// Lists the tools again: a call may have changed them.
    async fn refresh_tools(&mut self) -> Result<(), AgentFailure> {
        let tools = self.input.page_tools.list().await?;
        let source_tools = source_tools(self.input).await;
        // A page that reloads has no tools for a moment. Calls of its former tools wait at the
        // bridge.
        if !tools.is_empty() || !self.catalog.has_page_tools() {
            self.catalog = catalog(self.input, self.answer_tool.as_ref(), &source_tools, tools);
            // A new tool of the page can have taken its name.
            let answer_tool = self.catalog.answer_tool_name().map(str::to_owned);
            self.response_tool = answer_tool.or(self.response_tool.take());
        }
        Ok(())
    }

    fn into_answer(self, result: Option<Value>) -> FinalAnswer {
        FinalAnswer {
            result,
            tool_calls: self.call_log.into_calls(),
        }
    }
}

/// A query that the call of the response tool has completed.
#[derive(Debug)]
struct Completed {
    /// The answer that fits the `responseSchema`, if there is one.
    value: Option<Value>,
}

/// Reads the answer in the arguments of a call. Returns the result of the call, and the answer if it
/// fits the schema.
async fn read_answer(
    answer_tool: &AnswerTool,
    call: &ModelCall,
) -> Result<(CallResult, Option<Value>), AgentFailure> {
    let answer = answer_tool.read(&call.arguments).await?;
    let violations = answer.as_ref().err().cloned();
    let text = violations.unwrap_or_else(|| "Received.".to_owned());
    let result = CallResult::new(call, text, answer.is_err());
    Ok((result, answer.ok()))
}

/// Returns the number of a call within the query. `before` is the number of calls in earlier turns.
fn call_number(before: usize, index: usize) -> usize {
    before + index + 1
}

/// Returns the tools of sources that the query may use. If the page restricts the tools, these are
/// those that it names.
async fn source_tools(input: QueryInput<'_>) -> Vec<Arc<OfferedTool>> {
    let mut tools = input.sources.tools().await;
    if input.query.restrict_tools == Some(true) {
        let named = input.query.tools.as_deref().unwrap_or_default();
        tools.retain(|tool| named.iter().any(|it| it.name == tool.name));
    }
    tools
}

/// Returns the tools that the model can call: those of sources and of the page, and those of others.
fn catalog(
    input: QueryInput<'_>,
    answer_tool: Option<&AnswerTool>,
    source_tools: &[Arc<OfferedTool>],
    page_tools: Vec<AllowedTool>,
) -> ToolCatalog {
    let answer_tool = answer_tool.map(|it| std::slice::from_ref(it.tool()));
    let state_tool = input.state.shared.tool();
    ToolCatalog::new(source_tools, input.sources.known_tools(), page_tools)
        .with(Executor::Answer, answer_tool.unwrap_or_default())
        .with(Executor::Agent, state_tool.as_slice())
        .with(Executor::Client, input.client_tools)
}

/// How many turns of a query are asked for again.
const MAX_REPEATED_TURNS: usize = 1;

/// How often the model may correct an answer that does not fit the `responseSchema`.
const MAX_CORRECTIONS: usize = 2;

/// How often a query whose input is too long for the model is shortened.
const MAX_SHORTENINGS: usize = 3;
