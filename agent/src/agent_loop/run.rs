//! The loop over the turns of the model.

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agent_tools::AgentFailure;
use bridge_protocol::{ErrorCode, QueryContent, QueryToolCall};
use serde_json::Value;
use tracing::debug;

use super::answer_tool::AnswerTool;
use super::approvals::unknown_names_note;
use super::attachments::PromptAttachments;
use super::boundary::PromptBoundary;
use super::budget::{Budget, ExhaustedLimit, history_bytes};
use super::history::{History, Shortened};
use super::indexed_call::IndexedCall;
use super::input::QueryInput;
use super::progress_sink::ProgressSink;
use super::prompt::{self, ANSWER_NOW, OpeningPrompt};
use super::query_tools::{catalog, source_tools};
use super::rejection::{Rejection, SelectedCalls};
use super::repeated_calls::RepeatedCalls;
use super::response::{
    answer_invalid, empty_answer, find_response_tool, respond, response_tool_not_called,
};
use super::tool_call_log::ToolCallLog;
use super::tool_catalog::ToolCatalog;
use super::tool_runner::ToolRunner;
use super::trace_spans::{begin_turn, end_turn};
use super::turn::{CallName, collect_turn};
use super::turn_meter::{TurnMeter, TurnSize};
use crate::digest::Digest;
use crate::model::{
    ArgumentsDelta, CallResult, ConvertedTools, ModelCall, ModelMessage, ModelTurn, SwitchedOff,
    ToolSelection, TurnRequest, UserMessage,
};
use crate::spending::WAIT_NOTED_AFTER;

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
    /// The turns that were asked for again: they did not call the response tool though they had to, had
    /// neither text nor calls, or had a call that cannot be read.
    repeated_turns: usize,
    budget: Budget<'a>,
    /// Why the next turn must be the last, if it must.
    last_turn_reason: Option<ExhaustedLimit>,
    /// The calls that the model has requested so far, rejected ones included.
    call_count: usize,
    repeated_calls: RepeatedCalls,
    /// Calls of tools that only read, which do not end the row of other calls.
    repeated_reads: RepeatedCalls,
    corrections: usize,
    shortenings: usize,
    history: History<'a>,
    call_log: ToolCallLog,
    /// The parts of requests that the server of the model has refused to this query.
    switched_off: Arc<SwitchedOff>,
    converted_tools: Arc<ConvertedTools>,
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
            repeated_calls: RepeatedCalls::default(),
            repeated_reads: RepeatedCalls::default(),
            corrections: 0,
            shortenings: 0,
            history: History::new(earlier, &input.state.transcript),
            call_log: ToolCallLog::default(),
            switched_off: Arc::default(),
            converted_tools: Arc::default(),
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
        let query = self.input.query;
        let is_remembered = query.conversation.is_some();
        // Otherwise later queries begin with the same message, which the provider then has cached.
        let short =
            is_remembered.then(|| prompt::without_long_context(query, &items, &self.boundary));
        let short = short.flatten().map(&message);
        for is_last_turn in [false, true] {
            let opening = message(self.opening(&items, is_last_turn));
            let remembered = is_remembered.then(|| short.as_ref().unwrap_or(&opening).clone());
            self.history.begin(opening, remembered);
            self.last_turn_reason = self.budget.last_turn_reason(self.input_bytes());
            if self.last_turn_reason.is_none() {
                break;
            }
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
            let selection = self.tool_selection()?;
            let is_forced = matches!(selection, ToolSelection::Only(_));
            let turn = self.next_turn(selection).await;
            let last_turn_reason = self.last_turn_reason.filter(|_| !is_forced);
            let turn = match (turn, last_turn_reason) {
                // Gemini reports a call without tools as one that it cannot read.
                (Err(failure), Some(limit)) if failure.code == ErrorCode::ModelCallInvalid => {
                    return Err(self.budget.exceeded(limit));
                }
                // None of its calls has run.
                (Err(failure), None) if failure.code == ErrorCode::ModelCallInvalid => {
                    self.repeat_turn(failure)?;
                    self.last_turn_reason = self.budget.last_turn_reason(self.input_bytes());
                    continue;
                }
                (turn, _) => turn?,
            };
            if is_forced && let Some(response) = self.missing_response(&turn) {
                let rejection = || Rejection::of_other_call(&response);
                Box::pin(self.reject_calls(&turn, rejection)).await;
                self.repeat_turn(response_tool_not_called(&response))?;
                self.require_response_tool(&response, &turn);
            } else if turn.calls.is_empty() {
                match self.response_tool.clone() {
                    Some(response) => self.require_response_tool(&response, &turn),
                    None if turn.text.trim().is_empty() => self.repeat_turn(empty_answer())?,
                    None => return Ok(self.into_answer(Some(turn.text.into()))),
                }
            } else if let Some(limit) = last_turn_reason {
                Box::pin(self.reject_calls(&turn, Rejection::of_last_turn)).await;
                return Err(self.budget.exceeded(limit));
            } else if let Some(completed) = Box::pin(self.run_calls(&turn)).await? {
                return Ok(self.into_answer(completed.value));
            }
        }
    }

    /// Returns which tools the model may call in the next turn.
    fn tool_selection(&self) -> Result<ToolSelection, AgentFailure> {
        if self.last_turn_reason.is_none() && !self.response_required {
            return Ok(ToolSelection::Auto);
        }
        let response = find_response_tool(self.input.query, &self.catalog)?;
        Ok(response.map_or(ToolSelection::None, ToolSelection::Only))
    }

    /// Runs a turn, again with less input if it was too long for the model.
    async fn next_turn(
        &mut self,
        tool_selection: ToolSelection,
    ) -> Result<ModelTurn, AgentFailure> {
        let mut is_without_media = false;
        loop {
            match self.try_turn(tool_selection.clone()).await {
                Err(failure) if failure.code == ErrorCode::ModelInputTooLong => {
                    self.shorten_input(failure).await?;
                }
                // Another server, account or model may have issued them.
                Err(failure) if failure.is_about_messages && self.history.drop_earlier_kept() => {}
                // The model may not read what another model has read, or its provider refuses it.
                Err(failure) if failure.is_about_messages && self.history.drop_earlier_media() => {
                    is_without_media = true;
                }
                result => {
                    // Otherwise, they were not the reason.
                    if is_without_media && result.is_ok() {
                        let text = "Pictures and files of earlier requests were left out: the \
                                    model's provider has refused the request with them";
                        let text = text.to_owned();
                        self.send_progress(QueryContent::Note { text }).await;
                    }
                    return result;
                }
            }
        }
    }

    async fn try_turn(&mut self, tool_selection: ToolSelection) -> Result<ModelTurn, AgentFailure> {
        let model = self.input.model;
        let input_bytes = self.input_bytes();
        let max_output_tokens = self.budget.begin_turn(input_bytes)?;
        let size = TurnSize {
            input_bytes,
            max_output_tokens,
        };
        let mut meter = self.open_turn(size).await?;
        let (history, earlier_messages) = self.history.messages();
        let span = begin_turn(model, max_output_tokens);
        let events = model.turn(TurnRequest {
            cache_group: self.cache_group(),
            user: self.user_digest(),
            prompt: Arc::clone(&self.prompt),
            system: self.system.clone().into_owned(),
            history,
            earlier_messages,
            tools: self.catalog.tools(),
            tool_selection,
            answer_tool: self.catalog.answer_tool_name().map(str::to_owned),
            max_output_tokens,
            switched_off: Arc::clone(&self.switched_off),
            converted_tools: Arc::clone(&self.converted_tools),
        });
        let sink = &mut ProgressSink::new(self.input.progress);
        let begun_calls = AtomicUsize::new(0);
        let name_call = |arguments: &ArgumentsDelta| {
            begun_calls.fetch_max(arguments.index + 1, Ordering::Relaxed);
            self.name_call(arguments)
        };
        let result = collect_turn(events, &mut meter, sink, name_call).await;
        let usage = meter.close();
        end_turn(&span, &result, usage);
        drop(span);
        self.report_usage().await;
        let turn = match result {
            Ok(turn) => turn,
            Err(failure) => {
                self.budget.fail_turn(usage);
                // The page has pieces of them: a turn that is repeated has other numbers.
                self.call_count += begun_calls.into_inner();
                return Err(failure);
            }
        };
        self.budget.end_turn(usage);
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

    /// Opens a turn. The page gets a note if it waits for those that may use up the budget.
    async fn open_turn(&self, size: TurnSize) -> Result<TurnMeter<'a>, AgentFailure> {
        let QueryInput { state, model, .. } = self.input;
        let note = async {
            tokio::time::sleep(WAIT_NOTED_AFTER).await;
            let text = "Waiting: other requests may use up the budget".to_owned();
            self.send_progress(QueryContent::Note { text }).await;
            std::future::pending::<Infallible>().await
        };
        tokio::select! {
            biased;
            opened = TurnMeter::open(&state.meter, model, size) => opened,
            never = note => match never {},
        }
    }

    /// Returns a name for all turns that begin alike: those of the conversation, or of the query. It is
    /// a digest: users can choose equal ids, and these say something about them.
    fn cache_group(&self) -> String {
        let QueryInput { query, caller, .. } = self.input;
        let (user, app) = caller.map_or(("", ""), |it| (&*it.user, &*it.app));
        let group = match &query.conversation {
            Some(conversation) => ["conversation", &**conversation],
            None => ["query", query.uuid.as_str()],
        };
        let digest = Digest::new("mcp-web-agent: cache group, version 1");
        let values = [user, app].into_iter().chain(group);
        values.fold(digest, Digest::with).to_hex()
    }

    /// Returns a digest of the user. A model needs no name.
    fn user_digest(&self) -> Arc<str> {
        // A page can make itself any number of users.
        let known = self.input.caller.filter(|caller| !caller.self_made);
        let user = known.map_or("", |caller| &*caller.user);
        let digest = Digest::new("mcp-web-agent: user of a turn, version 1");
        digest.with(user).to_hex().into()
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

    async fn report_usage(&self) {
        let usage = self.input.state.meter.usage();
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
        let calls = self.number_calls(&turn.calls).into_iter();
        let (responses, others): (Vec<_>, Vec<_>) =
            calls.partition(|call| self.is_response_call(call.call));
        let mut selected = SelectedCalls::new(
            others,
            &self.catalog,
            &self.repeated_calls,
            &mut self.budget,
        );
        let second_answers = responses.iter().skip(1);
        let second_answers = second_answers.map(|call| (*call, Rejection::of_second_answer()));
        selected.rejected.extend(second_answers);
        let runner = ToolRunner::new(self.input, &self.catalog, &self.boundary);
        let mut results = vec![None; turn.calls.len()];
        for (call, rejection) in selected.rejected {
            results[call.index] = Some(runner.reject(call, rejection).await);
        }
        if selected.has_excess {
            let max_calls = self.budget.max_calls();
            let text = format!(
                "A query may make {max_calls} calls: the model has to answer with what it knows"
            );
            self.send_progress(QueryContent::Note { text }).await;
        }
        runner
            .run_parallel(&selected.granted, &mut results, &mut self.call_log)
            .await?;
        for call in selected.granted {
            let row = if self.catalog.is_read_only(&call.call.tool) {
                &mut self.repeated_reads
            } else {
                &mut self.repeated_calls
            };
            if let Some(result) = &mut results[call.index]
                && let Some(note) = row.record(call.call, result)
            {
                self.boundary.append_note(&mut result.notes, &note);
            }
        }
        let mut completed = None;
        let mut invalid_answer = None;
        if let Some(response) = responses.first() {
            let answer_tool = self.answer_tool.as_ref();
            let (result, value) =
                respond(answer_tool, &runner, *response, &mut self.call_log).await?;
            if !result.is_error {
                completed = Some(Completed { value });
            } else if answer_tool.is_some() {
                invalid_answer = Some(result.text.clone());
            }
            results[response.index] = Some(result);
        }
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

    /// Rejects all calls of a turn. Each has its end, also if the query fails then.
    async fn reject_calls(&mut self, turn: &ModelTurn, rejection: impl Fn() -> Rejection) {
        if turn.calls.is_empty() {
            return;
        }
        let calls = self.number_calls(&turn.calls);
        let runner = ToolRunner::new(self.input, &self.catalog, &self.boundary);
        let mut results = Vec::with_capacity(calls.len());
        for call in calls {
            results.push(runner.reject(call, rejection()).await);
        }
        self.history.push(ModelMessage::Results(results));
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

    /// Numbers the calls of a turn. The page knows their numbers from the arguments.
    fn number_calls<'b>(&mut self, calls: &'b [ModelCall]) -> Vec<IndexedCall<'b>> {
        let before = self.call_count;
        self.call_count += calls.len();
        let indexed = calls.iter().enumerate().map(|(index, call)| IndexedCall {
            index,
            number: call_number(before, index),
            call,
        });
        indexed.collect()
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
        if self.last_turn_reason.is_some() && self.response_tool.is_none() {
            let boundary = &self.boundary;
            self.history
                .change_last_notes(|notes| boundary.append_note(notes, ANSWER_NOW));
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
            // A query whose response tool is gone for a while continues with its other tools.
            if let Ok(found) = find_response_tool(self.input.query, &self.catalog) {
                self.response_tool = found;
            }
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

/// Returns the number of a call within the query. `before` is the number of calls in earlier turns.
fn call_number(before: usize, index: usize) -> usize {
    before + index + 1
}

/// How many turns of a query are asked for again.
const MAX_REPEATED_TURNS: usize = 1;

/// How often the model may correct an answer that does not fit the `responseSchema`.
const MAX_CORRECTIONS: usize = 2;

/// How often a query whose input is too long for the model is shortened.
const MAX_SHORTENINGS: usize = 3;
