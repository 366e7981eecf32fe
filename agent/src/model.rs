//! A language model, independent of its provider. It receives the conversation so far and the
//! tools, and produces its next turn piece by piece.
//!
//! - [`Media`] is a picture or a file in the input.
//! - [`settings`] has the settings of a model, and [`select`] creates the model from them.
//!   [`provider_key`] reads the key again when it was replaced.
//! - [`hosted`] sends the request of a turn and receives its response, in the format of one of the
//!   [`wires`]. [`prepared_turn`] decides what the request contains, by the [`rules`] of the model;
//!   [`tool_schema`] and [`answer_schema`] write schemas as each API accepts them.
//! - [`turn_builder`] assembles the turn from the pieces of the response. [`kept_turn`] is the turn in
//!   the format of its provider, for the next requests; [`foreign_turns`] decides which accept it.
//! - [`errors`] maps errors to failures; [`error_classification`] decides about retries and
//!   [`error_text`] extracts the text that may be logged. [`refusals`] finds the part of a request that
//!   a server refuses, to repeat the request without it; [`capabilities`] are those parts.
//! - [`retry`] repeats attempts that have failed, and [`scripted`] is a model without a provider.
//!   [`price`] is what the tokens of a model cost.

use std::fmt;
use std::sync::Arc;

use agent_tools::AgentFailure;
use bridge_protocol::TokenUsage;
use chrono::NaiveDate;
use futures_util::stream::BoxStream;
use serde_json::{Map, Value};

mod answer_schema;
mod api;
mod capabilities;
mod error_classification;
mod error_text;
mod errors;
mod foreign_turns;
mod hosted;
mod kept_turn;
mod model_tool;
mod prepared_turn;
mod price;
mod provider_key;
mod refusals;
mod retry;
mod rules;
mod scripted;
mod select;
mod settings;
mod tool_schema;
mod turn_builder;
mod wires;

pub(crate) use agent_tools::media::{Media, essence};
pub(crate) use capabilities::SwitchedOff;
pub(crate) use kept_turn::KeptTurn;
pub(crate) use model_tool::ModelTool;
pub(crate) use prepared_turn::ConvertedTools;
pub(crate) use price::Price;
pub(crate) use select::from_settings;
pub use settings::{ModelSettings, OpenaiApi, Pictures, Provider, Thinking};
pub(crate) use turn_builder::is_answer_text;

/// A language model, or a substitute for one.
pub(crate) trait Model: Send + Sync + fmt::Debug {
    /// Returns provider and model, as a label for people.
    fn label(&self) -> &str;

    /// Returns the name of the model at its provider.
    fn name(&self) -> &str;

    /// Returns the provider by its name in the semantic conventions of OpenTelemetry.
    fn provider(&self) -> &'static str {
        "_OTHER"
    }

    /// Returns the price of the model on a day, if it is known.
    fn price(&self, _day: NaiveDate) -> Option<Price> {
        None
    }

    /// Returns the most tokens that a turn may produce, thoughts included, if this many are for its
    /// answer.
    fn max_output_tokens(&self, of_answer: u32) -> u32 {
        of_answer
    }

    /// Returns whether the model reads content of this media type. Text is content of messages, and
    /// not meant here.
    fn reads_media(&self, mime_type: &str) -> bool;

    /// Starts the next turn. The stream ends with exactly one [`ModelEvent::End`] or one failure.
    /// Dropping it closes the connection to the provider.
    fn turn(&self, request: TurnRequest) -> BoxStream<'static, Result<ModelEvent, AgentFailure>>;
}

/// The input of a model for one turn.
#[derive(Clone, Debug)]
pub(crate) struct TurnRequest {
    /// Groups turns that begin alike for the provider's cache: those of a conversation, or of a query.
    /// It is a digest, so that the provider learns no name of either.
    pub(crate) cache_group: String,
    /// A digest of the user, by which queries of different users are distinguished.
    pub(crate) user: Arc<str>,
    /// The prompt as the person wrote it, without context or additions of the service.
    pub(crate) prompt: Arc<str>,
    pub(crate) system: String,
    pub(crate) history: Vec<ModelMessage>,
    /// How many messages at the beginning of the history are of earlier queries.
    pub(crate) earlier_messages: usize,
    pub(crate) tools: Arc<[ModelTool]>,
    pub(crate) tool_selection: ToolSelection,
    /// The tool whose arguments are the answer, if the query has a schema for its answer.
    pub(crate) answer_tool: Option<String>,
    /// The maximum output of this turn, in tokens.
    pub(crate) max_output_tokens: u32,
    /// The parts of requests that the server has refused to the query. Its turns share them.
    pub(crate) switched_off: Arc<SwitchedOff>,
    /// The tools of the query as the provider gets them. Its turns share them.
    pub(crate) converted_tools: Arc<ConvertedTools>,
}

