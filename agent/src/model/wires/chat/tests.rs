//! Tests of chat completions: whole requests, and responses as each server writes them.

mod calls;
mod requests;
mod responses;
mod thoughts;

use std::sync::Arc;

use bridge_protocol::{ErrorCode, TokenUsage};
use serde_json::{Value, json};

use super::*;
use crate::model::api::Api;
use crate::model::errors::ErrorMapper;
use crate::model::provider_key::ProviderKey;
use crate::model::rules::ModelRules;
use crate::model::turn_builder::TurnBuilder;
use crate::model::wires::ReadError;
use crate::model::wires::test_turns::{call, empty_turn, picture, user};
use crate::model::{KeptTurn, ModelCall, ModelEvent, Provider};

/// Returns the rules of a careful server, with these lines.
fn rules(lines: &str) -> ModelRules {
    let careful = "models = ['*']\nforced_tools = 'required'\nstructured_output = 'alone'\n\
                   source = 'test'\ndate = '2026-11-29'\n";
    toml::from_str(&format!("{careful}{lines}")).unwrap()
}

fn turn<'a>(
    rules: &'a ModelRules,
    history: &'a [ModelMessage],
    tools: &'a [WireTool],
) -> WireTurn<'a> {
    WireTurn {
        system: "You help.",
        history,
        tools,
        ..empty_turn(Api::ChatCompletions, "m", rules)
    }
}

fn body(turn: &WireTurn<'_>) -> Value {
    let request = ChatCompletions.request(turn);
    assert_eq!(request.path, "chat/completions");
    assert!(request.headers.is_empty());
    Value::Object(request.body)
}

fn tools() -> Vec<WireTool> {
    let tool = |name: &str| WireTool {
        sent_name: name.to_owned(),
        own_name: name.to_owned(),
        description: format!("Does {name}"),
        schema: json!({"type": "object", "properties": {}}),
    };
    vec![tool("add"), tool("draw")]
}

fn sent_tool(name: &str) -> Value {
    json!({"type": "function", "function": {
        "name": name,
        "description": format!("Does {name}"),
        "parameters": {"type": "object", "properties": {}},
    }})
}

fn sent_picture() -> Value {
    json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}})
}

fn kept_turn(calls: Vec<ModelCall>, block: Value) -> ModelMessage {
    ModelMessage::Model(ModelTurn {
        text: "not sent".to_owned(),
        calls,
        kept: Some(Arc::new(KeptTurn {
            api: Api::ChatCompletions,
            origin: Default::default(),
            blocks: vec![block],
        })),
    })
}

/// Returns the results of a call that drew a picture, and of one that failed.
fn results(draw: &ModelCall, add: &ModelCall) -> ModelMessage {
    let drawn = CallResult {
        media: vec![picture()],
        ..CallResult::new(draw, "drawn".to_owned(), false)
    };
    let failed = CallResult::new(add, "no number".to_owned(), true);
    ModelMessage::Results(vec![drawn, failed])
}

#[derive(Debug, Default)]
struct Output {
    text: String,
    thoughts: String,
    turn: ModelTurn,
    usage: TokenUsage,
}

impl Output {
    fn kept(&self) -> &Value {
        let kept = self.turn.kept.as_ref().expect("a turn is kept");
        assert_eq!(kept.blocks.len(), 1);
        &kept.blocks[0]
    }

    /// Returns id, tool and arguments of each call.
    fn calls(&self) -> Vec<(&str, &str, Value)> {
        let calls = self.turn.calls.iter();
        let id = |call: &ModelCall| self.turn.calls.iter().position(|it| it.id == call.id);
        calls
            .clone()
            .enumerate()
            .map(|(at, call)| {
                assert_eq!(id(call), Some(at), "ids are unique");
                (&*call.id, &*call.tool, json!(call.arguments))
            })
            .collect()
    }
}

fn builder() -> TurnBuilder {
    TurnBuilder::new(Api::ChatCompletions, tools().into(), None)
}

/// Reads events, and ends the turn after them.
fn read(events: &[Value]) -> Result<Output, (ErrorCode, String)> {
    let mut reader = ChatCompletions.reader(false);
    let mut turn = builder();
    for event in events {
        let event = match event {
            Value::String(text) => text.clone(),
            event => event.to_string(),
        };
        reader.read(&event, &mut turn).unwrap();
    }
    reader.finish(&mut turn);
    let mut output = Output::default();
    let mut pending: Vec<_> = std::iter::from_fn(|| turn.next_event()).collect();
    let errors = ErrorMapper::new(
        Provider::Openai,
        false,
        "test".to_owned(),
        ProviderKey::default(),
    );
    let finished = turn.finish(&errors);
    let (last, turn, usage) =
        finished.map_err(|failed| (failed.failure.code, failed.failure.message))?;
    pending.extend(last);
    for event in pending {
        match event {
            ModelEvent::Text(text) => output.text += &text,
            ModelEvent::Thinking(text) => output.thoughts += &text,
            _ => {}
        }
    }
    Ok(Output {
        turn,
        usage,
        ..output
    })
}

fn delta(delta: Value) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "choices": [
        {"index": 0, "delta": delta, "finish_reason": null, "logprobs": null}], "usage": null})
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

/// Returns the deltas, a reason and the mark of the end.
fn response(deltas: &[Value], reason: &str) -> Vec<Value> {
    let deltas = deltas.iter().cloned().map(delta);
    deltas.chain([finish(reason), json!("[DONE]")]).collect()
}

fn calls(calls: Value) -> Value {
    json!({ "tool_calls": calls })
}
