//! Ollama's messages. genai leaves out of them which tool a result is of and what the model thought,
//! and keeps of several results the last.
//!
//! https://docs.ollama.com/capabilities/tool-calling

use serde_json::{Value, json};

use super::kept;
use crate::model::{Call, CallResult, Message, Request, Turn};

/// The whole conversation.
pub(super) fn messages(request: &Request) -> Vec<Value> {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    for message in &request.history {
        match message {
            Message::User(text) => messages.push(json!({"role": "user", "content": text})),
            Message::Model(turn) => messages.push(assistant(turn)),
            Message::Results(results) => messages.extend(results.iter().map(result)),
        }
    }
    messages
}

fn assistant(turn: &Turn) -> Value {
    let mut message = json!({"role": "assistant", "content": turn.text});
    let thought = kept::thoughts(&turn.kept).map_or("", |thoughts| &thoughts.text);
    if !thought.is_empty() {
        message["thinking"] = thought.into();
    }
    if !turn.calls.is_empty() {
        message["tool_calls"] = turn.calls.iter().map(call).collect();
    }
    message
}

fn call(call: &Call) -> Value {
    json!({"type": "function", "function": {"name": call.tool, "arguments": call.arguments}})
}

fn result(result: &CallResult) -> Value {
    json!({"role": "tool", "tool_name": result.tool, "content": super::asking::told(result)})
}
