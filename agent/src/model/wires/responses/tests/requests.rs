//! Tests of requests.

use super::*;

#[test]
fn a_first_turn_has_instructions_a_picture_and_tools() {
    let history = [ModelMessage::User(UserMessage {
        text: "What is it?".to_owned(),
        media: vec![picture()],
    })];
    let tools = [tool("find"), tool("draw")];
    let body = body("gpt-6.2-sol", true, |turn| {
        turn.system = "Be brief.";
        turn.history = &history;
        turn.tools = &tools;
    });
    let expected = json!({
        "model": "gpt-6.2-sol",
        "max_output_tokens": 1000,
        "input": [
            { "role": "developer", "content": "Be brief." },
            { "role": "user", "content": [
                sent_picture(),
                { "type": "input_text", "text": "What is it?" },
            ] },
        ],
        "tools": [sent_tool("find"), sent_tool("draw")],
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "query-1",
        "stream": true,
    });
    assert_eq!(body, expected);
}

#[test]
fn another_server_gets_no_fields_that_only_save_money() {
    let history = [question()];
    let body = body("local", false, |turn| {
        turn.system = "Be brief.";
        turn.history = &history;
    });
    let expected = json!({
        "model": "local",
        "max_output_tokens": 1000,
        "input": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "Find it" },
        ],
        "store": false,
            "include": ["reasoning.encrypted_content"],
        "stream": true,
    });
    assert_eq!(body, expected);
}

#[test]
fn a_second_turn_has_the_items_of_the_first_and_results_with_pictures() {
    let history = [question(), kept_turn(kept_blocks()), two_results()];
    let tools = [tool("find"), tool("draw")];
    let body = body("gpt-6.2-sol", true, |turn| {
        turn.history = &history;
        turn.tools = &tools;
    });
    let expected = json!({
        "model": "gpt-6.2-sol",
        "max_output_tokens": 1000,
        "input": [
            { "role": "user", "content": "Find it" },
            reasoning(),
            commentary(),
            call_item(1, "find"),
            call_item(2, "draw"),
            { "type": "function_call_output", "call_id": "call_1", "output": "Error: not found" },
            { "type": "function_call_output", "call_id": "call_2", "output": [
                { "type": "input_text", "text": "drawn" },
                sent_picture(),
            ] },
        ],
        "tools": [sent_tool("find"), sent_tool("draw")],
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "query-1",
        "stream": true,
    });
    assert_eq!(body, expected);
}

#[test]
fn pictures_follow_results_if_the_model_does_not_read_them_there() {
    let rules = ModelRules {
        media_in_results: false,
        ..rules_of("local", false)
    };
    let history = [two_results()];
    let body = body_with_rules(&rules, "local", false, |turn| turn.history = &history);
    let expected = json!([
        { "type": "function_call_output", "call_id": "call_1", "output": "Error: not found" },
        { "type": "function_call_output", "call_id": "call_2", "output": "drawn" },
        { "role": "user", "content": [
            { "type": "input_text", "text": "What `draw` returned besides text:" },
            sent_picture(),
        ] },
    ]);
    assert_eq!(body["input"], expected);
}

#[test]
fn a_turn_of_another_api_is_sent_as_text_and_calls() {
    let turn = ModelTurn {
        text: "I look it up.".to_owned(),
        calls: vec![call("toolu_1", "find")],
        kept: Some(Arc::new(KeptTurn {
            api: Api::Messages,
            origin: Default::default(),
            blocks: vec![json!({ "type": "text", "text": "I look it up." })],
        })),
    };
    let blank = ModelTurn {
        text: " \n".to_owned(),
        ..ModelTurn::default()
    };
    let history = [ModelMessage::Model(turn), ModelMessage::Model(blank)];
    let body = body("gpt-6.2-sol", true, |turn| turn.history = &history);
    let expected = json!([
        { "role": "assistant", "content": "I look it up." },
        {
            "type": "function_call",
            "call_id": "toolu_1",
            "name": "find",
            "arguments": "{\"a\":\"b\"}",
        },
    ]);
    assert_eq!(body["input"], expected);
}

#[test]
fn without_reasoning_the_other_items_have_no_ids() {
    // A message without an id has the form of one that is sent.
    let without_id = |mut item: Value| match item["type"].as_str() {
        Some("message") => json!({
            "role": "assistant",
            "content": item["content"][0]["text"],
            "phase": item["phase"],
        }),
        _ => {
            item.as_object_mut().unwrap().shift_remove("id");
            item
        }
    };
    let stored = json!({ "type": "reasoning", "id": "rs_1", "summary": [] });
    let mut stored_blocks = kept_blocks();
    stored_blocks[0] = stored;
    for (model, with_thoughts, blocks) in [
        ("gpt-6.2-sol", false, kept_blocks()),
        // The model does not reason, and refuses reasoning of another one.
        ("gpt-4.1-mini", true, kept_blocks()),
        // OpenAI has not stored the item.
        ("gpt-6.2-sol", true, stored_blocks),
    ] {
        let history = [kept_turn(blocks)];
        let body = body(model, true, |turn| {
            turn.history = &history;
            turn.with_thoughts = with_thoughts;
        });
        let others = kept_blocks().into_iter().skip(1).map(without_id);
        let expected: Value = others.collect();
        assert_eq!(body["input"], expected, "{model}");
        let is_asked = body.get("include").is_some();
        assert_eq!(is_asked, model != "gpt-4.1-mini", "{model}");
    }
}

