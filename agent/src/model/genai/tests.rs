//! Tests of the four providers. A fake server sends the responses in each provider's documentation.

mod anthropic;
mod failures;
mod fake_provider;
mod gemini;
mod ollama;
mod openai;

use std::time::Duration;

use bridge_protocol::TokenUsage;
use serde_json::{Value, json};

use super::*;
use crate::model::retry::RetryingModel;
use crate::model::{
    ArgumentsDelta, CallResult, Model, ModelCall, ModelMessage, ModelTool, ModelTurn, Thinking,
    ToolSelection,
};
use fake_provider::{FakeProvider, Reply};

const KEY: &str = "a-key-of-the-tests";

const ALL: [Provider; 4] = [
    Provider::Anthropic,
    Provider::Openai,
    Provider::Gemini,
    Provider::Ollama,
];

fn settings(server: &FakeProvider) -> ModelSettings {
    ModelSettings {
        base_url: Some(server.url()),
        retries: 0,
        ..ModelSettings::default()
    }
}

fn model_for(provider: Provider, settings: &ModelSettings) -> RetryingModel<HostedModel> {
    let model = match provider {
        Provider::Anthropic => "claude-sonnet-4-5",
        Provider::Openai => "gpt-4o-mini",
        Provider::Gemini => "gemini-2.5-flash",
        Provider::Ollama | Provider::Commands => "llama3.2",
    };
    let access = ProviderAccess {
        provider,
        model: model.to_owned(),
        key: (provider != Provider::Ollama).then(|| Secret::from_trusted(KEY.to_owned())),
    };
    RetryingModel::new(
        HostedModel::new(access, settings).unwrap(),
        settings.retries,
    )
}

fn request(history: Vec<ModelMessage>) -> TurnRequest {
    let tool = |name: &str, parameter: &str| ModelTool {
        name: name.to_owned(),
        description: Some(format!("Says the {name}")),
        input_schema: json!({"type": "object", "properties": {parameter: {"type": "string"}}}),
    };
    TurnRequest {
        query: "5f0f6b0e-7a39".into(),
        prompt: "What is the weather?".into(),
        system: "You are helpful.".to_owned(),
        history,
        earlier_messages: 0,
        tools: Arc::new([tool("get_weather", "location"), tool("get_time", "zone")]),
        tool_selection: ToolSelection::Auto,
        max_output_tokens: 100,
    }
}

fn question() -> ModelMessage {
    ModelMessage::from_text("What is the weather?".to_owned())
}

fn results(turn: &ModelTurn) -> ModelMessage {
    let results = turn
        .calls
        .iter()
        .enumerate()
        .map(|(index, call)| CallResult {
            id: call.id.clone(),
            tool: call.tool.clone(),
            text: format!("result {index}"),
            is_error: index == 1,
            media: Vec::new(),
        });
    ModelMessage::Results(results.collect())
}

/// The whole output of a model in a turn.
struct TurnOutput {
    text: String,
    thoughts: String,
    notes: Vec<String>,
    end: Result<(ModelTurn, TokenUsage), AgentFailure>,
}

async fn collect_turn(model: &dyn Model, request: TurnRequest) -> TurnOutput {
    let (mut text, mut thoughts, mut notes) = (String::new(), String::new(), Vec::new());
    let mut arguments: Vec<(String, String)> = Vec::new();
    let mut events = model.turn(request);
    let end = loop {
        match events.next().await.expect("the stream has no final event") {
            Ok(ModelEvent::Text(chunk)) => text.push_str(&chunk),
            Ok(ModelEvent::Thinking(chunk)) => thoughts.push_str(&chunk),
            Ok(ModelEvent::Note(note)) => notes.push(note),
            Ok(ModelEvent::Arguments(ArgumentsDelta { index, tool, delta })) => {
                arguments.resize_with(arguments.len().max(index + 1), Default::default);
                arguments[index].0 = tool;
                arguments[index].1.push_str(&delta);
            }
            Ok(ModelEvent::End { turn, usage }) => {
                assert_arguments_are_complete(&turn, &arguments);
                break Ok((turn, usage));
            }
            Err(failure) => break Err(failure),
        }
    };
    assert!(
        events.next().await.is_none(),
        "an event after the final one"
    );
    TurnOutput {
        text,
        thoughts,
        notes,
        end,
    }
}

/// Checks that the pieces of arguments are those of the calls in the completed turn.
fn assert_arguments_are_complete(turn: &ModelTurn, pieces: &[(String, String)]) {
    for (index, call) in turn.calls.iter().enumerate() {
        match pieces.get(index) {
            Some((tool, json)) if !json.is_empty() => {
                assert_eq!(*tool, call.tool);
                let value: Value = serde_json::from_str(json).unwrap();
                assert_eq!(value, Value::Object(call.arguments.clone()));
            }
            _ => assert!(call.arguments.is_empty(), "no arguments of {call:?}"),
        }
    }
}

/// Tokens of which none were cached or used to think.
fn tokens(input: u64, output: u64) -> TokenUsage {
    TokenUsage {
        input,
        output,
        ..TokenUsage::default()
    }
}

fn call(id: &str, tool: &str, arguments: Value) -> ModelCall {
    ModelCall {
        id: id.to_owned(),
        tool: tool.to_owned(),
        arguments: arguments.as_object().unwrap().clone(),
    }
}
