//! The end of an answer: the turn that has come, or why it is none.

use genai::chat::{MessageContent, StopReason, StreamEnd, ToolCall};
use serde_json::{Map, Value};

use super::kept::Thoughts;
use super::names;
use super::trouble::Teller;
use crate::failure::Failure;
use crate::model::{Call, Tool, Turn, Usage};

pub(super) fn turn(
    end: StreamEnd,
    refusal: Option<String>,
    teller: &Teller,
    tools: &[Tool],
) -> Result<(Turn, Usage), Failure> {
    let stop = Stop::of(end.captured_stop_reason);
    if let Some(words) = refusal {
        return Err(teller.refused(&words));
    }
    if let Stop::Refused(reason) = &stop {
        return Err(teller.refused(reason));
    }
    let mut content = end.captured_content.unwrap_or_default();
    number(&mut content);
    let calls = content.tool_calls().into_iter();
    let calls: Vec<Call> = calls
        .map(|call| whole(call, teller, tools))
        .collect::<Result<_, _>>()?;
    match stop {
        Stop::Ended | Stop::Refused(_) => {}
        Stop::BadCall => return Err(teller.cut_off("a tool")),
        Stop::Length => return Err(teller.length_reached()),
        Stop::Failed(reason) => return Err(teller.stopped(&reason)),
    }
    let text = content.joined_texts().unwrap_or_default();
    let kept = Thoughts::of(&content, end.captured_reasoning_content).keep();
    let usage = end.captured_usage.map(usage).unwrap_or_default();
    Ok((Turn { text, calls, kept }, usage))
}

/// Why a model has stopped.
enum Stop {
    /// It has said all, or wants tools called.
    Ended,
    Length,
    Refused(String),
    /// It tried to call a tool and failed.
    BadCall,
    Failed(String),
}

impl Stop {
    fn of(reason: Option<StopReason>) -> Self {
        match reason {
            Some(StopReason::MaxTokens(_)) => Self::Length,
            Some(StopReason::ContentFilter(reason)) => Self::Refused(reason),
            Some(StopReason::Other(reason)) => Self::of_other(reason),
            _ => Self::Ended,
        }
    }

    /// Compatible servers have words of their own for an ordinary end.
    fn of_other(reason: String) -> Self {
        match reason.to_ascii_lowercase().as_str() {
            // https://ai.google.dev/api/generate-content#FinishReason
            "malformed_function_call" | "unexpected_tool_call" => Self::BadCall,
            "safety" | "prohibited_content" => Self::Refused(reason),
            "error" | "failed" | "cancelled" | "other" => Self::Failed(reason),
            _ => Self::Ended,
        }
    }
}

/// Gemini's calls have no ids of their own; genai counts them anew in each frame.
fn number(content: &mut MessageContent) {
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

fn whole(call: &ToolCall, teller: &Teller, tools: &[Tool]) -> Result<Call, Failure> {
    let arguments = match &call.fn_arguments {
        Value::Object(arguments) => arguments.clone(),
        Value::Null => Map::new(),
        // Without parameters, some say nothing.
        Value::String(text) if text.trim().is_empty() => Map::new(),
        _ => return Err(teller.cut_off(&call.fn_name)),
    };
    Ok(Call {
        id: call.call_id.clone(),
        tool: names::ours(teller.provider(), call.fn_name.clone(), tools),
        arguments,
    })
}

fn usage(usage: genai::chat::Usage) -> Usage {
    let count = |count: Option<i32>| u64::try_from(count.unwrap_or_default()).unwrap_or_default();
    let input = count(usage.prompt_tokens);
    let output = match usage.completion_tokens {
        // Gemini, when all were thoughts.
        None => count(usage.total_tokens).saturating_sub(input),
        output => count(output),
    };
    Usage { input, output }
}
