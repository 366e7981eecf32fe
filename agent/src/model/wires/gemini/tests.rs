//! Tests of requests and responses, as the types of `@google/genai` have them.

mod requests;
mod responses;

use std::sync::Arc;

use bridge_protocol::{ErrorCode, TokenUsage};
use serde_json::Map;

use super::super::{Api, ReadError, WireTool};
use super::*;
use crate::model::answer_schema::AnswerFormat;
use crate::model::errors::ErrorMapper;
use crate::model::rules::{self, ModelQuery, ModelRules};
use crate::model::turn_builder::{ANSWER_CALL_PREFIX, TurnBuilder};
use crate::model::{KeptTurn, ModelCall, ModelEvent, Provider};

fn rules_of(model: &str) -> ModelRules {
    let query = ModelQuery {
        provider: Provider::Gemini,
        api: Api::Gemini,
        is_official: true,
        model,
    };
    rules::find(query, None).unwrap().0
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
        api: Api::Gemini,
        model: "gemini-4-argon",
        rules,
        is_official: true,
        system: "Be short",
        history,
        cache_group: "q1",
        tools,
        choice: WireChoice::Auto,
        answer: None,
        with_thoughts: true,
        max_output_tokens: 100,
        temperature: None,
        stop_sequences: &[],
    }
}

fn body(turn: &WireTurn<'_>) -> Value {
    Value::Object(Gemini.request(turn).body)
}

fn picture() -> Media {
    Media {
        name: None,
        mime_type: "image/png".to_owned(),
        data: "AAAA".into(),
    }
}

fn user(text: &str) -> ModelMessage {
    ModelMessage::from_text(text.to_owned())
}

fn call(id: &str, tool: &str) -> ModelCall {
    ModelCall {
        id: id.to_owned(),
        tool: tool.to_owned(),
        arguments: Map::new(),
        unreadable: None,
    }
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
    let errors = ErrorMapper::new(Provider::Gemini, true, "gemini".to_owned(), None);
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
