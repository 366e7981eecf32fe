//! Stores the parts of a turn that a provider requires to be sent back: thoughts with their
//! signatures, and the calls that the signatures belong to.

use std::collections::HashMap;
use std::sync::Arc;

use genai::chat::{ContentPart, MessageContent, ToolCall};
use serde_json::Value;

use super::tool_names;
use crate::model::{ModelCall, ModelTurn, Provider, ProviderState};

/// The thoughts of a turn, and the signatures of its calls.
#[derive(Debug, Default)]
pub(super) struct ThinkingState {
    /// In the order in which they were received.
    parts: Vec<ContentPart>,
    /// By the id of the call.
    signatures: HashMap<String, Vec<String>>,
}

impl ThinkingState {
    /// Collects the thoughts in the content of a turn. `reasoning` are thoughts that were sent
    /// separately from the content and are required back.
    pub(super) fn from_content(content: &MessageContent, reasoning: Option<String>) -> Self {
        let mut state = Self::default();
        state
            .parts
            .extend(reasoning.map(ContentPart::ReasoningContent));
        for part in content.parts() {
            match part {
                ContentPart::ToolCall(call) => state.insert_signatures(call),
                ContentPart::ThoughtSignature(_)
                | ContentPart::ReasoningContent(_)
                | ContentPart::Custom(_) => state.parts.push(part.clone()),
                ContentPart::Text(_) | ContentPart::Binary(_) | ContentPart::ToolResponse(_) => {}
            }
        }
        state
    }

    fn insert_signatures(&mut self, call: &ToolCall) {
        if let Some(signatures) = &call.thought_signatures {
            let signatures = signatures.clone();
            self.signatures.insert(call.call_id.clone(), signatures);
        }
    }

    pub(super) fn into_provider_state(self) -> ProviderState {
        ProviderState(Some(Arc::new(self)))
    }

    /// Returns the state in a turn, if this adapter has stored it.
    fn from_provider_state(state: &ProviderState) -> Option<&Self> {
        state.0.as_ref()?.downcast_ref()
    }
}

/// Returns the parts of a turn in the order in which the provider sent them: thoughts, text, calls.
pub(super) fn turn_parts(
    turn: &ModelTurn,
    provider: Provider,
    with_thinking: bool,
) -> Vec<ContentPart> {
    let state = ThinkingState::from_provider_state(&turn.provider_state);
    let state = state.filter(|_| with_thinking);
    let mut parts = state.map_or_else(Vec::new, |state| state.parts.clone());
    // No provider accepts an empty text.
    if !turn.text.trim().is_empty() {
        parts.push(ContentPart::from_text(turn.text.clone()));
    }
    let calls = turn.calls.iter();
    parts.extend(calls.map(|call| ContentPart::ToolCall(tool_call(call, state, provider))));
    parts
}

fn tool_call(call: &ModelCall, state: Option<&ThinkingState>, provider: Provider) -> ToolCall {
    ToolCall {
        call_id: call.id.clone(),
        fn_name: tool_names::to_provider(provider, &call.tool).into_owned(),
        fn_arguments: Value::Object(call.arguments.clone()),
        thought_signatures: state
            .and_then(|state| state.signatures.get(&call.id))
            .cloned(),
    }
}
