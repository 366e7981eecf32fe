//! Scripts for the mock provider: turns in parts, and how they fail.

use std::collections::HashMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::provider_rules::{Accepted, ChatServer};

/// The turns of a model, one for each request of a query.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Script {
    /// The turns, in order.
    pub turns: Vec<Turn>,
}

/// Several scripts with names. A request is answered by the script that its model is named after,
/// or whose name is in double brackets in a text of the request: `[[name]]`.
#[derive(Clone, Debug, Default)]
pub struct Scripts {
    named: HashMap<String, Script>,
    fallback: Script,
}

/// The model's answer to one request.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Turn {
    /// The parts, in order.
    pub pieces: Vec<TurnPart>,
    /// Why the turn ends.
    pub stop: StopReason,
    /// The token usage that is reported.
    pub usage: TokenUsage,
    /// How the turn fails.
    pub fault: Option<Fault>,
    /// How many attempts fail before one succeeds; all of them if this is `None`.
    pub times: Option<usize>,
    /// The response pauses after these numbers of steps, until it is resumed. A text is one step, a
    /// call several.
    #[serde(rename = "pauses")]
    pub pause_after_steps: Vec<usize>,
    /// Milliseconds between steps.
    pub pace: Option<u64>,
    /// Into how many pieces the arguments of each call are split; into three if this is `None`.
    pub argument_pieces: Option<usize>,
    /// The maximum size of a chunk in bytes; a chunk may end in the middle of a character.
    #[serde(rename = "shreds")]
    pub max_chunk_bytes: Option<usize>,
}

/// A part of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TurnPart {
    /// A piece of the model's thinking, for providers that show it.
    Thinking(String),
    /// A piece of text.
    Text(String),
    /// A tool call. Its arguments arrive in several pieces if the provider streams them so.
    Call {
        /// The name of the tool.
        tool: String,
        /// Its arguments.
        arguments: Value,
    },
    /// A JSON answer: text if the request asks for JSON, else a call of the tool `answer` if there is
    /// one.
    Answer(Value),
}

/// Why a turn ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// The model has finished, or calls tools.
    #[default]
    Natural,
    /// The maximum length is reached.
    Length,
    /// The model refuses, or a filter does.
    Refusal,
}

/// The token usage of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenUsage {
    /// Tokens of the request, with those from a cache.
    pub input: u64,
    /// Tokens of the turn, with those of its thinking.
    pub output: u64,
    /// Tokens of the request that were read from a cache.
    pub cached: u64,
    /// Tokens of the turn that were thinking. A model that does not think has none.
    pub thinking: u64,
}

impl Default for TokenUsage {
    fn default() -> Self {
        Self {
            input: 25,
            output: 15,
            cached: 0,
            thinking: 0,
        }
    }
}

/// How a turn fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fault {
    /// The request is rejected with the provider's error for this status.
    #[serde(rename = "refused")]
    Rejected {
        /// The HTTP status.
        status: u16,
        /// More headers, such as `retry-after`.
        #[serde(default)]
        headers: Vec<(String, String)>,
    },
    /// The request is never answered.
    Silent,
    /// The response breaks off.
    Broken {
        /// The number of steps before the break.
        after: usize,
        /// How the response breaks off.
        how: BreakMode,
    },
    /// The end of the last call's arguments is missing; the stream is complete otherwise.
    ArgumentsCutOff,
}

/// How a response breaks off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BreakMode {
    /// With an error event in the stream.
    Error,
    /// The connection is closed in the middle of the body.
    Cut,
    /// The body ends properly, but without the final event.
    End,
    /// The connection stays open, but nothing more is sent.
    Hang,
}

impl Script {
    /// Creates a script from its turns.
    pub fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self {
            turns: turns.into_iter().collect(),
        }
    }
}

impl From<Turn> for Script {
    fn from(turn: Turn) -> Self {
        Self::new([turn])
    }
}

impl From<Script> for Scripts {
    fn from(script: Script) -> Self {
        Self {
            fallback: script,
            ..Self::default()
        }
    }
}

impl From<Turn> for Scripts {
    fn from(turn: Turn) -> Self {
        Script::new([turn]).into()
    }
}

