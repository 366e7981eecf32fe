//! What a provider is made to say: turns in pieces, and how they go wrong.

use std::collections::HashMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The turns of a model, one for each request of a query.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Script {
    /// The turns, in order.
    pub turns: Vec<Turn>,
}

/// Several scripts. A request that names the model after one, or has its name in double brackets in
/// a text, `[[so]]`, is answered by that.
#[derive(Clone, Debug, Default)]
pub struct Scripts {
    named: HashMap<String, Script>,
    fallback: Script,
}

/// What the model says in answer to one request.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Turn {
    /// What it says, in order.
    pub pieces: Vec<TurnPart>,
    /// Why it stops.
    pub stop: StopReason,
    /// What it costs.
    pub usage: TokenUsage,
    /// How it goes wrong.
    pub fault: Option<Fault>,
    /// How often it goes wrong before it goes well; always, if nothing is said.
    pub times: Option<usize>,
    /// After so many steps it waits until it is told to go on. A text is one step, a call several.
    pub pauses: Vec<usize>,
    /// Milliseconds between steps.
    pub pace: Option<u64>,
    /// Sends no more than so many bytes at once, also in the midst of a character.
    pub shreds: Option<usize>,
}

/// A part of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TurnPart {
    /// A piece of thought, where the provider shows thoughts.
    Thinking(String),
    /// A piece of text.
    Text(String),
    /// A tool is called. The arguments come in several pieces where the provider sends them so.
    Call {
        /// The name of the tool.
        tool: String,
        /// Its arguments.
        arguments: Value,
    },
}

/// Why a turn ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// The model has said what it wants to say, or has called its tools.
    #[default]
    Natural,
    /// It may not say more.
    Length,
    /// It does not want to, or must not. Ollama has no word for it.
    Refusal,
}

/// What a turn costs, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    /// Of the request.
    pub input: u64,
    /// Of the turn.
    pub output: u64,
}

impl Default for TokenUsage {
    fn default() -> Self {
        Self {
            input: 25,
            output: 15,
        }
    }
}

/// How a turn goes wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fault {
    /// The request is refused, in the provider's words for this status.
    Refused {
        /// The HTTP status.
        status: u16,
        /// Further headers, like `retry-after`.
        #[serde(default)]
        headers: Vec<(String, String)>,
    },
    /// The request is never answered.
    Silent,
    /// The answer ends in the midst.
    Broken {
        /// After so many steps.
        after: usize,
        /// How.
        how: BreakMode,
    },
    /// The arguments of the last call lack their end; the stream is otherwise whole.
    ArgumentsCutOff,
}

/// How an answer ends in the midst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BreakMode {
    /// With an error, told in the stream.
    Error,
    /// The connection is cut.
    Cut,
    /// The stream ends as it should, but for the event that says so.
    End,
    /// Nothing comes any more.
    Hang,
}

