//! The requests of OpenAI Responses, and its responses as `responses.d.ts` of the SDK 7.59.0 has them.

mod requests;
mod responses;

use std::sync::Arc;

use bridge_protocol::{ErrorCode, TokenUsage};

use super::super::{Api, ReadError};
use super::*;
use crate::model::errors::ErrorMapper;
use crate::model::provider_key::ProviderKey;
use crate::model::turn_builder::{AnswerText, FailedTurn, TurnBuilder};
use crate::model::wires::test_turns::{self, empty_turn, picture};
use crate::model::{KeptTurn, ModelEvent, Provider};

fn rules_of(model: &str, is_official: bool) -> ModelRules {
    test_turns::rules_of(Provider::Openai, Api::Responses, is_official, model)
}

fn call(id: &str, tool: &str) -> ModelCall {
    test_turns::call(id, tool, json!({ "a": "b" }))
}

fn tool(name: &str) -> WireTool {
    WireTool {
        sent_name: name.to_owned(),
        own_name: name.to_owned(),
        description: format!("Uses {name}"),
        schema: json!({ "type": "object", "properties": { "a": { "type": "string" } } }),
    }
}

fn sent_tool(name: &str) -> Value {
    json!({
        "type": "function",
        "name": name,
        "description": format!("Uses {name}"),
        "parameters": { "type": "object", "properties": { "a": { "type": "string" } } },
        "strict": false,
    })
}

fn sent_picture() -> Value {
    json!({
        "type": "input_image",
        "detail": "auto",
        "image_url": "data:image/png;base64,AAAA",
    })
}

fn kept_turn(blocks: Vec<Value>) -> ModelMessage {
    ModelMessage::Model(ModelTurn {
        text: "I look it up.".to_owned(),
        calls: vec![call("call_1", "find"), call("call_2", "draw")],
        kept: Some(Arc::new(KeptTurn {
            api: Api::Responses,
            origin: Default::default(),
            blocks,
        })),
    })
}

fn reasoning() -> Value {
    json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA" })
}

fn commentary() -> Value {
    json!({
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "phase": "commentary",
        "content": [{ "type": "output_text", "text": "I look it up.", "annotations": [] }],
    })
}

fn call_item(number: u32, tool: &str) -> Value {
    json!({
        "type": "function_call",
        "id": format!("fc_{number}"),
        "call_id": format!("call_{number}"),
        "name": tool,
        "arguments": "{\"a\":\"b\"}",
        "status": "completed",
    })
}

fn kept_blocks() -> Vec<Value> {
    vec![
        reasoning(),
        commentary(),
        call_item(1, "find"),
        call_item(2, "draw"),
    ]
}

fn two_results() -> ModelMessage {
    ModelMessage::Results(vec![
        CallResult::new(&call("call_1", "find"), "not found".to_owned(), true),
        CallResult {
            media: vec![picture()],
            ..CallResult::new(&call("call_2", "draw"), "drawn".to_owned(), false)
        },
    ])
}

fn question() -> ModelMessage {
    ModelMessage::from_text("Find it".to_owned())
}

/// Changes the turn of a request, and returns the body of the request.
fn body<'a>(model: &'a str, is_official: bool, change: impl FnOnce(&mut WireTurn<'a>)) -> Value {
    let rules = Box::leak(Box::new(rules_of(model, is_official)));
    body_with_rules(rules, model, is_official, change)
}

fn body_with_rules<'a>(
    rules: &'a ModelRules,
    model: &'a str,
    is_official: bool,
    change: impl FnOnce(&mut WireTurn<'a>),
) -> Value {
    let mut turn = WireTurn {
        is_official,
        max_output_tokens: 1000,
        ..empty_turn(Api::Responses, model, rules)
    };
    change(&mut turn);
    let request = Responses.request(&turn);
    assert_eq!(request.path, "responses");
    assert!(request.headers.is_empty());
    Value::Object(request.body)
}

/// The parts that were read from a response.
#[derive(Debug)]
struct Output {
    text: String,
    thoughts: String,
    /// The pieces of the arguments of each call.
    arguments: Vec<String>,
    error: Option<ReadError>,
    is_ended: bool,
    end: Result<(ModelTurn, TokenUsage), FailedTurn>,
}

impl Output {
    fn turn(&self) -> &ModelTurn {
        &self.end.as_ref().unwrap().0
    }

    fn kept(&self) -> Value {
        let kept = self.turn().kept.as_ref();
        kept.map_or(Value::Null, |kept| kept.blocks.clone().into())
    }

    fn failure(&self) -> (ErrorCode, &str) {
        let failed = self.end.as_ref().unwrap_err();
        (failed.failure.code, failed.failure.message.as_str())
    }
}

fn receive(events: &[Value]) -> Output {
    receive_for(None, events)
}

