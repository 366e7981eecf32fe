//! Tests of requests.

use super::*;

#[test]
fn writes_a_first_turn_with_marks_for_the_cache() {
    let (server, history, tools) = (claude(), [question()], tools());
    let request = Messages.request(&server.turn(&history, &tools));
    assert_eq!(request.path, "messages");
    assert_eq!(request.headers["anthropic-version"], "2023-06-01");
    assert_eq!(request.headers.len(), 1);
    let fields: Vec<_> = request.body.keys().map(String::as_str).collect();
    let expected = [
        "model",
        "max_tokens",
        "system",
        "messages",
        "tools",
        "stream",
    ];
    assert_eq!(fields, expected);
    assert_eq!(
        Value::Object(request.body),
        json!({
            "model": "claude-opus-5-5",
            "max_tokens": 500,
            "system": [{ "type": "text", "text": "You are helpful.",
                "cache_control": { "type": "ephemeral" } }],
            "messages": [{ "role": "user", "content": [
                { "type": "image", "source": {
                    "type": "base64", "media_type": "image/png", "data": "AAAA" } },
                { "type": "text", "text": "What is this?",
                    "cache_control": { "type": "ephemeral" } },
            ] }],
            "tools": [
                { "name": "get_weather", "description": "Runs get_weather",
                    "input_schema": { "type": "object", "properties": {} } },
                { "name": "draw", "description": "Runs draw",
                    "input_schema": { "type": "object", "properties": {} },
                    "cache_control": { "type": "ephemeral" } },
            ],
            "stream": true,
        })
    );
}

#[test]
fn sends_a_compatible_server_only_what_each_server_knows() {
    let (server, history, tools) = (compatible(), [question()], tools());
    let stop_sequences = ["END".to_owned()];
    let turn = WireTurn {
        choice: WireChoice::Required,
        temperature: Some(0.5),
        stop_sequences: &stop_sequences,
        ..server.turn(&history, &tools[..1])
    };
    assert_eq!(
        body(&turn),
        json!({
            "model": "qwen3",
            "max_tokens": 500,
            "temperature": 0.5,
            "stop_sequences": ["END"],
            "system": "You are helpful.",
            "messages": [{ "role": "user", "content": [
                image(),
                { "type": "text", "text": "What is this?" },
            ] }],
            "tools": [{ "name": "get_weather", "description": "Runs get_weather",
                "input_schema": { "type": "object", "properties": {} } }],
            "tool_choice": { "type": "any" },
            "stream": true,
        })
    );
}

#[test]
fn sends_no_marks_for_the_cache_where_the_rules_have_none() {
    let mut server = claude();
    server.rules.cache_marks = false;
    let (history, tools) = ([question()], tools());
    let body = body(&server.turn(&history, &tools)).to_string();
    assert!(!body.contains("cache_control"), "{body}");
}

#[test]
fn sends_a_kept_turn_back_exactly_with_all_results_first() {
    let (server, tools) = (claude(), tools());
    let more = ModelMessage::from_text("Hurry.".to_owned());
    let kept = ModelMessage::Model(kept_turn());
    let history = [question(), kept, results(), more];
    let messages = &body(&server.turn(&history, &tools))["messages"];
    assert_eq!(
        *messages,
        json!([
            { "role": "user", "content": [
                image(),
                { "type": "text", "text": "What is this?",
                    "cache_control": { "type": "ephemeral" } },
            ] },
            { "role": "assistant", "content": kept_blocks() },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "toolu_1", "content": "no such city",
                    "is_error": true },
                { "type": "tool_result", "tool_use_id": "toolu_2", "content": [
                    { "type": "text", "text": "drawn" },
                    image(),
                ] },
                { "type": "text", "text": "Hurry.", "cache_control": { "type": "ephemeral" } },
            ] },
        ])
    );
}

