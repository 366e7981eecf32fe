//! Tests of requests.

use super::*;

#[test]
fn the_first_request_has_only_fields_that_every_server_reads() {
    let history = [ModelMessage::User(UserMessage {
        text: "What is it?".to_owned(),
        media: vec![picture()],
    })];
    let (rules, tools) = (rules(""), tools());
    let turn = turn(&rules, &history, &tools);
    let expected = json!({
        "model": "m",
        "max_tokens": 100,
        "messages": [
            {"role": "system", "content": "You help."},
            {"role": "user", "content": [sent_picture(), {"type": "text", "text": "What is it?"}]},
        ],
        "tools": [sent_tool("add"), sent_tool("draw")],
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    assert_eq!(body(&turn), expected);
    let order: Vec<_> = ChatCompletions
        .request(&turn)
        .body
        .keys()
        .cloned()
        .collect();
    assert_eq!(
        order,
        [
            "model",
            "max_tokens",
            "messages",
            "tools",
            "stream",
            "stream_options"
        ]
    );
    let (name, value) = ChatCompletions.key_header("k");
    assert_eq!(
        (name.as_str(), value.as_str()),
        ("authorization", "Bearer k")
    );
}

#[test]
fn openai_itself_gets_a_cache_key_and_its_own_fields() {
    let rules = rules("cache_marks = true\nmax_tokens_field = 'max_completion_tokens'\n");
    let history = [user("Hi")];
    let stop = ["END".to_owned()];
    let long = "ä".repeat(100);
    let turn = WireTurn {
        is_official: true,
        system: "",
        cache_group: &long,
        temperature: Some(0.5),
        stop_sequences: &stop,
        ..turn(&rules, &history, &[])
    };
    let expected = json!({
        "model": "m",
        "max_completion_tokens": 100,
        "temperature": 0.5,
        "stop": ["END"],
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": true,
        "stream_options": {"include_usage": true},
        "prompt_cache_key": "ä".repeat(64),
    });
    assert_eq!(body(&turn), expected);
    let elsewhere = body(&WireTurn {
        is_official: false,
        ..turn
    });
    assert_eq!(elsewhere.get("prompt_cache_key"), None);
}

#[test]
fn a_server_that_refuses_stream_options_gets_none() {
    let (rules, history) = (rules("stream_usage = false\n"), [user("Hi")]);
    assert_eq!(
        body(&turn(&rules, &history, &[])).get("stream_options"),
        None
    );
}

#[test]
fn the_second_request_has_the_turn_as_it_came_and_its_results() {
    let draw = call("call_1", "draw", json!({}));
    let add = call("call_2", "add", json!({"a": 1}));
    let block = json!({
        "role": "assistant",
        "content": "I draw.",
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "draw", "arguments": ""},
             "extra_content": {"google": {"thought_signature": "s"}}},
            {"id": "call_2", "type": "function", "function": {"name": "add", "arguments": "{ \"a\": 1}"}},
        ],
        "reasoning_content": "Hm.",
        "reasoning_details": [{"type": "reasoning.text", "text": "Hm."}],
    });
    let history = [
        user("Draw"),
        kept_turn(vec![draw.clone(), add.clone()], block.clone()),
        results(&draw, &add),
        user("And now?"),
    ];
    let (careful, tools) = (rules(""), tools());
    let request = turn(&careful, &history, &tools);
    let expected = json!([
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "Draw"},
        block,
        {"role": "tool", "tool_call_id": "call_1", "content": "drawn"},
        {"role": "tool", "tool_call_id": "call_2", "content": "Error: no number"},
        {"role": "user", "content": [
            {"type": "text", "text": "What `draw` returned besides text:"},
            sent_picture(),
            {"type": "text", "text": "And now?"},
        ]},
    ]);
    assert_eq!(body(&request)["messages"], expected);

    let without = body(&WireTurn {
        with_thoughts: false,
        ..request
    });
    let call = |id, name, arguments| call_value(id, name, arguments);
    let expected = json!({
        "role": "assistant",
        "content": "I draw.",
        "tool_calls": [call("call_1", "draw", ""), call("call_2", "add", "{ \"a\": 1}")],
    });
    assert_eq!(without["messages"][2], expected);

    let rules = rules("media_in_results = true\n");
    let messages = body(&turn(&rules, &history, &tools))["messages"].clone();
    let content = json!([{"type": "text", "text": "drawn"}, sent_picture()]);
    assert_eq!(messages[3]["content"], content);
    assert_eq!(messages[5], json!({"role": "user", "content": "And now?"}));
}