fn receive_for(answer: Option<AnswerText>, events: &[Value]) -> Output {
    let tools = Arc::new([tool("find"), tool("draw")]);
    let mut turn = TurnBuilder::new(Api::Responses, tools, answer);
    let mut reader = Responses.reader(false);
    let mut error = None;
    for event in events {
        if turn.is_ended() {
            break;
        }
        if let Err(reported) = reader.read(&event.to_string(), &mut turn) {
            error = Some(reported);
            break;
        }
    }
    let is_ended = turn.is_ended();
    let mut events = Vec::new();
    while let Some(event) = turn.next_event() {
        events.push(event);
    }
    let errors = ErrorMapper::new(
        Provider::Openai,
        true,
        "openai".to_owned(),
        ProviderKey::default(),
    );
    let end = turn.finish(&errors).map(|(last, turn, usage)| {
        events.extend(last);
        (turn, usage)
    });
    let mut output = Output {
        text: String::new(),
        thoughts: String::new(),
        arguments: Vec::new(),
        error,
        is_ended,
        end,
    };
    for event in events {
        match event {
            ModelEvent::Text(text) => output.text.push_str(&text),
            ModelEvent::Thinking(text) => output.thoughts.push_str(&text),
            ModelEvent::Arguments(piece) => {
                let calls = output.arguments.len().max(piece.index + 1);
                output.arguments.resize(calls, String::new());
                output.arguments[piece.index].push_str(&piece.delta);
            }
            other => panic!("{other:?}"),
        }
    }
    output
}

fn added(index: u64, item: Value) -> Value {
    json!({ "type": "response.output_item.added", "output_index": index, "item": item })
}

fn done(index: u64, item: Value) -> Value {
    json!({ "type": "response.output_item.done", "output_index": index, "item": item })
}

fn delta(kind: &str, index: u64, delta: &str) -> Value {
    json!({
        "type": format!("response.{kind}.delta"),
        "output_index": index,
        "content_index": 0,
        "delta": delta,
        "obfuscation": "xyz",
    })
}

fn message_item(text: &str) -> Value {
    json!({
        "type": "message",
        "id": "msg_2",
        "role": "assistant",
        "status": "completed",
        "content": [{ "type": "output_text", "text": text, "annotations": [] }],
    })
}

fn started(item: &Value) -> Value {
    let mut item = item.clone();
    item["status"] = "in_progress".into();
    for (field, empty) in [("content", json!([])), ("arguments", json!(""))] {
        if item.get(field).is_some() {
            item[field] = empty;
        }
    }
    item
}

/// A message with its deltas.
fn message_events(index: u64, item: &Value, deltas: &[&str]) -> Vec<Value> {
    let mut events = vec![added(index, started(item))];
    let deltas = deltas.iter().map(|text| delta("output_text", index, text));
    events.extend(deltas);
    events.push(done(index, item.clone()));
    events
}

fn terminal(kind: &str, fields: Value) -> Value {
    let mut response = json!({ "id": "resp_1", "status": kind, "error": null, "output": [],
        "incomplete_details": null, "usage": null });
    for (name, value) in fields.as_object().unwrap() {
        response[name.as_str()] = value.clone();
    }
    json!({ "type": format!("response.{kind}"), "response": response })
}

fn completed() -> Value {
    terminal("completed", json!({}))
}

fn tool_turn() -> Vec<Value> {
    let whole_reasoning = json!({ "type": "reasoning", "id": "rs_1", "status": null,
        "summary": [], "encrypted_content": "gAAA",
        "content": [{ "type": "reasoning_text", "text": "Hm." }] });
    let part = json!({ "type": "response.reasoning_summary_part.added", "output_index": 0 });
    let mut events = vec![
        json!({ "type": "response.created", "response": { "usage": null } }),
        added(
            0,
            json!({ "type": "reasoning", "id": "rs_1", "encrypted_content": "gA" }),
        ),
        part.clone(),
        delta("reasoning_summary_text", 0, "Look"),
        delta("reasoning_summary_text", 0, ""),
        part,
        delta("reasoning_summary_text", 0, "Draw"),
        done(0, whole_reasoning),
    ];
    events.extend(message_events(1, &commentary(), &["I look ", "", "it up."]));
    let (find, draw) = (call_item(1, "find"), call_item(2, "draw"));
    events.extend([
        added(2, started(&find)),
        added(3, started(&draw)),
        delta("function_call_arguments", 2, "{\"a\":"),
        delta("function_call_arguments", 3, "{\"a\":\"b\"}"),
        delta("function_call_arguments", 2, "\"b\"}"),
        json!({ "type": "response.function_call_arguments.done", "output_index": 2,
            "arguments": "{\"a\":\"b\"}" }),
        done(3, draw.clone()),
        done(2, find.clone()),
        terminal(
            "completed",
            json!({
                "output": [reasoning(), commentary(), find, draw],
                "usage": {
                    "input_tokens": 100,
                    "input_tokens_details": { "cached_tokens": 64, "cache_write_tokens": 0 },
                    "output_tokens": 50,
                    "output_tokens_details": { "reasoning_tokens": 20 },
                    "total_tokens": 150,
                },
            }),
        ),
    ]);
    events
}