impl Scripts {
    /// Adds a script with a name. Requests that contain no name still get the first script.
    pub fn with(mut self, name: &str, script: impl Into<Script>) -> Self {
        self.named.insert(name.to_owned(), script.into());
        self
    }

    /// Returns the names of the scripts.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(String::as_str)
    }

    pub(super) fn select(&self, model: &str, body: &Value) -> &Script {
        if let Some(script) = self.named.get(model) {
            return script;
        }
        let body = body.to_string();
        let is_named = |name: &str| body.contains(&format!("[[{name}]]"));
        let mut named = self.named.iter();
        let named = named.find(|(name, _)| is_named(name));
        named.map_or(&self.fallback, |(_, script)| script)
    }
}

impl Turn {
    /// Creates a turn of one text.
    pub fn from_text(text: &str) -> Self {
        Self::default().text(text)
    }

    /// Creates a turn of one call.
    pub fn from_call(tool: &str, arguments: Value) -> Self {
        Self::default().call(tool, arguments)
    }

    /// Creates a turn of one JSON answer.
    pub fn from_answer(value: Value) -> Self {
        Self::default().piece(TurnPart::Answer(value))
    }

    /// Creates a turn that is rejected with this HTTP status.
    pub fn rejected(status: u16) -> Self {
        let headers = Vec::new();
        Self::default().fault(Fault::Rejected { status, headers })
    }

    /// Creates a turn that is never answered.
    pub fn silent() -> Self {
        Self::default().fault(Fault::Silent)
    }

    /// Adds a piece of thinking.
    pub fn thinking(self, text: &str) -> Self {
        self.piece(TurnPart::Thinking(text.to_owned()))
    }

    /// Adds a piece of text.
    pub fn text(self, text: &str) -> Self {
        self.piece(TurnPart::Text(text.to_owned()))
    }

    /// Adds a tool call.
    pub fn call(self, tool: &str, arguments: Value) -> Self {
        let tool = tool.to_owned();
        self.piece(TurnPart::Call { tool, arguments })
    }

    /// Sets why the turn ends.
    pub fn stop(self, stop: StopReason) -> Self {
        Self { stop, ..self }
    }

    /// Sets the token usage that is reported.
    pub fn usage(self, input: u64, output: u64) -> Self {
        self.token_usage(TokenUsage {
            input,
            output,
            ..TokenUsage::default()
        })
    }

    /// Sets the token usage that is reported, with cached and thinking tokens.
    pub fn token_usage(self, usage: TokenUsage) -> Self {
        Self { usage, ..self }
    }

    /// Adds a header to the rejection.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let Some(Fault::Rejected { headers, .. }) = &mut self.fault {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// Breaks off after this number of steps.
    pub fn broken(self, after: usize, how: BreakMode) -> Self {
        self.fault(Fault::Broken { after, how })
    }

    /// Omits the end of the last call's arguments.
    pub fn arguments_cut_off(self) -> Self {
        self.fault(Fault::ArgumentsCutOff)
    }

    /// Fails this many attempts of the same request, and succeeds then.
    pub fn times(self, times: usize) -> Self {
        let times = Some(times);
        Self { times, ..self }
    }

    /// Pauses after this number of steps until
    /// [`MockProvider::resume_one`](super::MockProvider::resume_one).
    pub fn pause_after(mut self, after: usize) -> Self {
        self.pause_after_steps.push(after);
        self
    }

    /// Waits this long between steps.
    pub fn pace(self, pace: Duration) -> Self {
        let pace = pace.as_millis().try_into().ok();
        Self { pace, ..self }
    }

    /// Sets into how many pieces the arguments of each call are split.
    pub fn argument_pieces(self, count: usize) -> Self {
        let argument_pieces = Some(count);
        Self {
            argument_pieces,
            ..self
        }
    }

    /// Sets the maximum size of a chunk.
    pub fn max_chunk(self, bytes: usize) -> Self {
        let max_chunk_bytes = Some(bytes);
        Self {
            max_chunk_bytes,
            ..self
        }
    }

    fn fault(self, fault: Fault) -> Self {
        let fault = Some(fault);
        Self { fault, ..self }
    }

    fn piece(mut self, part: TurnPart) -> Self {
        self.pieces.push(part);
        self
    }

