//! Assembles a turn of the model from the pieces that a wire reads.

use std::collections::VecDeque;
use std::sync::Arc;

use agent_tools::{AgentFailure, text};
use bridge_protocol::{TokenUsage, to_well_formed};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::api::Api;
use super::errors::ErrorMapper;
use super::kept_turn::TurnOrigin;
use super::wires::tool::{WireTool, own_name};
use super::{ArgumentsDelta, AttemptUsage, KeptTurn, ModelCall, ModelEvent, ModelTurn};

/// The beginning of the id of a call that the model has made with its text, because the answer has a
/// format. Its provider knows no call with this id.
pub(super) const ANSWER_CALL_PREFIX: &str = "answer-text-";

/// The maximum number of blocks in a turn: items, calls, and what else is read or sent back as one.
/// Blocks are compared with each other, so that the time grows with the square of their number.
pub(super) const MAX_BLOCKS: usize = 2_000;

/// Why a turn has ended, as its provider says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The turn is whole: the model has answered, or requests calls.
    Complete,
    /// The maximum output, or the context of the model, is reached.
    Length,
    /// The model, or a filter of its provider, declines.
    Refused {
        /// The provider's name for what it is about; may be empty.
        category: String,
        /// The words of the provider or the model, for the log; may be empty.
        words: String,
    },
    /// The model tried to call a tool, and the call cannot be read, or is missing.
    InvalidCall,
    /// Any other reason, also one that is not known. The answer may be a part.
    Other(String),
}

/// Why an event ends a response early.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ReadError {
    /// The provider reports an error, in its format.
    Reported(Value),
    /// The event is not what the API documents.
    Unreadable,
    /// The turn has more parts than any answer has.
    TooLarge,
}

/// The meaning of the text of a turn if the answer has a format: the arguments of this tool.
#[derive(Clone, Debug)]
pub(super) struct AnswerText {
    /// The tool whose arguments are the answer.
    pub(super) tool: String,
    /// Whether the model may also call tools, and then writes text that is not the answer. The text
    /// is held back until the turn ends.
    pub(super) has_tools: bool,
}

/// A turn that is being received.
#[derive(Debug)]
pub(super) struct TurnBuilder {
    api: Api,
    origin: TurnOrigin,
    tools: Arc<[WireTool]>,
    answer: Option<AnswerText>,
    events: VecDeque<ModelEvent>,
    text: String,
    calls: Vec<StartedCall>,
    kept: Vec<Value>,
    /// Whether pieces of the text were sent as arguments of the answer, which is the first call then.
    has_sent_answer: bool,
    usage: AttemptUsage,
    /// The usage that was sent last.
    sent_usage: AttemptUsage,
    stop: Option<Stop>,
    is_ended: bool,
    has_output: bool,
    /// Whether output has followed a reason to stop, as of servers that send the reason in each event.
    continues_after_stop: bool,
    blocks: usize,
    /// The maximum output in tokens that was requested.
    max_output_tokens: Option<u64>,
}

#[derive(Debug)]
struct StartedCall {
    id: String,
    /// The own name of the tool. Empty while it is unknown.
    tool: String,
    /// The text of the arguments so far.
    arguments: String,
    /// How much of the arguments has been sent to the page.
    sent_bytes: usize,
}

/// A turn that failed after the provider has counted tokens.
#[derive(Debug)]
pub(super) struct FailedTurn {
    pub(super) failure: AgentFailure,
    pub(super) usage: TokenUsage,
}

impl TurnBuilder {
    pub(super) fn new(api: Api, tools: Arc<[WireTool]>, answer: Option<AnswerText>) -> Self {
        Self {
            api,
            origin: TurnOrigin::default(),
            tools,
            answer,
            events: VecDeque::new(),
            text: String::new(),
            calls: Vec::new(),
            kept: Vec::new(),
            has_sent_answer: false,
            usage: AttemptUsage::default(),
            sent_usage: AttemptUsage::default(),
            stop: None,
            is_ended: false,
            has_output: false,
            continues_after_stop: false,
            blocks: 0,
            max_output_tokens: None,
        }
    }

    /// Sets the maximum output that was requested. A turn of exactly this length is cut, also if its
    /// server says that it is complete: llama.cpp in Responses, and Ollama after a call.
    pub(super) fn with_max_output_tokens(self, max: u32) -> Self {
        Self {
            max_output_tokens: Some(max.into()),
            ..self
        }
    }

    /// Sets the origin, by which a later request decides whether it sends the turn back as it came.
    pub(super) fn with_origin(mut self, origin: TurnOrigin) -> Self {
        self.origin = origin;
        self
    }

