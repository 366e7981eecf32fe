//! Compares requests with those in `agent/golden/requests`, which another test checks with the types of
//! the providers' SDKs. They change only on purpose: `MCP_WEB_RECORD=1` writes them anew.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{env, fs};

use serde_json::json;

use super::*;
use crate::model::errors::ErrorMapper;
use crate::model::provider_key::ProviderKey;
use crate::model::rules::{self, ModelQuery};
use crate::model::turn_builder::ANSWER_CALL_PREFIX;
use crate::model::{CallResult, Media, ModelCall, ModelTurn, Provider, UserMessage};

mod received_turns;

/// A model at a server: the provider, the API, whether the server is that of the provider, and the name.
type Example = (Provider, Api, bool, &'static str);

/// The models whose requests are recorded for each kind of turn.
const WHOLE: [Example; 14] = {
    use Api::{ChatCompletions, Gemini, Messages, Responses};
    use Provider::{Anthropic, Ollama, Openai};
    [
        (Anthropic, Messages, true, "claude-opus-5-5"),
        (Anthropic, Messages, true, "claude-haiku-5-5"),
        (Anthropic, Messages, true, "claude-sonnet-4-5"),
        (Anthropic, Messages, false, "qwen3"),
        (Openai, Responses, true, "gpt-6.2-astra"),
        (Openai, Responses, true, "gpt-4.1"),
        (Openai, Responses, false, "qwen3"),
        (Provider::Gemini, Gemini, true, "gemini-4-argon"),
        (Provider::Gemini, Gemini, true, "gemini-2.5-flash-lite"),
        (Openai, ChatCompletions, true, "gpt-4.1"),
        (Openai, ChatCompletions, true, "gpt-5.6-sol"),
        (Openai, ChatCompletions, false, "deepseek-flash"),
        (Openai, ChatCompletions, false, "qwen3"),
        (Ollama, ChatCompletions, false, "qwen3"),
    ]
};

/// The models of the other rows of `rules.toml`, whose requests are recorded for each setting of thinking.
const OF_OTHER_ROWS: [Example; 13] = {
    use Api::{ChatCompletions, Gemini, Messages, Responses};
    use Provider::{Anthropic, Openai};
    [
        (Anthropic, Messages, true, "claude-sonnet-5-5"),
        (Anthropic, Messages, true, "claude-opus-5"),
        (Anthropic, Messages, true, "claude-opus-4-6"),
        (Anthropic, Messages, true, "claude-unknown"),
        (Openai, Responses, true, "gpt-5.5-pro"),
        (Openai, Responses, true, "gpt-5.6-sol"),
        (Openai, Responses, true, "gpt-5"),
        (Openai, Responses, true, "unknown"),
        (Provider::Gemini, Gemini, true, "gemini-3.6-flash"),
        (Provider::Gemini, Gemini, true, "gemini-2.5-pro"),
        (Provider::Gemini, Gemini, true, "unknown"),
        (Openai, ChatCompletions, true, "gpt-5"),
        (Openai, ChatCompletions, true, "unknown"),
    ]
};

fn examples() -> impl Iterator<Item = Example> {
    WHOLE.into_iter().chain(OF_OTHER_ROWS)
}

fn choose((provider, api, is_official, model): Example) -> ChosenModel {
    let query = ModelQuery {
        provider,
        api,
        is_official,
        model,
    };
    ChosenModel {
        api,
        name: model.to_owned(),
        is_official,
        issuer: Issuer::default(),
        rules: rules::find(query, None).unwrap().0,
        thinking: Thinking::Off,
        temperature: Some(0.5),
        stop_sequences: vec!["END".to_owned()],
    }
}

/// Returns the API as the names of files have it.
fn api_name(api: Api) -> &'static str {
    match api {
        Api::Messages => "messages",
        Api::Responses => "responses",
        Api::ChatCompletions => "chat",
        Api::Gemini => "gemini",
    }
}

fn model_name((provider, _, is_official, model): Example) -> String {
    match provider {
        _ if is_official => model.to_owned(),
        Provider::Ollama => format!("ollama-{model}"),
        _ => format!("other-server-{model}"),
    }
}

