//! Converts the end of a response to a turn, or to the reason why there is none.

use agent_tools::AgentFailure;
use bridge_protocol::TokenUsage;
use genai::chat::{ContentPart, MessageContent, StopReason, StreamEnd, ToolCall};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::errors::ErrorMapper;
use super::thinking_state::ThinkingState;
use super::tool_names;
use crate::model::{ModelCall, ModelTool, ModelTurn};

/// Converts the end of a stream to a turn. `refusal` is the reason with which the model declined.
pub(super) fn completed_turn(
    end: StreamEnd,
    refusal: Option<String>,
    errors: &ErrorMapper,
    tools: &[ModelTool],
) -> Result<(ModelTurn, TokenUsage), AgentFailure> {
    let stop = StopKind::from_reason(end.captured_stop_reason);
    if let Some(reason) = refusal {
        return Err(errors.refused(&reason));
    }
    if let StopKind::Refused(reason) = &stop {
        return Err(errors.refused(reason));
    }
    let mut content = end.captured_content.unwrap_or_default();
    renumber_calls(&mut content);
    let calls = content.tool_calls().into_iter();
    let calls: Vec<ModelCall> = calls
        .map(|call| complete_call(call, errors, tools))
        .collect::<Result<_, _>>()?;
    match stop {
        StopKind::Complete | StopKind::Refused(_) => {}
        StopKind::InvalidCall => return Err(errors.arguments_cut_off("a tool")),
        StopKind::Length => return Err(errors.length_reached()),
        StopKind::Failed(reason) => return Err(errors.stopped(&reason)),
    }
    let state = ThinkingState::from_content(&content, end.captured_reasoning_content);
    let turn = ModelTurn {
        text: content.joined_texts().unwrap_or_default(),
        calls,
        provider_state: state.into_provider_state(),
    };
    let usage = end.captured_usage.map(token_usage).unwrap_or_default();
    Ok((turn, usage))
}

/// Why a model has stopped.
enum StopKind {
    /// The turn is complete, or the model requests calls.
    Complete,
    Length,
    Refused(String),
    /// The model tried to call a tool and failed.
    InvalidCall,
    Failed(String),
}

impl StopKind {
    fn from_reason(reason: Option<StopReason>) -> Self {
        match reason {
            Some(StopReason::MaxTokens(_)) => Self::Length,
            Some(StopReason::ContentFilter(reason)) => Self::Refused(reason),
            Some(StopReason::Other(reason)) => Self::from_other_reason(reason),
            _ => Self::Complete,
        }
    }

    /// Maps a reason that genai does not know. Most of them are names that compatible servers use
    /// for a normal end.
    fn from_other_reason(reason: String) -> Self {
        match reason.to_ascii_lowercase().as_str() {
            // https://ai.google.dev/api/generate-content#FinishReason
            "malformed_function_call" | "unexpected_tool_call" => Self::InvalidCall,
            "safety" | "prohibited_content" => Self::Refused(reason),
            "error" | "failed" | "cancelled" | "other" => Self::Failed(reason),
            _ => Self::Complete,
        }
    }
}

/// Makes the ids of Gemini's calls unique, also among those of other turns and queries. Gemini sends
/// no ids, and genai restarts its numbering in each frame. It recognises the ids that it has generated
/// by their form, which includes a number.
fn renumber_calls(content: &mut MessageContent) {
    let calls = content.iter_mut().filter_map(|part| match part {
        ContentPart::ToolCall(call) => Some(call),
        _ => None,
    });
    for call in calls {
        let generated = format!("call#{}#", call.fn_name);
        if call.call_id.starts_with(&generated) {
            let (number, _) = Uuid::new_v4().as_u64_pair();
            call.call_id = format!("{generated}{number}");
        }
    }
}

fn complete_call(
    call: &ToolCall,
    errors: &ErrorMapper,
    tools: &[ModelTool],
) -> Result<ModelCall, AgentFailure> {
    let arguments = match &call.fn_arguments {
        Value::Object(arguments) => arguments.clone(),
        Value::Null => Map::new(),
        // Some models send nothing for a tool without parameters.
        Value::String(text) if text.trim().is_empty() => Map::new(),
        _ => return Err(errors.arguments_cut_off(&call.fn_name)),
    };
    Ok(ModelCall {
        id: call.call_id.clone(),
        tool: tool_names::from_provider(errors.provider(), call.fn_name.clone(), tools),
        arguments,
    })
}

fn token_usage(usage: genai::chat::Usage) -> TokenUsage {
    let count = |count: Option<i32>| u64::try_from(count.unwrap_or_default()).unwrap_or_default();
    let input = count(usage.prompt_tokens);
    let output = match usage.completion_tokens {
        // Gemini leaves the number out when all output was thoughts.
        None => count(usage.total_tokens).saturating_sub(input),
        output => count(output),
    };
    let details = usage.prompt_tokens_details.unwrap_or_default();
    let output_details = usage.completion_tokens_details.unwrap_or_default();
    TokenUsage {
        input,
        output,
        cached: count(details.cached_tokens),
        thinking: count(output_details.reasoning_tokens),
    }
}
