//! The contents of requests, by the rules of their models.

mod switched_off;

use serde_json::json;

use super::*;
use crate::model::rules::{self, ModelQuery};
use crate::model::{CallResult, KeptTurn, Media, ModelCall, ModelEvent, ModelTurn, Provider};

/// The rules of a model that thinks, with these changes. Chat completions has all choices in words.
fn model(
    forced_tools: ForcedTools,
    structured_output: StructuredOutput,
    none: bool,
) -> ChosenModel {
    let query = ModelQuery {
        provider: Provider::Ollama,
        api: Api::ChatCompletions,
        is_official: false,
        model: "m",
    };
    let rules = ModelRules {
        forced_tools,
        structured_output,
        tool_choice_none: none,
        ..rules::find(query, None).unwrap().0
    };
    ChosenModel {
        api: Api::ChatCompletions,
        name: "m".to_owned(),
        is_official: false,
        issuer: Issuer::default(),
        rules,
        thinking: Thinking::High,
        temperature: None,
        stop_sequences: Vec::new(),
    }
}

fn tool(name: &str) -> ModelTool {
    ModelTool {
        name: name.to_owned(),
        description: None,
        input_schema: json!({
            "type": "object",
            "properties": { "a": { "type": "string" } },
            "required": ["a"],
            "additionalProperties": false,
        }),
    }
}

fn turn(tools: &[&str], tool_selection: ToolSelection, answer_tool: Option<&str>) -> TurnRequest {
    TurnRequest {
        cache_group: "group".to_owned(),
        user: "".into(),
        prompt: "p".into(),
        system: "s".to_owned(),
        history: vec![ModelMessage::from_text("p".to_owned())],
        earlier_messages: 0,
        tools: tools.iter().map(|name| tool(name)).collect(),
        tool_selection,
        answer_tool: answer_tool.map(str::to_owned),
        max_output_tokens: 100,
        switched_off: Arc::default(),
        converted_tools: Arc::default(),
    }
}

fn prepare(turn: &TurnRequest, model: &ChosenModel) -> PreparedTurn {
    PreparedTurn::new(turn, model, &SwitchedOff::default())
}

/// Returns tools, choice, name of the format and thinking in a body of chat completions.
fn parts(body: &Map<String, Value>) -> (Vec<&str>, Option<&str>, Option<&str>, &str) {
    let tools = body.get("tools").and_then(Value::as_array);
    let names = tools.into_iter().flatten();
    let names = names.map(|tool| tool["function"]["name"].as_str().unwrap());
    let choice = body.get("tool_choice");
    let choice = choice.map(|it| it.pointer("/function/name").unwrap_or(it));
    let choice = choice.map(|it| it.as_str().unwrap());
    let format = body.get("response_format");
    let format = format.map(|it| it["json_schema"]["name"].as_str().unwrap());
    let thinking = body["reasoning_effort"].as_str().unwrap();
    (names.collect(), choice, format, thinking)
}

/// Rules (how tools are forced, where a text can have a format, whether tools can be forbidden), tools,
/// selection and answer tool; and what the request has: tools, choice, format and thinking.
const PLANS: &str = "
    # Any tool may be called.
    by-name          with-tools yes | find,answer auto   -      | find,answer -        -      high
    no               no         no  | find,answer auto   -      | find,answer -        -      high
    by-name          with-tools yes | -           auto   -      | -           -        -      high
    # The answer has a schema.
    by-name          with-tools yes | find,answer auto   answer | find        -        answer high
    by-name          with-tools no  | answer      auto   answer | -           -        answer high
    by-name          alone      yes | find,answer auto   answer | find,answer -        -      high
    by-name          alone      yes | answer      auto   answer | -           -        answer high
    by-name          no         yes | answer      auto   answer | answer      -        -      high
    # No tool may be called.
    by-name          with-tools yes | find,answer none   -      | find,answer none     -      high
    by-name          with-tools no  | find,answer none   -      | -           -        -      high
    by-name          with-tools yes | -           none   -      | -           -        -      high
    # A tool must be called.
    by-name          no         yes | find,answer find   -      | find,answer find     -      high
    by-name          with-tools yes | find,answer find   -      | find,answer find     -      high
    without-thinking no         yes | find,answer find   -      | find,answer find     -      none
    required         no         yes | find,answer find   -      | find        required -      high
    no               no         yes | find,answer find   -      | find        -        -      high
    # The text is in the place of a call that cannot be forced.
    no               alone      no  | find,answer find   -      | -           -        find   high
    no               alone      yes | find,answer find   -      | -           -        find   high
    no               with-tools no  | find,answer find   -      | -           -        find   high
    no               with-tools yes | find,answer find   -      | find,answer none     find   high
    # The answer is due.
    by-name          with-tools yes | find,answer answer answer | find        none     answer high
    by-name          with-tools yes | answer      answer answer | -           -        answer high
    by-name          with-tools no  | find,answer answer answer | -           -        answer high
    without-thinking alone      yes | find,answer answer answer | -           -        answer high
    by-name          no         yes | find,answer answer answer | find,answer answer   -      high
    without-thinking no         yes | find,answer answer answer | find,answer answer   -      none
    required         no         yes | find,answer answer answer | answer      required -      high
    no               no         yes | find,answer answer answer | answer      -        -      high
