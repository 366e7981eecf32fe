//! A language model, as the rest of the agent sees it: it is given what was said so far and the
//! tools there are, and says its next turn piece by piece.
//!
//! Only the adapter knows the crate that speaks with providers.

use std::fmt;
use std::sync::Arc;

use bridge_protocol::QueryId;
use futures_util::stream::BoxStream;
use serde_json::{Map, Value};

use crate::failure::Failure;

mod genai;
mod retry;
mod scripted;
mod select;
mod settings;

pub(crate) use select::from_settings;
pub use settings::{ModelSettings, Provider, Thinking};

/// Something that answers.
pub(crate) trait Model: Send + Sync + fmt::Debug {
    /// Provider and model, for people.
    fn label(&self) -> &str;

    /// The next turn. The stream ends with exactly one [`Event::End`] or one failure. Whoever drops
    /// it closes the provider's connection.
    fn turn(&self, request: Request) -> BoxStream<'static, Result<Event, Failure>>;
}

/// What a model is told.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Groups the turns of a query for the provider's cache.
    pub(crate) query: QueryId,
    /// What the person asked, and nothing else: no context, no text around it.
    pub(crate) prompt: Arc<str>,
    pub(crate) system: String,
    pub(crate) history: Vec<Message>,
    pub(crate) tools: Arc<[Tool]>,
    pub(crate) tool_selection: ToolSelection,
    /// Of this turn, in tokens.
    pub(crate) max_output_tokens: u32,
}

/// A tool that the model may call.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    /// A JSON Schema, its root an object.
    pub(crate) input_schema: Value,
}

/// Which tools the model may call in a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ToolSelection {
    /// Any, or none.
    Auto,
    /// It must call this one.
    Only(String),
}

/// What was said.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    User(String),
    Model(ModelTurn),
    /// Of the calls of the turn before, in their order.
    Results(Vec<CallResult>),
}

/// What a model has said.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModelTurn {
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
    /// What the provider wants to hear again with the next request.
    pub(crate) provider_state: ProviderState,
}

/// What only the adapter understands: signed thoughts, blocks of a provider's own.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProviderState(pub(crate) Option<Arc<dyn std::any::Any + Send + Sync>>);

/// A tool that a model wants called.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    /// The provider's id of it.
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) arguments: Map<String, Value>,
}

/// How a call went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallResult {
    /// [`Call::id`].
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

/// A piece of a turn.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Text(String),
    Thinking(String),
    /// Something that the person should know.
    Note(String),
    /// The whole turn.
    End {
        turn: ModelTurn,
        usage: Usage,
    },
}

/// What a turn has cost, in tokens, as far as the provider says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) input: u64,
    pub(crate) output: u64,
}
