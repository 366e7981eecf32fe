//! Tests of requests and responses, as the types of `@google/genai` have them.

mod requests;
mod responses;

use std::sync::Arc;

use bridge_protocol::{ErrorCode, TokenUsage};

use super::super::{Api, ReadError, WireTool};
use super::*;
use crate::model::answer_schema::AnswerFormat;
use crate::model::errors::ErrorMapper;
use crate::model::provider_key::ProviderKey;
use crate::model::rules::ModelRules;
use crate::model::turn_builder::{ANSWER_CALL_PREFIX, TurnBuilder};
use crate::model::wires::test_turns::{self, empty_turn, picture, user};
use crate::model::{KeptTurn, ModelCall, ModelEvent, Provider};

fn rules_of(model: &str) -> ModelRules {
    test_turns::rules_of(Provider::Gemini, Api::Gemini, true, model)
}

fn call(id: &str, tool: &str) -> ModelCall {
    test_turns::call(id, tool, json!({}))
}

fn two_tools() -> Vec<WireTool> {
    let tool = |sent_name: &str, own_name: &str, properties: Value| WireTool {
        sent_name: sent_name.to_owned(),
        own_name: own_name.to_owned(),
        description: format!("Describes {own_name}"),
        schema: json!({ "type": "object", "properties": properties }),
    };
    vec![
        tool("draw", "draw", json!({ "what": { "type": "string" } })),
        tool("page_3d", "3d", json!({})),
    ]
}

fn declarations() -> Value {
    json!([{ "functionDeclarations": [
        { "name": "draw", "description": "Describes draw", "parametersJsonSchema":
            { "type": "object", "properties": { "what": { "type": "string" } } } },
        { "name": "page_3d", "description": "Describes 3d" },
    ] }])
}

fn wire_turn<'a>(
    rules: &'a ModelRules,
    history: &'a [ModelMessage],
    tools: &'a [WireTool],
) -> WireTurn<'a> {
    WireTurn {
        is_official: true,
        system: "Be short",
        history,
        tools,
        ..empty_turn(Api::Gemini, "gemini-4-argon", rules)
    }
}

fn body(turn: &WireTurn<'_>) -> Value {
    Value::Object(Gemini.request(turn).body)
}

fn kept_turn(calls: Vec<ModelCall>, parts: Value) -> ModelMessage {
    let blocks = parts.as_array().unwrap().clone();
    ModelMessage::Model(ModelTurn {
        text: "not sent".to_owned(),
        calls,
        kept: Some(Arc::new(KeptTurn {
            api: Api::Gemini,
            origin: Default::default(),
            blocks,
        })),
    })
}

/// Reads events, in a turn with two tools.
fn read(events: &[Value]) -> Result<TurnBuilder, ReadError> {
    let mut turn = TurnBuilder::new(Api::Gemini, two_tools().into(), None);
    let mut reader = Gemini.reader(false);
    for event in events {
        reader.read(&event.to_string(), &mut turn)?;
    }
    Ok(turn)
}

fn finish(turn: TurnBuilder) -> Result<(Vec<ModelEvent>, ModelTurn, TokenUsage), ErrorCode> {
    let errors = ErrorMapper::new(
        Provider::Gemini,
        true,
        "gemini".to_owned(),
        ProviderKey::default(),
    );
    turn.finish(&errors).map_err(|failed| failed.failure.code)
}

fn whole(events: &[Value]) -> (Vec<ModelEvent>, ModelTurn, TokenUsage) {
    finish(read(events).unwrap()).unwrap()
}

fn kept(turn: &ModelTurn) -> Value {
    let kept = turn.kept.as_ref();
    kept.map_or(Value::Null, |kept| kept.blocks.clone().into())
}

/// Creates an event with parts.
fn parts(parts: Value) -> Value {
    json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "index": 0 }] })
}

fn stopped(reason: &str) -> Value {
    json!({ "candidates": [{ "content": { "parts": [{ "text": "" }] }, "finishReason": reason }] })
}