";

/// Reads a word of a table as a value of an enum.
fn word<T: serde::de::DeserializeOwned>(word: &str) -> T {
    serde_json::from_value(word.into()).unwrap()
}

fn list(words: &str) -> Vec<&str> {
    words.split(',').filter(|it| *it != "-").collect()
}

#[test]
fn rules_and_selection_decide_about_tools_choice_format_and_thinking() {
    let rows = PLANS.lines().map(str::trim);
    for row in rows.filter(|row| !row.is_empty() && !row.starts_with('#')) {
        let words: Vec<_> = row.split_whitespace().filter(|it| *it != "|").collect();
        let [
            forced,
            structured,
            forbids,
            tools,
            selection,
            answer_tool,
            sent @ ..,
        ] = &words[..]
        else {
            panic!("{row}");
        };
        let [listed, choice, format, thinking] = sent else {
            panic!("{row}");
        };
        let selection = match *selection {
            "auto" => ToolSelection::Auto,
            "none" => ToolSelection::None,
            name => ToolSelection::Only(name.to_owned()),
        };
        let answer_tool = list(answer_tool).pop();
        let model = model(word(forced), word(structured), *forbids == "yes");
        let prepared = prepare(&turn(&list(tools), selection, answer_tool), &model);

        let listed = list(listed);
        let choice = list(choice).pop();
        let format = list(format).pop();
        let expected = (listed.clone(), choice, format, *thinking);
        assert_eq!(parts(&prepared.request.body), expected, "{row}");
        // The text is held back if it may turn out to stand beside calls.
        let has_tools = !listed.is_empty() && choice.is_none();
        let answer = prepared.answer.as_ref();
        let answer = answer.map(|it| (it.tool.as_str(), it.has_tools));
        assert_eq!(answer, format.map(|tool| (tool, has_tools)), "{row}");
        let used = prepared.used;
        let is_forced = choice.is_some_and(|choice| choice != "none");
        assert_eq!(used.forced_tool, is_forced, "{row}");
        assert_eq!(used.forbidden_tools, choice == Some("none"), "{row}");
        assert_eq!(used.tools, !listed.is_empty(), "{row}");
        assert_eq!(used.format, format.is_some(), "{row}");
        assert!(used.thinking, "{row}");
    }
}