    /// Creates a turn without tools, in which nothing is read.
    pub(super) fn empty(api: Api) -> Self {
        Self::new(api, Arc::default(), None)
    }

    /// Notes that a part of the answer has begun, perhaps without any output yet: a model that thinks
    /// is not silent.
    pub(super) fn begin(&mut self) {
        self.usage.has_begun = true;
    }

    /// Begins a block of the answer.
    ///
    /// # Errors
    ///
    /// When the turn has too many.
    pub(super) fn begin_block(&mut self) -> Result<(), ReadError> {
        self.begin();
        self.blocks += 1;
        if self.blocks > MAX_BLOCKS {
            return Err(ReadError::TooLarge);
        }
        Ok(())
    }

    /// Notes that output was received. An earlier reason says nothing about the end then: the turn is
    /// whole only if another one follows, which servers have that send it in each event.
    fn note_output(&mut self) {
        self.usage.has_begun = true;
        self.has_output = true;
        // The text that a reader has held back comes after the end.
        if self.stop.is_some() && !self.is_ended {
            self.continues_after_stop = true;
            self.stop = self.stop.take().filter(|stop| *stop != Stop::Complete);
        }
    }

    /// Adds a piece of the text.
    pub(super) fn text(&mut self, piece: &str) {
        if piece.is_empty() {
            return;
        }
        self.note_output();
        self.text.push_str(piece);
        match &self.answer {
            None => self.events.push_back(ModelEvent::Text(piece.to_owned())),
            // Text beside calls is not the answer.
            Some(answer) if answer.has_tools || (self.has_calls() && !self.has_sent_answer) => {
                self.usage.held_bytes += piece.len() as u64;
            }
            Some(answer) => {
                self.has_sent_answer = true;
                let delta = answer_delta(answer, piece);
                self.events.push_back(delta);
            }
        }
    }

    /// Adds a piece of text with which the model comments on its work. It is not a part of an answer
    /// that has a format.
    pub(super) fn commentary(&mut self, piece: &str) {
        if self.answer.is_none() {
            self.text(piece);
        } else if !piece.is_empty() {
            self.note_output();
            self.events.push_back(ModelEvent::Text(piece.to_owned()));
        }
    }

    /// Replaces the end of the text, which was received in pieces, by what the provider sends as the
    /// whole. The page has been sent the pieces, and gets the corrected text with the answer.
    pub(super) fn correct_text(&mut self, received: &str, whole: &str) {
        if self.text.ends_with(received) {
            self.text.truncate(self.text.len() - received.len());
            self.text.push_str(whole);
        }
    }

    /// Replaces the end of a comment, as [`Self::correct_text`] does with text.
    pub(super) fn correct_commentary(&mut self, received: &str, whole: &str) {
        if self.answer.is_none() {
            self.correct_text(received, whole);
        }
    }

    /// Adds a piece of what the model thinks.
    pub(super) fn thinking(&mut self, piece: &str) {
        if piece.is_empty() {
            return;
        }
        self.note_output();
        let event = ModelEvent::Thinking(piece.to_owned());
        self.events.push_back(event);
    }

    /// Starts a call, and returns its number. Id and name may follow.
    pub(super) fn start_call(&mut self, id: &str, sent_name: &str) -> usize {
        self.note_output();
        self.calls.push(StartedCall {
            id: String::new(),
            tool: String::new(),
            arguments: String::new(),
            sent_bytes: 0,
        });
        let call = self.calls.len() - 1;
        self.identify_call(call, id, sent_name);
        call
    }

    /// Sets id and name of a call, unless they are known or empty.
    pub(super) fn identify_call(&mut self, call: usize, id: &str, sent_name: &str) {
        let started = &mut self.calls[call];
        if started.id.is_empty() {
            id.clone_into(&mut started.id);
        }
        if started.tool.is_empty() {
            own_name(sent_name, &self.tools).clone_into(&mut started.tool);
        }
        self.send_arguments(call);
    }

    /// Adds a piece of the arguments of a call.
    pub(super) fn arguments(&mut self, call: usize, piece: &str) {
        if !piece.is_empty() {
            self.note_output();
        }
        self.calls[call].arguments.push_str(piece);
        self.send_arguments(call);
    }