/// The provider looks back at 20 blocks before a mark, and a turn may have more.
#[test]
fn marks_where_this_request_and_the_one_before_end() {
    let (server, tools) = (claude(), tools());
    let turn = || ModelMessage::Model(kept_turn());
    let history = [question(), turn(), results(), turn(), results()];
    let marked = |history: &[ModelMessage]| -> Vec<(usize, usize)> {
        let body = body(&server.turn(history, &tools));
        // The API accepts four, two of which are those of the instructions and the tools.
        let marks = body.to_string().matches("cache_control").count();
        let messages = body["messages"].as_array().unwrap().iter().enumerate();
        let found: Vec<_> = messages
            .flat_map(|(at, message)| {
                let blocks = message["content"].as_array().unwrap().iter().enumerate();
                let marked = blocks.filter(|(_, block)| block.get("cache_control").is_some());
                marked
                    .map(move |(block, _)| (at, block))
                    .collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(marks, found.len() + 2);
        found
    };
    assert_eq!(marked(&history[..1]), [(0, 1)]);
    assert_eq!(marked(&history[..3]), [(0, 1), (2, 1)]);
    assert_eq!(marked(&history), [(2, 1), (4, 1)]);
    assert_eq!(marked(&history[1..3]), [(1, 1)]);
}

#[test]
fn never_marks_a_thought_for_the_cache() {
    let server = claude();
    let kept = KeptTurn {
        api: Api::Messages,
        origin: Default::default(),
        blocks: kept_blocks().into_iter().take(2).rev().collect(),
    };
    let turn = ModelTurn {
        kept: Some(Arc::new(kept)),
        ..ModelTurn::default()
    };
    let history = [question(), ModelMessage::Model(turn)];
    let body = body(&server.turn(&history, &[]));
    let last = body["messages"][1]["content"].to_string();
    assert!(!last.contains("cache_control"), "{last}");
}

#[test]
fn leaves_thoughts_out_and_keeps_the_rest() {
    let (server, tools) = (claude(), tools());
    let history = [question(), ModelMessage::Model(kept_turn()), results()];
    let turn = WireTurn {
        with_thoughts: false,
        ..server.turn(&history, &tools)
    };
    let body = body(&turn);
    assert_eq!(
        body["messages"][1]["content"],
        json!(kept_blocks()[2..].to_vec())
    );
}

#[test]
fn writes_a_turn_of_another_api_from_its_text_and_calls() {
    let server = claude();
    let turn = ModelTurn {
        text: "I look.".to_owned(),
        calls: vec![call("functions.draw:0", "draw", json!({ "n": 1 }))],
        kept: Some(Arc::new(KeptTurn {
            api: Api::ChatCompletions,
            origin: Default::default(),
            blocks: vec![json!({ "role": "assistant" })],
        })),
    };
    let result = CallResult::new(&turn.calls[0], " ".to_owned(), true);
    let history = [
        ModelMessage::from_text("Draw".to_owned()),
        ModelMessage::Model(turn),
        ModelMessage::Results(vec![result]),
    ];
    let written = |server: &Server| body(&server.turn(&history, &[]))["messages"].clone();
    assert_eq!(
        written(&server),
        json!([
            { "role": "user", "content": [{ "type": "text", "text": "Draw",
                "cache_control": { "type": "ephemeral" } }] },
            { "role": "assistant", "content": [
                { "type": "text", "text": "I look." },
                { "type": "tool_use", "id": "functions_draw_0", "name": "draw",
                    "input": { "n": 1 } },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "functions_draw_0",
                    "content": "(no text)", "is_error": true,
                    "cache_control": { "type": "ephemeral" } },
            ] },
        ])
    );
    let unchanged = written(&compatible());
    assert_eq!(unchanged[1]["content"][1]["id"], "functions.draw:0");
    assert_eq!(
        unchanged[2]["content"][0]["tool_use_id"],
        "functions.draw:0"
    );
}

#[test]
fn sends_pictures_after_the_results_where_results_are_only_text() {
    let mut server = compatible();
    server.rules.media_in_results = false;
    let turn = ModelTurn {
        calls: calls(),
        ..ModelTurn::default()
    };
    let history = [ModelMessage::Model(turn), results()];
    let body = body(&server.turn(&history, &[]));
    assert_eq!(
        body["messages"][1]["content"],
        json!([
            { "type": "tool_result", "tool_use_id": "toolu_1", "content": "no such city",
                "is_error": true },
            { "type": "tool_result", "tool_use_id": "toolu_2", "content": "drawn" },
            { "type": "text", "text": "What `draw` returned besides text:" },
            image(),
        ])
    );
}

#[test]
fn leaves_out_empty_turns_and_texts() {
    let server = claude();
    let history = [
        ModelMessage::from_text("a".to_owned()),
        ModelMessage::Model(ModelTurn {
            text: "\n".to_owned(),
            ..ModelTurn::default()
        }),
        ModelMessage::from_text(" ".to_owned()),
        ModelMessage::from_text("b".to_owned()),
    ];
    let turn = WireTurn {
        system: " ",
        choice: WireChoice::Required,
        ..server.turn(&history, &[])
    };
    assert_eq!(
        body(&turn),
        json!({
            "model": "claude-opus-5-5",
            "max_tokens": 500,
            "messages": [{ "role": "user", "content": [
                { "type": "text", "text": "a" },
                { "type": "text", "text": "b", "cache_control": { "type": "ephemeral" } },
            ] }],
            "stream": true,
        })
    );
}

#[test]
fn forces_a_tool_by_its_name() {
    let (server, history, tools) = (claude(), [question()], tools());
    let turn = WireTurn {
        choice: WireChoice::Only("draw"),
        ..server.turn(&history, &tools)
    };
    let body = body(&turn);
    assert_eq!(
        body["tool_choice"],
        json!({ "type": "tool", "name": "draw" })
    );
    assert_eq!(body["tools"].as_array().unwrap().len(), 2);
}

#[test]
fn forbids_tools_and_sets_the_format_of_the_text() {
    let (server, history, tools) = (claude(), [question()], tools());
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } },
        "required": ["n"], "additionalProperties": false });
    let answer = AnswerFormat {
        tool: "respond".to_owned(),
        schema: schema.clone(),
        is_strict: true,
    };
    let turn = WireTurn {
        choice: WireChoice::None,
        answer: Some(&answer),
        ..server.turn(&history, &tools)
    };
    let body = body(&turn);
    assert_eq!(body["tool_choice"], json!({ "type": "none" }));
    assert_eq!(
        body["output_config"],
        json!({ "format": { "type": "json_schema", "schema": schema } })
    );
    let fields: Vec<_> = body.as_object().unwrap().keys().collect();
    assert_eq!(
        fields[4..],
        ["tools", "tool_choice", "output_config", "stream"]
    );
}

