//! What a provider wants to hear again of a turn: its thoughts with their signatures, and which of
//! its calls each belongs to.

use std::collections::HashMap;
use std::sync::Arc;

use genai::chat::{ContentPart, MessageContent, ToolCall};
use serde_json::Value;

use super::tool_names;
use crate::model::{Call, ModelTurn, Provider, ProviderState};

/// What is kept of a turn.
#[derive(Debug, Default)]
pub(super) struct ThinkingState {
    /// In the order in which they came.
    parts: Vec<ContentPart>,
    /// By the id of the call.
    signatures: HashMap<String, Vec<String>>,
}

impl ThinkingState {
    /// Of what was said, and of the thoughts beside it that are wanted again.
    pub(super) fn from_content(content: &MessageContent, beside: Option<String>) -> Self {
        let mut thoughts = Self::default();
        thoughts
            .parts
            .extend(beside.map(ContentPart::ReasoningContent));
        for part in content.parts() {
            match part {
                ContentPart::ToolCall(call) => thoughts.insert_signatures(call),
                ContentPart::ThoughtSignature(_)
                | ContentPart::ReasoningContent(_)
                | ContentPart::Custom(_) => thoughts.parts.push(part.clone()),
                ContentPart::Text(_) | ContentPart::Binary(_) | ContentPart::ToolResponse(_) => {}
            }
        }
        thoughts
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
}

/// What is kept, if it is ours.
fn thinking_state(kept: &ProviderState) -> Option<&ThinkingState> {
    kept.0.as_ref()?.downcast_ref()
}

/// A turn, as the provider heard itself say it: thoughts, text, calls.
pub(super) fn turn_parts(
    turn: &ModelTurn,
    provider: Provider,
    with_thoughts: bool,
) -> Vec<ContentPart> {
    let thoughts = thinking_state(&turn.provider_state).filter(|_| with_thoughts);
    let mut parts = thoughts.map_or_else(Vec::new, |thoughts| thoughts.parts.clone());
    // No provider takes an empty text.
    if !turn.text.trim().is_empty() {
        parts.push(ContentPart::from_text(turn.text.clone()));
    }
    let calls = turn.calls.iter();
    parts.extend(calls.map(|call| ContentPart::ToolCall(tool_call(call, thoughts, provider))));
    parts
}

fn tool_call(call: &Call, thoughts: Option<&ThinkingState>, provider: Provider) -> ToolCall {
    ToolCall {
        call_id: call.id.clone(),
        fn_name: tool_names::to_provider(provider, &call.tool).into_owned(),
        fn_arguments: Value::Object(call.arguments.clone()),
        thought_signatures: thoughts
            .and_then(|thoughts| thoughts.signatures.get(&call.id))
            .cloned(),
    }
}