#[test]
fn the_tools_of_calls_in_the_history_stay_listed() {
    use ForcedTools::{ByName, No, Required, WithoutThinking};
    use StructuredOutput::{Alone, WithTools};
    type Row = (
        ForcedTools,
        StructuredOutput,
        bool,
        &'static str,
        Option<&'static str>,
    );
    // No tool may be called.
    let forbidden: [Row; 6] = [
        (ByName, StructuredOutput::No, true, "find", Some("none")),
        (No, StructuredOutput::No, true, "find", Some("none")),
        (ByName, StructuredOutput::No, false, "find", None),
        (WithoutThinking, StructuredOutput::No, false, "find", None),
        (Required, StructuredOutput::No, false, "find", None),
        // It obeys no choice: without tools, it cannot call any.
        (No, StructuredOutput::No, false, "-", None),
    ];
    // The answer is due.
    let due: [Row; 6] = [
        (ByName, WithTools, true, "find", Some("none")),
        (ByName, WithTools, false, "find,answer", Some("answer")),
        (ByName, Alone, true, "find,answer", Some("answer")),
        (WithoutThinking, Alone, true, "find,answer", Some("answer")),
        (Required, Alone, false, "answer", Some("required")),
        (No, Alone, false, "-", None),
    ];
    let answer = || ToolSelection::Only("answer".to_owned());
    let forbidden = forbidden.map(|row| (row, turn(&["find"], ToolSelection::None, None)));
    let due = due.map(|row| (row, turn(&["find", "answer"], answer(), Some("answer"))));
    for (row, turn) in forbidden.into_iter().chain(due) {
        let (forced, structured, none, listed, choice) = row;
        let turn = TurnRequest {
            history: kept_history(Api::Messages),
            ..turn
        };
        let body = prepare(&turn, &model(forced, structured, none))
            .request
            .body;
        let (sent, sent_choice, ..) = parts(&body);
        assert_eq!((sent, sent_choice), (list(listed), choice), "{row:?}");
    }
}

#[test]
fn a_model_that_skips_calls_beside_a_format_has_one_only_where_it_can_make_none() {
    for (thinking, tools, selection, listed, format) in [
        (
            Thinking::Off,
            &["find", "answer"][..],
            None,
            &["find", "answer"][..],
            None,
        ),
        (
            Thinking::Off,
            &["find", "answer"],
            Some("answer"),
            &["find"],
            Some("answer"),
        ),
        (Thinking::Off, &["answer"], None, &[], Some("answer")),
        (
            Thinking::Low,
            &["find", "answer"],
            None,
            &["find"],
            Some("answer"),
        ),
    ] {
        let mut model = model(ForcedTools::ByName, StructuredOutput::WithTools, true);
        model.thinking = thinking;
        model.rules.structured_output_alone = true;
        let selection = selection.map_or(ToolSelection::Auto, |it| ToolSelection::Only(it.into()));
        let body = prepare(&turn(tools, selection, Some("answer")), &model)
            .request
            .body;
        let names = body.get("tools").and_then(Value::as_array);
        let names: Vec<_> = names.into_iter().flatten().collect();
        let names: Vec<_> = names
            .iter()
            .map(|it| it["function"]["name"].as_str())
            .collect();
        let listed: Vec<_> = listed.iter().copied().map(Some).collect();
        assert_eq!(names, listed, "{thinking:?} {tools:?}");
        let sent = body.get("response_format");
        let sent = sent.and_then(|it| it.pointer("/json_schema/name"));
        assert_eq!(
            sent,
            format.map(Value::from).as_ref(),
            "{thinking:?} {tools:?}"
        );
    }
    let haiku = hosted(Api::Messages, "claude-haiku-5-5", true, Thinking::Off);
    assert!(haiku.rules.structured_output_alone);
}

#[test]
fn a_tool_without_a_description_is_described_by_its_name() {
    for (api, name, path) in [
        (Api::Messages, "claude-haiku-5-5", "/tools/0/description"),
        (Api::Responses, "gpt-6.2-sol", "/tools/0/description"),
        (Api::ChatCompletions, "m", "/tools/0/function/description"),
        (
            Api::Gemini,
            "gemini-4-argon",
            "/tools/0/functionDeclarations/0/description",
        ),
    ] {
        let model = hosted(api, name, false, Thinking::Off);
        let prepared = prepare(&turn(&["find"], ToolSelection::Auto, None), &model);
        let body = Value::Object(prepared.request.body);
        assert_eq!(body.pointer(path), Some(&json!("find")), "{body:#}");
    }
}