fn tools() -> Arc<[ModelTool]> {
    let find = json!({
        "type": "object",
        "properties": {
            "text": { "type": "string", "description": "Words of the title" },
            "column": { "type": "string", "enum": ["todo", "done"] },
            "tags": { "type": "array", "items": { "type": "string" } },
        },
        "required": ["text"],
    });
    let plan = json!({
        "type": "object",
        "properties": {
            "title": { "type": "string" },
            "minutes": { "type": "integer", "minimum": 1 },
        },
        "required": ["title", "minutes"],
        "additionalProperties": false,
    });
    let no_arguments = json!({ "type": "object", "properties": {} });
    [("find_cards", find), ("draw", no_arguments), ("plan", plan)]
        .map(|(name, input_schema)| ModelTool {
            name: name.to_owned(),
            description: Some(format!("The tool {name} of the page")),
            input_schema,
        })
        .into()
}

fn media(name: &str, mime_type: &str) -> Media {
    Media {
        name: Some(name.to_owned()),
        mime_type: mime_type.to_owned(),
        data: "AAAA".into(),
    }
}

fn question() -> ModelMessage {
    ModelMessage::User(UserMessage {
        text: "Which cards are about milk?".to_owned(),
        media: vec![
            media("board.png", "image/png"),
            media("list.pdf", "application/pdf"),
        ],
    })
}

/// Returns a turn with thoughts, text and two calls, as the provider sends it.
fn received_turn(api: Api, is_official: bool) -> ModelTurn {
    let mut builder = TurnBuilder::empty(api);
    let mut reader = wire(api).reader(false);
    for event in received_turns::events(api, is_official) {
        reader.read(&event.to_string(), &mut builder).unwrap();
    }
    reader.finish(&mut builder);
    let errors = ErrorMapper::new(
        Provider::Openai,
        true,
        "label".to_owned(),
        ProviderKey::default(),
    );
    builder.finish(&errors).unwrap().1
}

fn results(turn: &ModelTurn) -> ModelMessage {
    let [find, draw] = &*turn.calls else {
        panic!("there are two calls: {:?}", turn.calls);
    };
    let drawn = CallResult {
        media: vec![media("drawing.png", "image/png")],
        ..CallResult::new(draw, "drawn".to_owned(), false)
    };
    let failed = CallResult::new(find, "there is no such column".to_owned(), true);
    ModelMessage::Results(vec![failed, drawn])
}

fn with_results(turn: ModelTurn) -> Vec<ModelMessage> {
    let results = results(&turn);
    vec![question(), ModelMessage::Model(turn), results]
}

/// Returns a history with an answer that does not fit its schema, and was text.
fn rejected_answer() -> Vec<ModelMessage> {
    let call = ModelCall {
        id: format!("{ANSWER_CALL_PREFIX}1"),
        tool: "plan".to_owned(),
        arguments: Map::new(),
        unreadable: None,
    };
    let rejection = CallResult::new(&call, "`title` is missing".to_owned(), true);
    let turn = ModelTurn {
        text: "{}".to_owned(),
        calls: vec![call],
        kept: None,
    };
    let results = ModelMessage::Results(vec![rejection]);
    vec![question(), ModelMessage::Model(turn), results]
}

fn turn(history: Vec<ModelMessage>) -> TurnRequest {
    TurnRequest {
        cache_group: "query-1".to_owned(),
        user: "".into(),
        prompt: "Which cards are about milk?".into(),
        system: "You help people with a board.".to_owned(),
        history,
        earlier_messages: 0,
        tools: tools(),
        tool_selection: ToolSelection::Auto,
        answer_tool: None,
        max_output_tokens: 4_000,
        switched_off: Arc::default(),
        converted_tools: Arc::default(),
    }
}

/// A kind of turn.
struct Case {
    name: &'static str,
    thinking: Thinking,
    /// The capability that the server has refused before.
    refused: Option<Capability>,
    turn: TurnRequest,
}

/// Returns each kind of turn.
fn cases(api: Api, is_official: bool) -> Vec<Case> {
    use Thinking::{High, Low, Off};
    let first = || turn(vec![question()]);
    let received = received_turn(api, is_official);
    let built = ModelTurn {
        kept: None,
        ..received.clone()
    };
    let plan = || Some("plan".to_owned());
    let only_plan = ToolSelection::Only("plan".to_owned());
    let without_calls = TurnRequest {
        tool_selection: ToolSelection::None,
        ..turn(with_results(received.clone()))
    };
    let forced = TurnRequest {
        tool_selection: only_plan.clone(),
        ..first()
    };
    let format = TurnRequest {
        answer_tool: plan(),
        ..first()
    };
    let forced_format = TurnRequest {
        tool_selection: only_plan,
        answer_tool: plan(),
        ..turn(with_results(received.clone()))
    };
    let rejected = TurnRequest {
        answer_tool: plan(),
        ..turn(rejected_answer())
    };
    let case = |name, thinking, turn| Case {
        name,
        thinking,
        refused: None,
        turn,
    };
    let results = || turn(with_results(received.clone()));
    vec![
        case("first turn", Off, first()),
        case("results", High, results()),
        case("results, thinking off", Off, results()),
        Case {
            refused: Some(Capability::FormerThoughts),
            ..case("results without thoughts", High, results())
        },
        case("turn of another provider", High, turn(with_results(built))),
        case("calls forbidden", Low, without_calls),
        case("tool forced", High, forced),
        case("format beside tools", Low, format),
        case("format at the end", High, forced_format),
        case("answer rejected", Off, rejected),
    ]
}