#[test]
fn reasoning_that_no_item_follows_is_not_sent_back() {
    for (blocks, sent) in [
        (vec![reasoning(), commentary(), reasoning()], 2),
        (vec![reasoning(), reasoning(), commentary()], 3),
        (vec![reasoning()], 0),
    ] {
        let expected = blocks[..sent].to_vec();
        let history = [kept_turn(blocks)];
        let body = body("gpt-6.2-sol", true, |turn| turn.history = &history);
        assert_eq!(body["input"], Value::Array(expected));
    }
}

#[test]
fn a_tool_is_chosen_by_its_name_or_by_a_word() {
    let tools = [tool("find"), tool("draw")];
    for (choice, expected) in [
        (WireChoice::Auto, None),
        (WireChoice::None, Some(json!("none"))),
        (WireChoice::Required, Some(json!("required"))),
        (
            WireChoice::Only("find"),
            Some(json!({ "type": "function", "name": "find" })),
        ),
    ] {
        for tools in [&tools[..], &[]] {
            let body = body("gpt-6.2-sol", true, |turn| {
                turn.tools = tools;
                turn.choice = choice;
            });
            let expected = expected.as_ref().filter(|_| !tools.is_empty());
            assert_eq!(body.get("tool_choice"), expected);
            assert_eq!(body.get("tools").is_some(), !tools.is_empty());
        }
    }
}

#[test]
fn a_format_is_sent_beside_tools_that_must_not_be_called() {
    let answer = AnswerFormat {
        tool: "plan the wéek".to_owned(),
        schema: json!({ "type": "object", "properties": {}, "additionalProperties": false }),
        is_strict: true,
    };
    let tools = [tool("find")];
    let history = [question()];
    let body = body("gpt-6.2-sol", true, |turn| {
        turn.history = &history;
        turn.tools = &tools;
        turn.choice = WireChoice::None;
        turn.answer = Some(&answer);
    });
    let expected = json!({
        "model": "gpt-6.2-sol",
        "max_output_tokens": 1000,
        "input": [{ "role": "user", "content": "Find it" }],
        "tools": [sent_tool("find")],
        "tool_choice": "none",
        "text": { "format": {
            "type": "json_schema",
            "name": "plan_the_w_ek",
            "schema": { "type": "object", "properties": {}, "additionalProperties": false },
            "strict": true,
        } },
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "query-1",
        "stream": true,
    });
    assert_eq!(body, expected);
}

#[test]
fn the_model_reads_why_an_answer_was_rejected() {
    let answer = ModelCall {
        id: "answer-text-1".to_owned(),
        ..call("", "plan")
    };
    let history = [
        question(),
        ModelMessage::Model(ModelTurn {
            text: "{\"a\":1}".to_owned(),
            calls: vec![answer.clone()],
            kept: None,
        }),
        ModelMessage::Results(vec![CallResult::new(
            &answer,
            "`a` must be a string".to_owned(),
            true,
        )]),
    ];
    let body = body("gpt-6.2-sol", true, |turn| turn.history = &history);
    let expected = json!([
        { "role": "user", "content": "Find it" },
        { "role": "assistant", "content": "{\"a\":1}" },
        { "role": "user", "content": "Error: `a` must be a string" },
    ]);
    assert_eq!(body["input"], expected);
}

#[test]
fn limits_of_openai_are_kept() {
    let query = "ä".repeat(100);
    let body = body("gpt-4.1", true, |turn| {
        turn.cache_group = &query;
        turn.max_output_tokens = 1;
        turn.temperature = Some(0.5);
    });
    assert_eq!(body["max_output_tokens"], 16);
    assert_eq!(body["temperature"], 0.5);
    assert_eq!(body["prompt_cache_key"], "ä".repeat(64));
}

#[test]
fn files_are_sent_with_a_name() {
    let file = |name: Option<&str>| Media {
        name: name.map(str::to_owned),
        mime_type: "application/pdf".to_owned(),
        data: "JVBERi0x".into(),
    };
    let history = [ModelMessage::User(UserMessage {
        text: String::new(),
        media: vec![file(Some("a.pdf")), file(None)],
    })];
    let body = body("gpt-6.2-sol", true, |turn| turn.history = &history);
    let data = "data:application/pdf;base64,JVBERi0x";
    let expected = json!([{ "role": "user", "content": [
        { "type": "input_file", "filename": "a.pdf", "file_data": data },
        { "type": "input_file", "filename": "file", "file_data": data },
    ] }]);
    assert_eq!(body["input"], expected);
}

#[test]
fn the_key_is_a_bearer_token() {
    let (name, value) = Responses.key_header("sk-1");
    assert_eq!(
        (name.as_str(), value.as_str()),
        ("authorization", "Bearer sk-1")
    );
}