    /// Sets the whole arguments of a call, of which pieces may have been received.
    pub(super) fn whole_arguments(&mut self, call: usize, whole: &str) {
        let started = &mut self.calls[call];
        match whole.strip_prefix(started.arguments.as_str()) {
            Some(rest) => started.arguments.push_str(rest),
            // The pieces are corrected. The page has been sent them, and gets the call later.
            None => {
                whole.clone_into(&mut started.arguments);
                started.sent_bytes = whole.len();
            }
        }
        self.send_arguments(call);
    }

    /// The arguments of a call so far.
    pub(super) fn arguments_so_far(&self, call: usize) -> &str {
        &self.calls[call].arguments
    }

    /// Returns the id of a call. It is made up if the provider has sent none, that of another call, or one
    /// that only the calls of this service have.
    pub(super) fn unique_id(&mut self, call: usize) -> &str {
        let (earlier, rest) = self.calls.split_at_mut(call);
        let id = &mut rest[0].id;
        let is_own = id.starts_with(ANSWER_CALL_PREFIX);
        if id.is_empty() || is_own || earlier.iter().any(|it| it.id == *id) {
            *id = new_call_id();
        }
        id
    }

    /// Makes up ids in the place of those that cannot be used. Returns whether there were any.
    fn make_ids_unique(&mut self) -> bool {
        let mut has_changed = false;
        for call in 0..self.calls.len() {
            let id = self.calls[call].id.clone();
            has_changed |= !id.is_empty() && self.unique_id(call) != id;
        }
        has_changed
    }

    fn send_arguments(&mut self, index: usize) {
        // The page has pieces of the answer under this number, and gets the call later.
        if self.has_sent_answer && index == 0 {
            return;
        }
        let call = &mut self.calls[index];
        if call.tool.is_empty() || call.sent_bytes >= call.arguments.len() {
            return;
        }
        let delta = call.arguments[call.sent_bytes..].to_owned();
        call.sent_bytes = call.arguments.len();
        let tool = call.tool.clone();
        let delta = ArgumentsDelta { index, tool, delta };
        self.events.push_back(ModelEvent::Arguments(delta));
    }

    /// Keeps a block in the format of the provider, which is sent back with the next request in place
    /// of text and calls of this turn.
    pub(super) fn keep(&mut self, block: Value) {
        self.kept.push(block);
    }

    /// The tokens that the provider has counted. The wire changes those that an event names.
    pub(super) fn usage_mut(&mut self) -> &mut TokenUsage {
        &mut self.usage.tokens
    }

    /// Sets how many tokens of the input the provider has written to its cache, if it says so.
    pub(super) fn cache_writes(&mut self, count: Option<u64>) {
        self.usage.cache_writes = count.unwrap_or(self.usage.cache_writes);
    }

    /// Sets the reason why the model has stopped. Events with usage may follow.
    pub(super) fn stop(&mut self, stop: Stop) {
        // A model that declines says so beside a normal reason.
        if !matches!(self.stop, Some(Stop::Refused { .. })) {
            self.stop = Some(stop);
        }
    }

    /// Marks the end of the response: nothing after it is read.
    pub(super) fn end(&mut self) {
        self.is_ended = true;
    }

    /// Whether the response has ended.
    pub(super) fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Whether the provider has said why the model has stopped. Without it, the turn is not whole.
    pub(super) fn has_stopped(&self) -> bool {
        self.stop.is_some()
    }

    /// Whether output has followed the reason to stop, which then says nothing about the end.
    pub(super) fn continues_after_stop(&self) -> bool {
        self.continues_after_stop
    }

    /// Whether a part of the answer has begun.
    pub(super) fn has_begun(&self) -> bool {
        self.usage.has_begun
    }

    /// Whether any text, thought or piece of a call was received.
    pub(super) fn has_output(&self) -> bool {
        self.has_output
    }

    /// Whether a call was started.
    pub(super) fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// The next event for the page.
    pub(super) fn next_event(&mut self) -> Option<ModelEvent> {
        self.events.pop_front()
    }

    /// The tokens that the provider has counted so far.
    pub(super) fn usage(&self) -> TokenUsage {
        self.usage.tokens
    }

    /// Returns the usage so far, if it has changed.
    pub(super) fn changed_usage(&mut self) -> Option<ModelEvent> {
        let former = std::mem::replace(&mut self.sent_usage, self.usage);
        (former != self.usage).then_some(ModelEvent::Usage(self.usage))
    }

    /// Whether the provider has counted or begun anything, so that the attempt costs something: a model
    /// may think before its first output.
    pub(super) fn is_charged(&self) -> bool {
        self.has_begun() || self.usage() != TokenUsage::default()
    }