#[test]
fn a_tool_is_sent_under_a_name_that_the_api_accepts_and_called_under_its_own() {
    let model = hosted(Api::Gemini, "gemini-4-argon", false, Thinking::Off);
    let prepared = prepare(&turn(&["3d"], ToolSelection::Auto, None), &model);
    let body = Value::Object(prepared.request.body.clone());
    let sent = body.pointer("/tools/0/functionDeclarations/0/name");
    assert_eq!(sent, Some(&json!("page_3d")));
    let mut builder = prepared.builder(Api::Gemini);
    let call = builder.start_call("c", "page_3d");
    builder.whole_arguments(call, "{}");
    let event = builder.next_event();
    assert!(
        matches!(&event, Some(ModelEvent::Arguments(delta)) if delta.tool == "3d"),
        "{event:?}"
    );
}

#[test]
fn thoughts_are_output_in_addition_to_the_maximum_and_within_that_of_the_model() {
    for (thinking, always, limit, expected) in [
        (Thinking::Off, false, None, 100),
        (Thinking::Off, true, None, 25_100),
        (Thinking::Low, false, None, 4_100),
        (Thinking::Medium, false, None, 12_100),
        (Thinking::High, false, None, 32_100),
        (Thinking::High, false, Some(20_000), 20_000),
        (Thinking::Off, false, Some(20_000), 100),
    ] {
        let mut model = model(ForcedTools::ByName, StructuredOutput::Alone, true);
        model.thinking = thinking;
        model.rules.thinking.always = always;
        model.rules.max_output_tokens = limit;
        let prepared = prepare(&turn(&[], ToolSelection::Auto, None), &model);
        assert_eq!(
            prepared.request.body["max_tokens"], expected,
            "{thinking:?}"
        );
    }
}

#[test]
fn only_what_the_model_accepts_is_sent() {
    for is_accepted in [false, true] {
        let mut model = model(ForcedTools::ByName, StructuredOutput::Alone, true);
        model.temperature = Some(0.5);
        model.stop_sequences = vec!["END".to_owned()];
        model.rules.temperature = is_accepted;
        model.rules.stop_sequences = is_accepted;
        let body = prepare(&turn(&[], ToolSelection::Auto, None), &model)
            .request
            .body;
        let temperature = is_accepted.then(|| json!(0.5));
        assert_eq!(body.get("temperature"), temperature.as_ref());
        let stop = is_accepted.then(|| json!(["END"]));
        assert_eq!(body.get("stop"), stop.as_ref());
    }
}

/// Returns the model of a provider's own server, or of another server with its API.
fn hosted(api: Api, name: &str, is_official: bool, thinking: Thinking) -> ChosenModel {
    let provider = match api {
        Api::Messages => Provider::Anthropic,
        Api::Responses | Api::ChatCompletions => Provider::Openai,
        Api::Gemini => Provider::Gemini,
    };
    let query = ModelQuery {
        provider,
        api,
        is_official,
        model: name,
    };
    ChosenModel {
        api,
        name: name.to_owned(),
        is_official,
        issuer: Issuer::default(),
        rules: rules::find(query, None).unwrap().0,
        thinking,
        temperature: None,
        stop_sequences: Vec::new(),
    }
}

#[test]
fn headers_of_rules_are_sent_to_each_server() {
    for is_official in [true, false] {
        let model = hosted(Api::Messages, "claude-opus-5-5", is_official, Thinking::Off);
        let request = prepare(&turn(&["find"], ToolSelection::Auto, None), &model).request;
        let beta = request.headers.get("anthropic-beta");
        // A field of the thinking needs it.
        let expected = Some("thinking-binding-controls-2026-08-01");
        assert_eq!(beta.map(|it| it.to_str().unwrap()), expected);
        // Fields of thinking are merged with those of the format.
        let answer = turn(&["answer"], ToolSelection::Auto, Some("answer"));
        let body = prepare(&answer, &model).request.body;
        assert_eq!(body["output_config"]["effort"], "low");
        assert_eq!(body["output_config"]["format"]["type"], "json_schema");
    }
}

