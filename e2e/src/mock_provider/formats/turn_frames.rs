//! The input and the output of encoding a turn, and the events of its stream.

use serde_json::Value;

use crate::mock_provider::script::{Fault, Step, Turn};
use crate::provider_rules::{Accepted, ChatServer, ProviderRequest};

/// The input for the encoding of a turn.
pub(in crate::mock_provider) struct TurnContext<'a> {
    pub(in crate::mock_provider) request: &'a ProviderRequest<'a>,
    pub(in crate::mock_provider) accepted: &'a Accepted,
    /// The server whose chat completions are played.
    pub(in crate::mock_provider) server: ChatServer,
    pub(in crate::mock_provider) turn: &'a Turn,
    /// The fault of this attempt.
    pub(in crate::mock_provider) fault: Option<&'a Fault>,
    /// A thought before the script's turn, of a model that always thinks.
    pub(in crate::mock_provider) first_thought: Option<Step>,
    pub(in crate::mock_provider) steps: &'a [Step],
}

/// An encoded turn.
#[derive(Debug, Default)]
pub(in crate::mock_provider) struct TurnFrames {
    pub(in crate::mock_provider) opening: Vec<String>,
    /// The frames of each step; a step may have none.
    pub(in crate::mock_provider) steps: Vec<Vec<String>>,
    pub(in crate::mock_provider) closing: Vec<String>,
}

impl TurnFrames {
    /// Encodes the first thought and the steps of a turn, and what ends it.
    pub(super) fn new(
        context: &TurnContext<'_>,
        mut opening: Vec<String>,
        mut encode: impl FnMut(&Step) -> Vec<String>,
    ) -> Self {
        if let Some(step) = &context.first_thought {
            opening.extend(encode(step));
        }
        Self {
            opening,
            steps: context.steps.iter().map(encode).collect(),
            closing: Vec::new(),
        }
    }
}

/// Returns an event that is named after the type of its data.
pub(super) fn named_event(data: &Value) -> String {
    let name = data["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}

/// Returns an event without a name.
pub(super) fn unnamed_event(data: &Value) -> String {
    format!("data: {data}\n\n")
}