    /// Ends the turn. The last events are those of text that was held back.
    pub(super) fn finish(
        mut self,
        errors: &ErrorMapper,
    ) -> Result<(Vec<ModelEvent>, ModelTurn, TokenUsage), FailedTurn> {
        let usage = self.usage();
        if self.make_ids_unique() {
            // Its results could not name the calls in it.
            self.kept.clear();
        }
        self.check_stop(errors)
            .map_err(|failure| FailedTurn { failure, usage })?;
        let is_answer = self.calls.is_empty() && !self.text.trim().is_empty();
        if let Some(answer) = self.answer.take() {
            match (is_answer, self.has_sent_answer) {
                (true, has_sent) => {
                    if !has_sent {
                        self.events.push_back(answer_delta(&answer, &self.text));
                    }
                    self.calls.push(StartedCall {
                        id: format!("{ANSWER_CALL_PREFIX}{}", Uuid::new_v4()),
                        tool: answer.tool,
                        arguments: self.text.clone(),
                        sent_bytes: 0,
                    });
                }
                (false, false) if !self.text.is_empty() => {
                    self.events.push_back(ModelEvent::Text(self.text.clone()));
                }
                (false, _) => {}
            }
        }
        let kept = (!self.kept.is_empty()).then(|| {
            Arc::new(KeptTurn {
                api: self.api,
                origin: self.origin,
                blocks: self.kept,
            })
        });
        let turn = ModelTurn {
            text: self.text,
            calls: self.calls.into_iter().map(StartedCall::complete).collect(),
            kept,
        };
        Ok((self.events.into(), turn, usage))
    }

    fn check_stop(&self, errors: &ErrorMapper) -> Result<(), AgentFailure> {
        let stop = match &self.stop {
            Some(Stop::Complete) if self.max_output_tokens == Some(self.usage.tokens.output) => {
                &Some(Stop::Length)
            }
            stop => stop,
        };
        match stop {
            Some(Stop::Complete) => Ok(()),
            Some(Stop::Refused { category, words }) => Err(errors.refused(category, words)),
            Some(Stop::InvalidCall) => Err(errors.invalid_call()),
            Some(Stop::Length) => Err(match self.calls.last() {
                Some(call) if parse_object(&call.arguments).is_err() => {
                    errors.arguments_cut_off(&call.tool)
                }
                _ => errors.length_reached(),
            }),
            Some(Stop::Other(reason)) => Err(errors.stopped(reason)),
            None => Err(errors.unfinished(self.has_output)),
        }
    }
}

fn answer_delta(answer: &AnswerText, piece: &str) -> ModelEvent {
    ModelEvent::Arguments(ArgumentsDelta {
        index: 0,
        tool: answer.tool.clone(),
        delta: piece.to_owned(),
    })
}

impl ModelCall {
    /// Whether the model has made the call with its text, because the answer has a format.
    pub(super) fn is_answer_text(&self) -> bool {
        is_answer_text(&self.id)
    }
}

/// Whether this is the id of a call that the model has made with its text, because the answer has a format.
pub(crate) fn is_answer_text(call_id: &str) -> bool {
    call_id.starts_with(ANSWER_CALL_PREFIX)
}

impl StartedCall {
    fn complete(self) -> ModelCall {
        let (arguments, unreadable) = match parse_object(&self.arguments) {
            Ok(arguments) => (arguments, None),
            Err(reason) => (Map::new(), Some(reason)),
        };
        let id = match self.id.as_str() {
            "" => new_call_id(),
            _ => self.id,
        };
        ModelCall {
            id,
            tool: self.tool,
            arguments,
            unreadable,
        }
    }
}

fn new_call_id() -> String {
    // Nine letters and digits are an id for every provider.
    Uuid::new_v4().simple().to_string()[..9].to_owned()
}

/// Parses the arguments of a call. Some models write nothing for a tool without parameters, and some
/// the text of an object as a string. Half of a surrogate pair becomes U+FFFD.
pub(super) fn parse_object(arguments: &str) -> Result<Map<String, Value>, String> {
    if arguments.trim().is_empty() {
        return Ok(Map::new());
    }
    let parse = |json: &str| serde_json::from_str(&to_well_formed(json));
    let parsed = match parse(arguments) {
        Ok(Value::String(inner)) => parse(&inner),
        parsed => parsed,
    };
    match parsed {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err(format!(
            "the arguments must be a JSON object, and are {}",
            text::shorten_name(arguments)
        )),
        Err(error) => Err(format!(
            "the arguments are not JSON ({error}): {}",
            text::shorten_name(arguments)
        )),
    }
}

#[cfg(test)]
mod tests;
