//! Tests of the four APIs, with Ollama as a server of chat completions. A fake server sends the
//! responses in each provider's documentation.

mod answers;
mod broken_streams;
mod certificates;
mod failures;
mod fake_provider;
mod in_memory;
mod keys;
mod refusals;
mod requests;
mod retries;
mod streams;
mod timeouts;

use std::io;

use bridge_output::CapturedLog;
use serde_json::{Value, json};

use super::*;
use crate::model::capabilities::SwitchedOff;
use crate::model::refusals::Scope;
use crate::model::retry::RetryingModel;
use crate::model::settings::OpenaiApi;
use crate::model::{
    ArgumentsDelta, CallResult, Model, ModelMessage, ModelTool, ModelTurn, ToolSelection,
};
use fake_provider::{FakeProvider, Reply};
use streams::WholeStream;

const KEY: &str = "a-key-of-the-tests";

const ALL: [Api; 4] = [
    Api::Messages,
    Api::Responses,
    Api::ChatCompletions,
    Api::Gemini,
];

fn provider(api: Api) -> Provider {
    match api {
        Api::Messages => Provider::Anthropic,
        Api::Responses | Api::ChatCompletions => Provider::Openai,
        Api::Gemini => Provider::Gemini,
    }
}

fn model_name(api: Api) -> &'static str {
    match api {
        Api::Messages => "claude-sonnet-5",
        Api::Responses => "gpt-6.2-sol",
        Api::ChatCompletions => "qwen3",
        Api::Gemini => "gemini-4-argon",
    }
}

fn settings(server: &FakeProvider) -> ModelSettings {
    ModelSettings {
        base_url: Some(server.url()),
        retries: 0,
        ..ModelSettings::default()
    }
}

fn hosted(api: Api, settings: &ModelSettings) -> HostedModel {
    let settings = ModelSettings {
        openai_api: (api == Api::Responses).then_some(OpenaiApi::Responses),
        ..settings.clone()
    };
    let access = ProviderAccess {
        provider: provider(api),
        model: model_name(api).to_owned(),
        key: Some(Secret::from_trusted(KEY.to_owned())),
    };
    let model = HostedModel::new(access, &settings).unwrap();
    assert_eq!(model.0.model.api, api);
    model
}

fn model_for(api: Api, settings: &ModelSettings) -> RetryingModel<HostedModel> {
    RetryingModel::new(hosted(api, settings), settings.retries)
}

fn tool(name: &str, parameter: &str) -> ModelTool {
    ModelTool {
        name: name.to_owned(),
        description: Some(format!("Returns the result of {name}")),
        input_schema: json!({
            "type": "object",
            "properties": { parameter: { "type": "string" } },
            "required": [parameter],
            "additionalProperties": false,
        }),
    }
}

fn request(history: Vec<ModelMessage>) -> TurnRequest {
    TurnRequest {
        cache_group: "5f0f6b0e-7a39".to_owned(),
        user: "".into(),
        prompt: "What is the weather?".into(),
        system: "You are helpful.".to_owned(),
        history,
        earlier_messages: 0,
        tools: Arc::new([tool("get_weather", "location"), tool("get_time", "zone")]),
        tool_selection: ToolSelection::Auto,
        answer_tool: None,
        max_output_tokens: 100,
        switched_off: Arc::default(),
        converted_tools: Arc::default(),
    }
}

fn first_request() -> TurnRequest {
    request(vec![question()])
}

fn question() -> ModelMessage {
    ModelMessage::from_text("What is the weather?".to_owned())
}

/// Returns a result for each call of a turn. The second is an error.
fn results(turn: &ModelTurn) -> ModelMessage {
    let results = turn.calls.iter().enumerate().map(|(index, call)| {
        let text = format!("result {index}");
        CallResult::new(call, text, index == 1)
    });
    ModelMessage::Results(results.collect())
}