fn record(turn: &TurnRequest, model: &ChosenModel, switched_off: &SwitchedOff) -> Value {
    let request = PreparedTurn::new(turn, model, switched_off).request;
    let headers = request.headers.iter();
    let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().into()));
    let headers = Value::Object(headers.collect());
    json!({ "path": request.path, "headers": headers, "body": request.body })
}

/// Returns the content of each file.
fn recorded() -> BTreeMap<String, Map<String, Value>> {
    let mut files: BTreeMap<String, Map<_, _>> = BTreeMap::new();
    for example in WHOLE {
        let mut model = choose(example);
        let file = format!("{}-{}", api_name(model.api), model_name(example));
        let cases = cases(model.api, model.is_official).into_iter();
        let requests = cases.map(|case| {
            let switched_off = SwitchedOff::default();
            if let Some(refused) = case.refused {
                switched_off.add(refused);
            }
            model.thinking = case.thinking;
            (
                case.name.to_owned(),
                record(&case.turn, &model, &switched_off),
            )
        });
        files.insert(file, requests.collect());
    }
    let greeting = TurnRequest {
        tools: Arc::default(),
        ..turn(vec![ModelMessage::from_text("Hello".to_owned())])
    };
    for example in examples() {
        let mut model = choose(example);
        let file = files.entry(format!("{}-thinking", api_name(model.api)));
        let file = file.or_default();
        for thinking in [
            Thinking::Off,
            Thinking::Low,
            Thinking::Medium,
            Thinking::High,
        ] {
            model.thinking = thinking;
            let name = format!("{} {thinking:?}", model_name(example));
            file.insert(name, record(&greeting, &model, &SwitchedOff::default()));
        }
    }
    files
}

/// Writes JSON with a line for each message and each tool.
fn pretty(value: &Value, depth: usize) -> String {
    let (brackets, elements): (_, Vec<_>) = match value {
        Value::Object(fields) if depth < 4 => {
            let field =
                |(name, value): (&String, _)| format!("{name:?}: {}", pretty(value, depth + 1));
            ("{}", fields.iter().map(field).collect())
        }
        Value::Array(values) if depth < 4 => {
            let values = values.iter().map(|value| pretty(value, depth + 1));
            ("[]", values.collect())
        }
        value => return value.to_string(),
    };
    let (open, close) = brackets.split_at(1);
    let end = "  ".repeat(depth);
    let elements = elements.join(&format!(",\n{end}  "));
    format!("{open}\n{end}  {elements}\n{end}{close}")
}

#[test]
fn requests_are_those_that_are_recorded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/requests");
    let is_recording = env::var_os("MCP_WEB_RECORD").is_some();
    let files = recorded();
    for (name, requests) in &files {
        let path = folder.join(format!("{name}.json"));
        let found = pretty(&Value::Object(requests.clone()), 0) + "\n";
        if is_recording {
            fs::write(&path, &found).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(found, expected, "{}", path.display());
    }
    let count = fs::read_dir(&folder).unwrap().count();
    assert_eq!(count, files.len(), "files in {}", folder.display());
}

#[test]
fn each_row_of_the_rules_has_a_recorded_model() {
    let lines = |line: &str| {
        let lines = include_str!("../rules.toml").lines();
        lines.filter(|it| *it == line).count()
    };
    // Without tools, no request is sent.
    let rows = lines("[[models]]") - lines("tools = false");
    let keys = examples().map(|example| {
        let rules = choose(example).rules;
        format!(
            "{:?} {:?} {:?} {:?}",
            rules.apis, rules.models, rules.official, rules.ollama
        )
    });
    let found: BTreeSet<_> = keys.collect();
    assert_eq!(found.len(), rows, "rows of {found:#?}");
}