#[test]
fn a_turn_of_another_api_is_built_from_its_text_and_calls() {
    let add = call("toolu_1", "add", json!({"a": 1}));
    let other = Some(Arc::new(KeptTurn {
        api: Api::Messages,
        origin: Default::default(),
        blocks: vec![json!({"type": "thinking"})],
    }));
    let model = |text: &str, calls: Vec<ModelCall>| {
        ModelMessage::Model(ModelTurn {
            text: text.to_owned(),
            calls,
            kept: other.clone(),
        })
    };
    let history = [
        user("1"),
        model(" \n", vec![add.clone()]),
        ModelMessage::Results(vec![CallResult::new(&add, "2".to_owned(), false)]),
        model("Two.", Vec::new()),
        user("2"),
        model("", Vec::new()),
        user("3"),
    ];
    let (rules, tools) = (rules(""), tools());
    let expected = json!([
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "1"},
        {"role": "assistant", "content": null,
         "tool_calls": [call_value("toolu_1", "add", "{\"a\":1}")]},
        {"role": "tool", "tool_call_id": "toolu_1", "content": "2"},
        {"role": "assistant", "content": "Two."},
        {"role": "user", "content": "2\n\n3"},
    ]);
    assert_eq!(body(&turn(&rules, &history, &tools))["messages"], expected);
}

#[test]
fn a_server_that_requires_thoughts_with_calls_gets_them_with_each() {
    let add = call("1", "add", json!({}));
    let with_call = |thoughts: Option<&str>| {
        let mut block = json!({"role": "assistant", "content": null,
            "tool_calls": [call_value("1", "add", "{}")]});
        if let Some(thoughts) = thoughts {
            block["reasoning_content"] = json!(thoughts);
        }
        block
    };
    let rules = rules("");
    let request = |thoughts| {
        let history = [
            kept_turn(vec![add.clone()], with_call(None)),
            kept_turn(vec![add.clone()], with_call(thoughts)),
        ];
        body(&turn(&rules, &history, &[]))["messages"].clone()
    };
    let messages = request(Some("Hm."));
    assert_eq!(messages[1]["reasoning_content"], "");
    assert_eq!(messages[2]["reasoning_content"], "Hm.");
    assert_eq!(request(None)[1].get("reasoning_content"), None);
}

#[test]
fn a_choice_is_sent_only_with_tools_and_if_it_is_not_the_default() {
    let (rules, history, tools) = (rules(""), [user("Hi")], tools());
    let named = json!({"type": "function", "function": {"name": "add"}});
    for (choice, expected) in [
        (WireChoice::Auto, None),
        (WireChoice::None, Some(json!("none"))),
        (WireChoice::Required, Some(json!("required"))),
        (WireChoice::Only("add"), Some(named)),
    ] {
        let with = WireTurn {
            choice,
            ..turn(&rules, &history, &tools)
        };
        assert_eq!(body(&with).get("tool_choice"), expected.as_ref());
        let without = body(&WireTurn { tools: &[], ..with });
        assert_eq!(
            (without.get("tool_choice"), without.get("tools")),
            (None, None)
        );
    }
}

#[test]
fn an_answer_with_a_schema_is_a_format_beside_forbidden_tools() {
    let (rules, history, tools) = (rules(""), [user("Hi")], tools());
    for (is_strict, is_official) in [(true, true), (false, true), (false, false)] {
        let answer = AnswerFormat {
            tool: "answer".to_owned(),
            schema: json!({"type": "object"}),
            is_strict,
        };
        let turn = WireTurn {
            choice: WireChoice::None,
            answer: Some(&answer),
            is_official,
            ..turn(&rules, &history, &tools)
        };
        let mut format = json!({"name": "answer", "schema": {"type": "object"}});
        if is_strict {
            format["strict"] = json!(true);
        }
        let expected = json!({
            "model": "m",
            "max_tokens": 100,
            "messages": [
                {"role": "system", "content": "You help."},
                {"role": "user", "content": "Hi"},
            ],
            "tools": [sent_tool("add"), sent_tool("draw")],
            "tool_choice": "none",
            "response_format": {"type": "json_schema", "json_schema": format},
            "stream": true,
            "stream_options": {"include_usage": true},
        });
        assert_eq!(body(&turn), expected);
    }
}

#[test]
fn a_rejected_answer_is_followed_by_a_message_of_the_user() {
    let answer = call("answer-text-1", "answer", json!({}));
    let block = json!({"role": "assistant", "content": "{}"});
    let rejected = |is_error| {
        let result = CallResult::new(&answer, "`n` is missing".to_owned(), is_error);
        let history = [
            kept_turn(vec![answer.clone()], block.clone()),
            ModelMessage::Results(vec![result]),
        ];
        let rules = rules("");
        body(&turn(&rules, &history, &[]))["messages"].clone()
    };
    let system = json!({"role": "system", "content": "You help."});
    let rejection = json!({"role": "user", "content": "Error: `n` is missing"});
    assert_eq!(rejected(true), json!([system, block, rejection]));
    assert_eq!(rejected(false), json!([system, block]));
}