#[test]
fn writes_a_rejected_answer_as_text_and_leaves_an_accepted_one_out() {
    let server = compatible();
    let answer = |number: u32| {
        let id = format!("{ANSWER_CALL_PREFIX}{number}");
        let call = call(&id, "respond", json!({ "n": number }));
        let text = format!("{{\"n\":{number}}}");
        (call, text)
    };
    let model_turn = |(call, text): (ModelCall, String)| {
        ModelMessage::Model(ModelTurn {
            text,
            calls: vec![call],
            kept: None,
        })
    };
    let (first, second) = (answer(1), answer(2));
    let rejected = CallResult::new(&first.0, "`n` must be 2".to_owned(), true);
    let accepted = CallResult::new(&second.0, "accepted".to_owned(), false);
    let history = [
        ModelMessage::from_text("Answer".to_owned()),
        model_turn(first),
        ModelMessage::Results(vec![rejected]),
        model_turn(second),
        ModelMessage::Results(vec![accepted]),
    ];
    let body = body(&server.turn(&history, &[]));
    assert_eq!(
        body["messages"],
        json!([
            { "role": "user", "content": [{ "type": "text", "text": "Answer" }] },
            { "role": "assistant", "content": [{ "type": "text", "text": "{\"n\":1}" }] },
            { "role": "user", "content": [{ "type": "text", "text": "Error: `n` must be 2" }] },
            { "role": "assistant", "content": [{ "type": "text", "text": "{\"n\":2}" }] },
        ])
    );
}

#[test]
fn sends_a_file_as_a_document() {
    let file = Media {
        mime_type: "application/pdf".to_owned(),
        ..picture()
    };
    let message = UserMessage {
        text: String::new(),
        media: vec![file],
    };
    let (server, history) = (compatible(), [ModelMessage::User(message)]);
    let body = body(&server.turn(&history, &[]));
    assert_eq!(
        body["messages"][0]["content"],
        json!([{ "type": "document", "source": {
            "type": "base64", "media_type": "application/pdf", "data": "AAAA" } }])
    );
}

#[test]
fn sends_the_key_in_its_header() {
    let (name, value) = Messages.key_header("k");
    assert_eq!((name.as_str(), value.as_str()), ("x-api-key", "k"));
}
