//! A language model, independent of its provider. It receives the conversation so far and the
//! tools, and produces its next turn piece by piece.
//!
//! - [`Media`] is a picture or a file in the input.
//! - [`settings`] has the settings of a model, and [`select`] creates the model from them.
//! - [`genai`] is the adapter to hosted models; only it uses the crate of that name.
//! - [`retry`] repeats attempts that have failed, and [`scripted`] is a model without a provider.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use agent_tools::AgentFailure;
use bridge_protocol::{QueryId, TokenUsage};
use futures_util::stream::BoxStream;
use serde_json::{Map, Value};

mod genai;
mod retry;
mod scripted;
mod select;
mod settings;

pub(crate) use agent_tools::media::{Media, essence};
pub(crate) use select::from_settings;
pub use settings::{ModelSettings, Pictures, Provider, Thinking};

/// A language model, or a substitute for one.
pub(crate) trait Model: Send + Sync + fmt::Debug {
    /// Returns provider and model, as a label for people.
    fn label(&self) -> &str;

    /// Returns the name of the model at its provider.
    fn name(&self) -> &str;

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
    /// Groups the turns of a query for the provider's cache.
    pub(crate) query: QueryId,
    /// The prompt as the person wrote it, without context or additions of the service.
    pub(crate) prompt: Arc<str>,
    pub(crate) system: String,
    pub(crate) history: Vec<ModelMessage>,
    /// How many messages at the beginning of the history are of earlier queries.
    pub(crate) earlier_messages: usize,
    pub(crate) tools: Arc<[ModelTool]>,
    pub(crate) tool_selection: ToolSelection,
    /// The maximum output of this turn, in tokens.
    pub(crate) max_output_tokens: u32,
}

/// A tool that the model may call.
#[derive(Clone, Debug)]
pub(crate) struct ModelTool {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    /// A JSON Schema whose root is an object.
    pub(crate) input_schema: Value,
}

/// Which tools the model may call in a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ToolSelection {
    /// The model may call any tools, or none.
    Auto,
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
    /// The data that the provider requires to be sent back with the next request.
    pub(crate) provider_state: ProviderState,
}

/// Data that only the adapter can interpret: signed thoughts, and blocks in a provider's own
/// format.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProviderState(pub(crate) Option<Arc<dyn Any + Send + Sync>>);

/// A call that a model requests.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ModelCall {
    /// The id that the provider has given the call.
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) arguments: Map<String, Value>,
}

/// The result of a call, for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallResult {
    /// The [`ModelCall::id`] of the call.
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) text: String,
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
            is_error,
            media: Vec::new(),
        }
    }
}

/// A piece of a turn.
#[derive(Clone, Debug)]
pub(crate) enum ModelEvent {
    Text(String),
    Thinking(String),
    /// A piece of the arguments of a call, while the model writes them.
    Arguments(ArgumentsDelta),
    /// A message of the service to the person.
    Note(String),
    /// The completed turn.
    End {
        turn: ModelTurn,
        /// The tokens that the turn has used, as far as the provider reports them.
        usage: TokenUsage,
    },
}

/// A piece of the JSON text of the arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ArgumentsDelta {
    /// The index of the call in [`ModelTurn::calls`].
    pub(crate) index: usize,
    pub(crate) tool: String,
    pub(crate) delta: String,
}