    /// Returns the fault of this attempt, counted from 0, if it still fails.
    pub(super) fn fault_at(&self, attempt: usize) -> Option<&Fault> {
        let fails = self.times.is_none_or(|times| attempt < times);
        self.fault.as_ref().filter(|_| fails)
    }

    pub(super) fn calls(&self) -> usize {
        let is_call = |part: &&TurnPart| matches!(part, TurnPart::Call { .. });
        self.pieces.iter().filter(is_call).count()
    }

    fn begins_with_thinking(&self) -> bool {
        matches!(self.pieces.first(), Some(TurnPart::Thinking(_)))
    }

    /// Returns the turn as the response to an accepted request.
    pub(super) fn for_request(&self, request: &Accepted, server: ChatServer) -> Self {
        let mut turn = self.clone();
        for part in &mut turn.pieces {
            let TurnPart::Answer(value) = part else {
                continue;
            };
            let as_call = !request.wants_json && request.tools.iter().any(|tool| tool == "answer");
            *part = if as_call {
                TurnPart::Call {
                    tool: "answer".to_owned(),
                    arguments: value.clone(),
                }
            } else {
                TurnPart::Text(value.to_string())
            };
        }
        if !request.thinks {
            turn.usage.thinking = 0;
        }
        if server == ChatServer::Ollama {
            // It counts neither of them.
            (turn.usage.cached, turn.usage.thinking) = (0, 0);
        }
        turn
    }

    /// Returns a thought before the turn, if the model thinks and the script does not begin with a
    /// thought.
    pub(super) fn first_thought(&self, request: &Accepted) -> Option<Step> {
        let is_missing = request.thinks && !self.begins_with_thinking();
        is_missing.then(|| Step::Thinking("Let me think.".to_owned()))
    }

    /// Returns the steps in which the turn is sent.
    pub(super) fn steps(&self, fault: Option<&Fault>) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut call = 0;
        for part in &self.pieces {
            match part {
                TurnPart::Thinking(text) => steps.push(Step::Thinking(text.clone())),
                TurnPart::Text(text) => steps.push(Step::Text(text.clone())),
                TurnPart::Call { tool, arguments } => {
                    let count = self.argument_pieces.unwrap_or(ARGUMENT_PIECES);
                    steps.extend(call_steps(call, tool, arguments, count));
                    call += 1;
                }
                TurnPart::Answer(_) => unreachable!("`for_request` replaces it"),
            }
        }
        if fault == Some(&Fault::ArgumentsCutOff) {
            let last = steps
                .iter()
                .rposition(|step| matches!(step, Step::Arguments { .. }));
            steps.remove(last.expect("a turn with `ArgumentsCutOff` calls a tool"));
        }
        steps
    }
}

/// A piece that is sent at once, before it is encoded in the format of a provider.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Thinking(String),
    Text(String),
    Call {
        /// The number of the call in its turn.
        call: usize,
        tool: String,
        arguments: Value,
    },
    Arguments {
        call: usize,
        piece: String,
        /// The whole call, with its last piece: for providers that send a call at once.
        whole: Option<(String, Value)>,
    },
}

/// Into how many pieces the arguments of a call are split by default.
const ARGUMENT_PIECES: usize = 3;

fn call_steps(call: usize, tool: &str, arguments: &Value, count: usize) -> Vec<Step> {
    let text = arguments.to_string();
    let mut pieces = pieces(&text, count);
    let last = pieces.pop().unwrap_or_default();
    let begin = Step::Call {
        call,
        tool: tool.to_owned(),
        arguments: arguments.clone(),
    };
    let piece = |piece| Step::Arguments {
        call,
        piece,
        whole: None,
    };
    let end = Step::Arguments {
        call,
        piece: last,
        whole: Some((tool.to_owned(), arguments.clone())),
    };
    let middle = pieces.into_iter().map(piece);
    [begin].into_iter().chain(middle).chain([end]).collect()
}

/// Splits a text into about `count` pieces, none of them empty.
fn pieces(text: &str, count: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let size = characters.len().div_ceil(count).max(1);
    let pieces = characters.chunks(size);
    pieces.map(|piece| piece.iter().collect()).collect()
}