impl Script {
    /// These turns.
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
    fn from(any: Script) -> Self {
        Self {
            fallback: any,
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
    /// A script of this name. Requests that name none have what was there before.
    pub fn with(mut self, name: &str, script: impl Into<Script>) -> Self {
        self.named.insert(name.to_owned(), script.into());
        self
    }

    /// The names.
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
    /// A text, in one piece.
    pub fn from_text(text: &str) -> Self {
        Self::default().text(text)
    }

    /// A call and nothing else.
    pub fn from_call(tool: &str, arguments: Value) -> Self {
        Self::default().call(tool, arguments)
    }

    /// A refusal with this HTTP status.
    pub fn refused(status: u16) -> Self {
        let headers = Vec::new();
        Self::default().fault(Fault::Refused { status, headers })
    }

    /// No answer at all.
    pub fn silent() -> Self {
        Self::default().fault(Fault::Silent)
    }

    /// Thinks a piece more.
    pub fn thinking(self, text: &str) -> Self {
        self.piece(TurnPart::Thinking(text.to_owned()))
    }

    /// Says a piece more.
    pub fn text(self, text: &str) -> Self {
        self.piece(TurnPart::Text(text.to_owned()))
    }

    /// Calls a tool too.
    pub fn call(self, tool: &str, arguments: Value) -> Self {
        let tool = tool.to_owned();
        self.piece(TurnPart::Call { tool, arguments })
    }

    /// Stops for another reason than that all is said.
    pub fn stop(self, stop: StopReason) -> Self {
        Self { stop, ..self }
    }

    /// Costs so many tokens.
    pub fn usage(self, input: u64, output: u64) -> Self {
        let usage = TokenUsage { input, output };
        Self { usage, ..self }
    }

    /// Sends this header with its refusal.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let Some(Fault::Refused { headers, .. }) = &mut self.fault {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// Ends in the midst, after so many steps.
    pub fn broken(self, after: usize, how: BreakMode) -> Self {
        self.fault(Fault::Broken { after, how })
    }

    /// Leaves the arguments of the last call unfinished.
    pub fn arguments_cut_off(self) -> Self {
        self.fault(Fault::ArgumentsCutOff)
    }

    /// Goes wrong so often for the same request, and then well.
    pub fn times(self, times: usize) -> Self {
        let times = Some(times);
        Self { times, ..self }
    }

    /// Waits after so many steps until [`super::Provider::go_on`].
    pub fn pause_after(mut self, after: usize) -> Self {
        self.pauses.push(after);
        self
    }

    /// Takes its time between steps.
    pub fn pace(self, pace: Duration) -> Self {
        let pace = pace.as_millis().try_into().ok();
        Self { pace, ..self }
    }

    /// Sends no more than so many bytes at once.
    pub fn max_chunk(self, bytes: usize) -> Self {
        let shreds = Some(bytes);
        Self { shreds, ..self }
    }

    fn fault(self, fault: Fault) -> Self {
        let fault = Some(fault);
        Self { fault, ..self }
    }

    fn piece(mut self, piece: TurnPart) -> Self {
        self.pieces.push(piece);
        self
    }

    /// The fault, if the same request has not been answered badly often enough.
    pub(super) fn fault_at(&self, attempt: usize) -> Option<&Fault> {
        let still = self.times.is_none_or(|times| attempt < times);
        self.fault.as_ref().filter(|_| still)
    }

    pub(super) fn calls(&self) -> usize {
        let is_call = |piece: &&TurnPart| matches!(piece, TurnPart::Call { .. });
        self.pieces.iter().filter(is_call).count()
    }

    /// Whether it thinks, as providers check that it is told its thoughts again.
    pub(super) fn has_thinking(&self) -> bool {
        let is_thought = |piece: &TurnPart| matches!(piece, TurnPart::Thinking(_));
        self.pieces.iter().any(is_thought)
    }

    /// What is sent at once.
    pub(super) fn steps(&self, fault: Option<&Fault>) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut call = 0;
        for piece in &self.pieces {
            match piece {
                TurnPart::Thinking(text) => steps.push(Step::Thinking(text.clone())),
                TurnPart::Text(text) => steps.push(Step::Text(text.clone())),
                TurnPart::Call { tool, arguments } => {
                    steps.extend(call_steps(call, tool, arguments));
                    call += 1;
                }
            }
        }
        if fault == Some(&Fault::ArgumentsCutOff) {
            let last = steps
                .iter()
                .rposition(|step| matches!(step, Step::Arguments { .. }));
            steps.remove(last.expect("a turn with arguments that are cut off calls a tool"));
        }
        steps
    }
}

/// What is sent at once, before it is written as a provider does.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Thinking(String),
    Text(String),
    Call {
        /// Which one of the turn.
        call: usize,
        tool: String,
    },
    Arguments {
        call: usize,
        piece: String,
        /// With the last piece: for providers that send a call at once.
        whole: Option<(String, Value)>,
    },
}

/// So many pieces for the arguments of a call.
const ARGUMENT_PIECES: usize = 3;

fn call_steps(call: usize, tool: &str, arguments: &Value) -> Vec<Step> {
    let text = arguments.to_string();
    let mut pieces = pieces(&text, ARGUMENT_PIECES);
    let last = pieces.pop().unwrap_or_default();
    let begin = Step::Call {
        call,
        tool: tool.to_owned(),
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

/// A text in about as many pieces, none of them empty.
fn pieces(text: &str, count: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let size = characters.len().div_ceil(count).max(1);
    let pieces = characters.chunks(size);
    pieces.map(|piece| piece.iter().collect()).collect()
}