/// Returns a history with a kept turn, and a result with a picture.
fn kept_history(api: Api) -> Vec<ModelMessage> {
    let call = ModelCall {
        id: "c".to_owned(),
        tool: "find".to_owned(),
        arguments: Map::new(),
        unreadable: None,
    };
    let mut result = CallResult::new(&call, "r".to_owned(), false);
    result.media.push(Media {
        name: None,
        mime_type: "image/png".to_owned(),
        data: "AAAA".into(),
    });
    let blocks = match api {
        Api::Messages => json!([{ "type": "thinking", "thinking": "", "signature": "SIGNED" },
            { "type": "tool_use", "id": "c", "name": "find", "input": {} }]),
        _ => {
            json!([{ "type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "SIGNED" },
            { "type": "function_call", "call_id": "c", "name": "find", "arguments": "{}" }])
        }
    };
    let kept = KeptTurn {
        api,
        origin: Default::default(),
        blocks: blocks.as_array().unwrap().clone(),
    };
    let model_turn = ModelTurn {
        text: String::new(),
        calls: vec![call],
        kept: Some(Arc::new(kept)),
    };
    vec![
        ModelMessage::from_text("p".to_owned()),
        ModelMessage::Model(model_turn),
        ModelMessage::Results(vec![result]),
    ]
}

#[test]
fn former_thoughts_are_left_out_of_a_turn_without_thinking() {
    for (api, name, selection, is_sent) in [
        (Api::Messages, "claude-sonnet-5", ToolSelection::Auto, true),
        (
            Api::Messages,
            "claude-sonnet-5",
            ToolSelection::Only("find".to_owned()),
            false,
        ),
        (
            Api::Messages,
            "claude-opus-5-5",
            ToolSelection::Only("find".to_owned()),
            true,
        ),
        (
            Api::Responses,
            "gpt-6.2-sol",
            ToolSelection::Only("find".to_owned()),
            true,
        ),
    ] {
        let model = hosted(api, name, true, Thinking::High);
        let turn = TurnRequest {
            history: kept_history(api),
            ..turn(&["find"], selection, None)
        };
        let prepared = prepare(&turn, &model);
        let body = Value::Object(prepared.request.body.clone()).to_string();
        assert_eq!(body.contains("SIGNED"), is_sent, "{name}: {body}");
        assert_eq!(prepared.used.former_thoughts, is_sent, "{name}");
        assert!(prepared.used.media_in_results, "{name}");
        assert_eq!(prepared.used.cache_marks, model.rules.cache_marks);
    }
}

#[test]
fn thoughts_are_left_out_once_what_stands_before_them_has_changed() {
    let api = Api::Messages;
    for (name, binds_thoughts) in [("claude-sonnet-5-5", true), ("claude-sonnet-5", false)] {
        let model = hosted(api, name, true, Thinking::Off);
        let mut history = kept_history(api);
        let first = TurnRequest {
            history: history[..1].to_vec(),
            ..turn(&["find"], ToolSelection::Auto, None)
        };
        let origin = prepare(&first, &model).origin;
        if let ModelMessage::Model(turn) = &mut history[1] {
            let blocks = turn.kept.as_ref().unwrap().blocks.clone();
            turn.kept = Some(Arc::new(KeptTurn {
                api,
                origin,
                blocks,
            }));
        }
        let second = TurnRequest {
            history,
            ..first.clone()
        };
        let sent = |change: fn(&mut TurnRequest)| {
            let mut changed = second.clone();
            change(&mut changed);
            let body = Value::Object(prepare(&changed, &model).request.body).to_string();
            assert!(body.contains("\"tool_use\""), "{name}: {body}");
            body.contains("SIGNED")
        };
        assert!(sent(|_| {}), "{name}");
        let changes: [fn(&mut TurnRequest); 3] = [
            |turn| turn.system.push('!'),
            |turn| turn.tools = [tool("find"), tool("add")].into(),
            |turn| turn.history[0] = ModelMessage::from_text("q".to_owned()),
        ];
        for change in changes {
            assert_eq!(sent(change), !binds_thoughts, "{name}");
        }
    }
}

#[test]
fn objects_are_merged_and_other_values_replaced() {
    let mut target = json!({ "a": { "b": 1, "c": 2 }, "d": [1] });
    let fields = json!({ "a": { "c": 3, "e": {} }, "d": { "f": 1 }, "g": null });
    merge(target.as_object_mut().unwrap(), fields.as_object().unwrap());
    let expected = json!({ "a": { "b": 1, "c": 3, "e": {} }, "d": { "f": 1 }, "g": null });
    assert_eq!(target, expected);
}
