//! Tests of whole requests, and of responses event by event. The events are those of
//! <https://platform.claude.com/docs/en/build-with-claude/streaming>, and of `messages.d.ts` in
//! `@anthropic-ai/sdk` 1.14.0.

mod requests;
mod responses;

use std::sync::Arc;

use bridge_protocol::{ErrorCode, TokenUsage};
use serde_json::Map;

use super::*;
use crate::model::answer_schema::AnswerFormat;
use crate::model::api::Api;
use crate::model::errors::ErrorMapper;
use crate::model::provider_key::ProviderKey;
use crate::model::rules::ModelRules;
use crate::model::turn_builder::{ANSWER_CALL_PREFIX, FailedTurn, TurnBuilder};
use crate::model::wires::ReadError;
use crate::model::wires::test_turns::{call, empty_turn, picture, rules_of};
use crate::model::{KeptTurn, ModelCall, ModelEvent, Provider};

/// A model of Anthropic, or another one behind its API.
struct Server {
    rules: ModelRules,
    model: &'static str,
    is_official: bool,
}

fn claude() -> Server {
    Server::new("claude-opus-5-5", true)
}

fn compatible() -> Server {
    Server::new("qwen3", false)
}

impl Server {
    fn new(model: &'static str, is_official: bool) -> Self {
        let rules = rules_of(Provider::Anthropic, Api::Messages, is_official, model);
        Self {
            rules,
            model,
            is_official,
        }
    }

    fn turn<'a>(&'a self, history: &'a [ModelMessage], tools: &'a [WireTool]) -> WireTurn<'a> {
        WireTurn {
            is_official: self.is_official,
            system: "You are helpful.",
            history,
            tools,
            max_output_tokens: 500,
            ..empty_turn(Api::Messages, self.model, &self.rules)
        }
    }
}

fn body(turn: &WireTurn<'_>) -> Value {
    Value::Object(Messages.request(turn).body)
}

fn tools() -> Vec<WireTool> {
    ["get_weather", "draw"]
        .map(|name| WireTool {
            sent_name: name.to_owned(),
            own_name: name.to_owned(),
            description: format!("Runs {name}"),
            schema: json!({ "type": "object", "properties": {} }),
        })
        .into()
}

fn question() -> ModelMessage {
    ModelMessage::User(UserMessage {
        text: "What is this?".to_owned(),
        media: vec![picture()],
    })
}

fn calls() -> Vec<ModelCall> {
    vec![
        call("toolu_1", "get_weather", json!({ "city": "Bonn" })),
        call("toolu_2", "draw", json!({})),
    ]
}

fn kept_blocks() -> Vec<Value> {
    vec![
        json!({ "type": "thinking", "thinking": "", "signature": "c2ln" }),
        json!({ "type": "redacted_thinking", "data": "ZGF0YQ==" }),
        json!({ "type": "text", "text": "I look.", "citations": null }),
        json!({ "type": "tool_use", "id": "toolu_1", "name": "get_weather",
            "input": { "city": "Bonn" }, "caller": { "type": "direct" } }),
        json!({ "type": "tool_use", "id": "toolu_2", "name": "draw", "input": {} }),
    ]
}

fn kept_turn() -> ModelTurn {
    ModelTurn {
        text: "I look.".to_owned(),
        calls: calls(),
        kept: Some(Arc::new(KeptTurn {
            api: Api::Messages,
            origin: Default::default(),
            blocks: kept_blocks(),
        })),
    }
}

fn results() -> ModelMessage {
    let calls = calls();
    let (weather, draw) = (&calls[0], &calls[1]);
    let drawn = CallResult {
        media: vec![picture()],
        ..CallResult::new(draw, "drawn".to_owned(), false)
    };
    let failed = CallResult::new(weather, "no such city".to_owned(), true);
    ModelMessage::Results(vec![failed, drawn])
}

fn image() -> Value {
    json!({ "type": "image", "source": {
        "type": "base64", "media_type": "image/png", "data": "AAAA" } })
}

/// A response that was read.
struct Read {
    text: String,
    thinking: String,
    turn: Result<ModelTurn, FailedTurn>,
    usage: TokenUsage,
    has_stopped: bool,
    is_ended: bool,
}

impl Read {
    fn turn(&self) -> &ModelTurn {
        match &self.turn {
            Ok(turn) => turn,
            Err(failed) => panic!("{:?}", failed.failure),
        }
    }

    fn kept(&self) -> Value {
        let kept = self.turn().kept.as_deref();
        kept.map_or(Value::Null, |kept| json!(kept.blocks))
    }

    fn failure_code(&self) -> Option<ErrorCode> {
        let failed = self.turn.as_ref().err();
        failed.map(|failed| failed.failure.code)
    }
}