/// The whole output of a model in a turn.
#[derive(Debug)]
struct TurnOutput {
    text: String,
    thoughts: String,
    notes: Vec<String>,
    /// Tool and JSON text of the arguments of each call, from their pieces.
    arguments: Vec<(String, String)>,
    spent: Vec<TokenUsage>,
    cache_writes: u64,
    end: Result<(ModelTurn, TokenUsage), AgentFailure>,
}

impl TurnOutput {
    fn turn(&self) -> &ModelTurn {
        let (turn, _) = self.end.as_ref().expect("the turn has failed");
        turn
    }

    fn failure(&self) -> &AgentFailure {
        let end = self.end.as_ref();
        end.expect_err("the turn has not failed")
    }
}

async fn collect_turn(model: &dyn Model, request: TurnRequest) -> TurnOutput {
    collect_events(model.turn(request)).await
}

async fn collect_events(mut events: BoxStream<'_, Result<ModelEvent, AgentFailure>>) -> TurnOutput {
    let (mut text, mut thoughts, mut notes) = (String::new(), String::new(), Vec::new());
    let mut arguments: Vec<(String, String)> = Vec::new();
    let (mut spent, mut counted, mut cache_writes) = (Vec::new(), TokenUsage::default(), 0);
    let end = loop {
        match events.next().await.expect("the stream has no final event") {
            Ok(ModelEvent::Text(chunk)) => text.push_str(&chunk),
            Ok(ModelEvent::Thinking(chunk)) => thoughts.push_str(&chunk),
            Ok(ModelEvent::Note(note)) => notes.push(note),
            Ok(ModelEvent::Started) => counted = TokenUsage::default(),
            Ok(ModelEvent::Usage(usage)) => {
                (counted, cache_writes) = (usage.tokens, usage.cache_writes)
            }
            Ok(ModelEvent::Spent(usage)) => {
                assert_eq!(usage, counted, "the last count");
                spent.push(usage);
            }
            Ok(ModelEvent::Arguments(ArgumentsDelta { index, tool, delta })) => {
                arguments.resize_with(arguments.len().max(index + 1), Default::default);
                arguments[index].0 = tool;
                arguments[index].1.push_str(&delta);
            }
            Ok(ModelEvent::End { turn, usage }) => {
                assert_eq!(usage, counted, "the last count");
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
        arguments,
        spent,
        cache_writes,
        end,
    }
}

/// Checks that the pieces of arguments are those of the calls in the completed turn.
fn assert_arguments_are_complete(output: &TurnOutput) {
    let calls = &output.turn().calls;
    assert_eq!(output.arguments.len(), calls.len());
    for (call, (tool, json)) in calls.iter().zip(&output.arguments) {
        assert_eq!(*tool, call.tool);
        let value: Value = serde_json::from_str(json).unwrap();
        assert_eq!(value, Value::Object(call.arguments.clone()));
    }
}

/// Tool and arguments of each call. The ids may be made up.
fn calls(turn: &ModelTurn) -> Vec<(&str, Value)> {
    let calls = turn.calls.iter();
    calls
        .map(|call| (call.tool.as_str(), Value::Object(call.arguments.clone())))
        .collect()
}

#[test]
fn a_setting_of_thinking_without_an_effect_is_found() {
    let [responses, chat] = [Api::Responses, Api::ChatCompletions];
    for (api, name, setting, expected) in [
        (chat, "gpt-6-sol", Thinking::High, true),
        (chat, "gpt-6-sol", Thinking::Off, false),
        (responses, "gpt-6-sol", Thinking::High, false),
        (responses, "gpt-4.1", Thinking::Low, true),
        // Its least is `low`.
        (responses, "gpt-6.2-sol", Thinking::Low, false),
        (Api::Gemini, "gemini-9", Thinking::High, true),
    ] {
        let query = ModelQuery {
            provider: provider(api),
            api,
            is_official: true,
            model: name,
        };
        let (rules, _) = rules::find(query, None).unwrap();
        let found = has_no_effect(setting, &rules.thinking);
        assert_eq!(found, expected, "{name} {setting:?}");
    }
}