/// Which tools the model may call in a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ToolSelection {
    /// The model may call any tools, or none.
    Auto,
    /// The model must answer, and cannot call any.
    None,
    /// The model must call the tool with this name.
    Only(String),
}

/// A message of the conversation.
#[derive(Clone, Debug)]
pub(crate) enum ModelMessage {
    User(UserMessage),
    Model(ModelTurn),
    /// The results of the calls in the turn before, in their order.
    Results(Vec<CallResult>),
}

/// A message of the person, or of the service in the place of the person.
#[derive(Clone, Debug, Default)]
pub(crate) struct UserMessage {
    pub(crate) text: String,
    pub(crate) media: Vec<Media>,
}

impl UserMessage {
    /// Replaces pictures and files by their descriptions.
    pub(crate) fn drop_media(&mut self) {
        for media in self.media.drain(..).rev() {
            let description = format!("[{}: no longer attached]\n", media.describe());
            self.text.insert_str(0, &description);
        }
    }
}

impl ModelMessage {
    /// Replaces pictures and files by their descriptions. Returns whether there were any.
    pub(crate) fn drop_media(&mut self) -> bool {
        match self {
            Self::User(user) => {
                let has_media = !user.media.is_empty();
                user.drop_media();
                has_media
            }
            // The text of a result describes its pictures.
            Self::Results(results) => {
                let media = results.iter_mut().map(|it| std::mem::take(&mut it.media));
                media.fold(false, |any, media| any | !media.is_empty())
            }
            Self::Model(_) => false,
        }
    }

    /// Makes the provider read a turn as its text and calls, without its thoughts. Returns whether it
    /// would have read more.
    pub(crate) fn drop_kept(&mut self) -> bool {
        match self {
            Self::Model(turn) => turn.kept.take().is_some(),
            Self::User(_) | Self::Results(_) => false,
        }
    }

    /// Creates a message of the person or the service without pictures and files.
    pub(crate) fn from_text(text: String) -> Self {
        let media = Vec::new();
        Self::User(UserMessage { text, media })
    }
}

/// A completed turn of a model.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModelTurn {
    pub(crate) text: String,
    pub(crate) calls: Vec<ModelCall>,
    /// The turn in the format of its provider, with signed thoughts.
    pub(crate) kept: Option<Arc<KeptTurn>>,
}

/// A call that a model requests.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ModelCall {
    /// The id that the provider has given the call.
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) arguments: Map<String, Value>,
    /// Why the arguments cannot be read, if they cannot. The model gets it as the result.
    pub(crate) unreadable: Option<String>,
}

/// The result of a call, for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallResult {
    /// The [`ModelCall::id`] of the call.
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) text: String,
    /// The marked lines of the service about the result, which only the model reads.
    pub(crate) notes: String,
    pub(crate) is_error: bool,
    /// The pictures in the result that the model reads.
    pub(crate) media: Vec<Media>,
}

impl CallResult {
    /// Creates the result of a call, without pictures.
    pub(crate) fn new(call: &ModelCall, text: String, is_error: bool) -> Self {
        Self {
            id: call.id.clone(),
            tool: call.tool.clone(),
            text,
            notes: String::new(),
            is_error,
            media: Vec::new(),
        }
    }

    /// Moves the notes to the end of the text, where the model reads them.
    pub(crate) fn join_notes(&mut self) {
        if self.notes.is_empty() {
            return;
        }
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(&std::mem::take(&mut self.notes));
    }
}

/// A piece of a turn, or of an attempt at it.
#[derive(Clone, Debug)]
pub(crate) enum ModelEvent {
    /// An attempt begins: its request is sent to the provider, which may count tokens from now on.
    Started,
    Text(String),
    Thinking(String),
    /// A piece of the arguments of a call, while the model writes them.
    Arguments(ArgumentsDelta),
    /// The attempt has failed, and another one follows. The text is for the person.
    Note(String),
    Usage(AttemptUsage),
    /// The tokens of an attempt that failed after the provider had begun to work on it. More attempts
    /// or the failure follow.
    Spent(TokenUsage),
    /// The completed turn.
    End {
        turn: ModelTurn,
        /// The tokens that the turn has used, as far as the provider reports them.
        usage: TokenUsage,
    },
}

/// The use of an attempt until now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AttemptUsage {
    /// The tokens that the provider has counted.
    pub(crate) tokens: TokenUsage,
    /// The tokens of the input that the provider has written to its cache.
    pub(crate) cache_writes: u64,
    /// The bytes of text that are held back until the turn ends.
    pub(crate) held_bytes: u64,
    /// Whether a part of the answer has begun, perhaps without any output yet.
    pub(crate) has_begun: bool,
}

/// A piece of the JSON text of the arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ArgumentsDelta {
    /// The index of the call in [`ModelTurn::calls`].
    pub(crate) index: usize,
    pub(crate) tool: String,
    pub(crate) delta: String,
}