fn read_data<'a>(events: impl IntoIterator<Item = &'a str>) -> Result<Read, ReadError> {
    let mut builder = TurnBuilder::new(Api::Messages, tools().into(), None);
    let mut reader = Messages.reader(false);
    let mut sent = Vec::new();
    for event in events {
        reader.read(event, &mut builder)?;
        sent.extend(std::iter::from_fn(|| builder.next_event()));
        if builder.is_ended() {
            break;
        }
    }
    let (has_stopped, is_ended) = (builder.has_stopped(), builder.is_ended());
    let usage = builder.usage();
    let errors = ErrorMapper::new(
        Provider::Anthropic,
        true,
        "anthropic".to_owned(),
        ProviderKey::default(),
    );
    let mut read = Read {
        text: String::new(),
        thinking: String::new(),
        turn: builder.finish(&errors).map(|(_, turn, _)| turn),
        usage,
        has_stopped,
        is_ended,
    };
    for event in sent {
        match event {
            ModelEvent::Text(piece) => read.text.push_str(&piece),
            ModelEvent::Thinking(piece) => read.thinking.push_str(&piece),
            _ => {}
        }
    }
    Ok(read)
}

fn read(events: &[Value]) -> Result<Read, ReadError> {
    let events: Vec<_> = events.iter().map(Value::to_string).collect();
    read_data(events.iter().map(String::as_str))
}

fn start() -> Value {
    json!({ "type": "message_start", "message": { "id": "msg_1", "type": "message",
        "role": "assistant", "model": "claude-opus-5-5", "content": [], "stop_reason": null,
        "usage": { "input_tokens": 10, "cache_creation_input_tokens": 200,
            "cache_read_input_tokens": 3000, "output_tokens": 2 } } })
}

fn block(index: u32, content: Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": content })
}

fn text(index: u32) -> Value {
    block(index, json!({ "type": "text", "text": "" }))
}

fn delta(index: u32, kind: &str, field: &str, piece: impl Into<Value>) -> Value {
    let mut delta = Map::new();
    delta.insert("type".to_owned(), kind.into());
    delta.insert(field.to_owned(), piece.into());
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn text_delta(index: u32, piece: &str) -> Value {
    delta(index, "text_delta", "text", piece)
}

fn input_delta(index: u32, piece: impl Into<Value>) -> Value {
    delta(index, "input_json_delta", "partial_json", piece)
}

fn tool_use(index: u32, id: &str, name: &str) -> Value {
    block(
        index,
        json!({ "type": "tool_use", "id": id, "name": name, "input": {},
            "caller": { "type": "direct" } }),
    )
}

fn stop(index: u32) -> Value {
    json!({ "type": "content_block_stop", "index": index })
}

fn message_delta(reason: impl Into<Value>) -> Value {
    let reason: Value = reason.into();
    json!({ "type": "message_delta",
        "delta": { "stop_reason": reason, "stop_sequence": null, "stop_details": null },
        "usage": { "output_tokens": 89, "output_tokens_details": { "thinking_tokens": 40 } } })
}

fn message_stop() -> Value {
    json!({ "type": "message_stop" })
}

/// A turn with a thought, a text and two calls, of which one has no input.
fn whole() -> Vec<Value> {
    vec![
        start(),
        json!({ "type": "ping" }),
        block(
            0,
            json!({ "type": "thinking", "thinking": "", "signature": "" }),
        ),
        delta(0, "thinking_delta", "thinking", "I need "),
        delta(0, "thinking_delta", "thinking", "the weather"),
        delta(0, "signature_delta", "signature", "b2xk"),
        delta(0, "signature_delta", "signature", "c2ln"),
        stop(0),
        block(
            1,
            json!({ "type": "redacted_thinking", "data": "ZGF0YQ==" }),
        ),
        stop(1),
        text(2),
        text_delta(2, ""),
        text_delta(2, "Okay, München"),
        text_delta(2, " – 天气: 😀"),
        stop(2),
        tool_use(3, "toolu_1", "get_weather"),
        input_delta(3, ""),
        input_delta(3, "{\"city\": \"\\ud83d"),
        input_delta(3, "\\ude00\"}"),
        stop(3),
        tool_use(4, "toolu_2", "draw"),
        stop(4),
        message_delta("tool_use"),
        message_stop(),
    ]
}

fn check_whole(read: &Read) {
    assert_eq!(read.thinking, "I need the weather");
    assert_eq!(read.text, "Okay, München – 天气: 😀");
    let turn = read.turn();
    assert_eq!(turn.text, read.text);
    assert_eq!(
        turn.calls,
        [
            call("toolu_1", "get_weather", json!({ "city": "😀" })),
            call("toolu_2", "draw", json!({})),
        ]
    );
    assert_eq!(
        read.usage,
        TokenUsage {
            input: 3210,
            output: 89,
            cached: 3000,
            thinking: 40,
        }
    );
}

fn whole_blocks() -> Value {
    json!([
        { "type": "thinking", "thinking": "I need the weather", "signature": "c2ln" },
        { "type": "redacted_thinking", "data": "ZGF0YQ==" },
        { "type": "text", "text": "Okay, München – 天气: 😀" },
        { "type": "tool_use", "id": "toolu_1", "name": "get_weather",
            "input": { "city": "😀" }, "caller": { "type": "direct" } },
        { "type": "tool_use", "id": "toolu_2", "name": "draw", "input": {},
            "caller": { "type": "direct" } },
    ])
}
