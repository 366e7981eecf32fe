//! The end of an answer: the turn that has come, or why it is none.

use genai::chat::{MessageContent, StopReason, StreamEnd, ToolCall};
use serde_json::{Map, Value};

use super::tool_names;
use crate::failure::Failure;
use crate::model::genai::errors::ErrorMapper;
use crate::model::genai::thinking_state::ThinkingState;
use crate::model::{Call, ModelTurn, Tool, Usage};

pub(super) fn completed_turn(
    end: StreamEnd,
    refusal: Option<String>,
    teller: &ErrorMapper,
    tools: &[Tool],
) -> Result<(ModelTurn, Usage), Failure> {
    let stop = StopKind::from_reason(end.captured_stop_reason);
    if let Some(words) = refusal {
        return Err(teller.refused(&words));
    }
    if let StopKind::Refused(reason) = &stop {
        return Err(teller.refused(reason));
    }
    let mut content = end.captured_content.unwrap_or_default();
    renumber_calls(&mut content);
    let calls = content.tool_calls().into_iter();
    let calls: Vec<Call> = calls
        .map(|call| complete_call(call, teller, tools))
        .collect::<Result<_, _>>()?;
    match stop {
        StopKind::Complete | StopKind::Refused(_) => {}
        StopKind::InvalidCall => return Err(teller.arguments_cut_off("a tool")),
        StopKind::Length => return Err(teller.length_reached()),
        StopKind::Failed(reason) => return Err(teller.stopped(&reason)),
    }
    let text = content.joined_texts().unwrap_or_default();
    let kept =
        ThinkingState::from_content(&content, end.captured_reasoning_content).into_provider_state();
    let usage = end.captured_usage.map(token_usage).unwrap_or_default();
    Ok((
        ModelTurn {
            text,
            calls,
            provider_state: kept,
        },
        usage,
    ))
}

/// Why a model has stopped.
enum StopKind {
    /// It has said all, or wants tools called.
    Complete,
    Length,
    Refused(String),
    /// It tried to call a tool and failed.
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

    /// Compatible servers have words of their own for an ordinary end.
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

/// Gemini's calls have no ids of their own; genai counts them anew in each frame.
fn renumber_calls(content: &mut MessageContent) {
    let calls = content.iter_mut().filter_map(|part| match part {
        genai::chat::ContentPart::ToolCall(call) => Some(call),
        _ => None,
    });
    for (index, call) in calls.enumerate() {
        let made_up = format!("call#{}#", call.fn_name);
        if call.call_id.starts_with(&made_up) {
            call.call_id = format!("{made_up}{index}");
        }
    }
}

fn complete_call(call: &ToolCall, teller: &ErrorMapper, tools: &[Tool]) -> Result<Call, Failure> {
    let arguments = match &call.fn_arguments {
        Value::Object(arguments) => arguments.clone(),
        Value::Null => Map::new(),
        // Without parameters, some say nothing.
        Value::String(text) if text.trim().is_empty() => Map::new(),
        _ => return Err(teller.arguments_cut_off(&call.fn_name)),
    };
    Ok(Call {
        id: call.call_id.clone(),
        tool: tool_names::from_provider(teller.provider(), call.fn_name.clone(), tools),
        arguments,
    })
}

fn token_usage(usage: genai::chat::Usage) -> Usage {
    let count = |count: Option<i32>| u64::try_from(count.unwrap_or_default()).unwrap_or_default();
    let input = count(usage.prompt_tokens);
    let output = match usage.completion_tokens {
        // Gemini, when all were thoughts.
        None => count(usage.total_tokens).saturating_sub(input),
        output => count(output),
    };
    Usage { input, output }
}
