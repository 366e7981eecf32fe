//! Tests of requests.

use super::*;

#[test]
fn a_first_turn_has_instructions_a_picture_and_two_tools() {
    let rules = rules_of("gemini-4-argon");
    let tools = two_tools();
    let history = [ModelMessage::User(UserMessage {
        text: "What is this?".to_owned(),
        media: vec![picture()],
    })];
    let stop_sequences = ["END".to_owned()];
    let turn = WireTurn {
        temperature: Some(0.5),
        stop_sequences: &stop_sequences,
        ..wire_turn(&rules, &history, &tools)
    };
    let request = Gemini.request(&turn);
    assert_eq!(
        request.path,
        "models/gemini-4-argon:streamGenerateContent?alt=sse"
    );
    assert!(request.headers.is_empty());
    assert_eq!(
        Value::Object(request.body),
        json!({
            "systemInstruction": { "parts": [{ "text": "Be short" }] },
            "contents": [{ "role": "user", "parts": [
                { "inlineData": { "mimeType": "image/png", "data": "AAAA" } },
                { "text": "What is this?" },
            ] }],
            "tools": declarations(),
            "generationConfig": { "maxOutputTokens": 100, "temperature": 0.5, "stopSequences": ["END"] },
        })
    );
    let (name, value) = Gemini.key_header("secret");
    assert_eq!(
        (name.as_str(), value.as_str()),
        ("x-goog-api-key", "secret")
    );
}

#[test]
fn the_path_has_the_encoded_name_of_the_model() {
    for (model, path_of_model) in [
        ("gemini-flash-latest", "models/gemini-flash-latest"),
        ("models/gemini-4-neon", "models/gemini-4-neon"),
        ("tunedModels/mine", "tunedModels/mine"),
        ("google/gemini-4-neon", "models/google/gemini-4-neon"),
        ("a model?x#y%", "models/a%20model%3Fx%23y%25"),
    ] {
        let expected = format!("{path_of_model}:streamGenerateContent?alt=sse");
        assert_eq!(path(model), expected);
    }
}

#[test]
fn a_second_turn_has_the_kept_parts_and_the_results_in_order() {
    let calls = vec![call("c1", "draw"), call("made-up", "3d")];
    let kept_parts = json!([
        { "text": "I draw", "thoughtSignature": "s0" },
        { "functionCall": { "id": "c1", "name": "draw", "args": { "what": "a cat" } },
            "thoughtSignature": "s1" },
        { "functionCall": { "name": "page_3d" } },
    ]);
    let results = vec![
        CallResult {
            media: vec![picture()],
            ..CallResult::new(&calls[0], "drawn".to_owned(), false)
        },
        CallResult::new(&calls[1], "no paper".to_owned(), true),
    ];
    let history = [
        user("Draw"),
        kept_turn(calls, kept_parts.clone()),
        ModelMessage::Results(results),
        user("And now?"),
    ];
    let tools = two_tools();
    let rules = rules_of("gemini-4-argon");
    let sent_picture = json!({ "inlineData": { "mimeType": "image/png", "data": "AAAA" } });
    let failed =
        json!({ "functionResponse": { "name": "page_3d", "response": { "error": "no paper" } } });
    assert_eq!(
        body(&wire_turn(&rules, &history, &tools)),
        json!({
            "systemInstruction": { "parts": [{ "text": "Be short" }] },
            "contents": [
                { "role": "user", "parts": [{ "text": "Draw" }] },
                { "role": "model", "parts": kept_parts },
                { "role": "user", "parts": [
                    { "functionResponse": { "id": "c1", "name": "draw",
                        "response": { "output": "drawn" }, "parts": [sent_picture] } },
                    failed,
                    { "text": "And now?" },
                ] },
            ],
            "tools": declarations(),
            "generationConfig": { "maxOutputTokens": 100 },
        })
    );

    let without_media = ModelRules {
        media_in_results: false,
        ..rules
    };
    let sent = body(&wire_turn(&without_media, &history, &tools));
    assert_eq!(
        sent["contents"][2]["parts"],
        json!([
            { "functionResponse": { "id": "c1", "name": "draw", "response": { "output": "drawn" } } },
            failed,
            { "text": "What `draw` returned besides text:" },
            sent_picture,
            { "text": "And now?" },
        ])
    );
}

#[test]
fn a_first_call_without_a_signature_gets_the_placeholder() {
    let calls = || vec![call("made-up", "draw"), call("made-up-2", "draw")];
    let unsigned = json!({ "functionCall": { "name": "draw", "args": {} } });
    let with = |signature: &str| {
        let mut part = unsigned.clone();
        part[SIGNATURE] = signature.into();
        part
    };
    let built = ModelMessage::Model(ModelTurn {
        text: "Drawing".to_owned(),
        calls: calls(),
        kept: None,
    });
    let signed_parts = json!([{ "text": "", "thoughtSignature": "s0" },
        { "text": "t", "thought": true, "thoughtSignature": "s1" }, with("s2"), unsigned]);
    let signed = kept_turn(calls(), signed_parts.clone());
    let placeholder = with(SIGNATURE_PLACEHOLDER);
    // The turn, whether thoughts are sent, whether placeholders are, and the parts of the turn.
    for (turn, with_thoughts, signature_placeholder, expected) in [
        (
            &built,
            true,
            true,
            json!([{ "text": "Drawing" }, placeholder, unsigned]),
        ),
        (
            &built,
            true,
            false,
            json!([{ "text": "Drawing" }, unsigned, unsigned]),
        ),
        (&signed, true, true, signed_parts.clone()),
        (&signed, true, false, signed_parts),
        (&signed, false, true, json!([placeholder, unsigned])),
        (&signed, false, false, json!([unsigned, unsigned])),
    ] {
        let rules = ModelRules {
            signature_placeholder,
            ..rules_of("gemini-4-argon")
        };
        let results = calls()
            .iter()
            .map(|it| CallResult::new(it, "ok".to_owned(), false))
            .collect();
        let history = [user("Draw"), turn.clone(), ModelMessage::Results(results)];
        let sent = body(&WireTurn {
            with_thoughts,
            ..wire_turn(&rules, &history, &[])
        });
        assert_eq!(sent["contents"][1]["parts"], expected);
        let response =
            json!({ "functionResponse": { "name": "draw", "response": { "output": "ok" } } });
        assert_eq!(sent["contents"][2]["parts"], json!([response, response]));
    }
}

#[test]
fn a_choice_of_tools_is_sent_only_with_tools() {
    let rules = rules_of("gemini-4-argon");
    let tools = two_tools();
    let history = [user("Draw")];
    for (choice, expected) in [
        (WireChoice::Auto, Value::Null),
        (WireChoice::None, json!({ "mode": "NONE" })),
        (WireChoice::Required, json!({ "mode": "ANY" })),
        (
            WireChoice::Only("page_3d"),
            json!({ "mode": "ANY", "allowedFunctionNames": ["page_3d"] }),
        ),
    ] {
        let turn = WireTurn {
            choice,
            ..wire_turn(&rules, &history, &tools)
        };
        let sent = body(&turn);
        assert_eq!(sent["toolConfig"]["functionCallingConfig"], expected);
        assert_eq!(sent["tools"], declarations());
        let sent = body(&WireTurn { tools: &[], ..turn });
        assert_eq!(sent.get("toolConfig"), None);
        assert_eq!(sent.get("tools"), None);
    }
}

#[test]
fn a_format_forbids_the_tools_that_are_listed() {
    let rules = rules_of("gemini-4-argon");
    let tools = two_tools();
    let history = [user("Plan")];
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let format = AnswerFormat {
        tool: "answer".to_owned(),
        schema: schema.clone(),
        is_strict: false,
    };
    let turn = WireTurn {
        system: " ",
        choice: WireChoice::None,
        answer: Some(&format),
        ..wire_turn(&rules, &history, &tools)
    };
    assert_eq!(
        body(&turn),
        json!({
            "contents": [{ "role": "user", "parts": [{ "text": "Plan" }] }],
            "tools": declarations(),
            "toolConfig": { "functionCallingConfig": { "mode": "NONE" } },
            "generationConfig": { "maxOutputTokens": 100, "responseMimeType": "application/json",
                "responseJsonSchema": schema },
        })
    );
}

#[test]
fn a_rejected_answer_is_a_text_of_the_user() {
    let answer = call(&format!("{ANSWER_CALL_PREFIX}1"), "answer");
    let rules = rules_of("gemini-4-argon");
    let contents = |is_error: bool| {
        let turn = ModelTurn {
            text: "{}".to_owned(),
            calls: vec![answer.clone()],
            kept: None,
        };
        let result = CallResult::new(&answer, "`a` is missing".to_owned(), is_error);
        let results = ModelMessage::Results(vec![result]);
        let history = [user("Plan"), ModelMessage::Model(turn), results];
        body(&wire_turn(&rules, &history, &[]))["contents"].clone()
    };
    let expected = |last: &str| {
        json!([
            { "role": "user", "parts": [{ "text": "Plan" }] },
            { "role": "model", "parts": [{ "text": "{}" }] },
            { "role": "user", "parts": [{ "text": last }] },
        ])
    };
    assert_eq!(contents(true), expected("Error: `a` is missing"));
    // No request ends with a turn of the model.
    assert_eq!(contents(false), expected(CONTINUE));
}

#[test]
fn roles_alternate_and_empty_turns_are_left_out() {
    let rules = rules_of("gemini-4-argon");
    let model = |text: &str| {
        ModelMessage::Model(ModelTurn {
            text: text.to_owned(),
            ..ModelTurn::default()
        })
    };
    let content = |role: &str, texts: &[&str]| {
        let parts: Vec<Value> = texts.iter().copied().map(text_part).collect();
        json!({ "role": role, "parts": parts })
    };
    let cases = [
        (vec![], vec![content("user", &[CONTINUE])]),
        (
            vec![model("a"), model("b"), user("c")],
            vec![
                content("user", &[CONTINUE]),
                content("model", &["a", "b"]),
                content("user", &["c"]),
            ],
        ),
        (
            vec![user("a"), model(" \n"), user("b"), user("")],
            vec![content("user", &["a", "b"])],
        ),
    ];
    for (history, expected) in cases {
        let sent = body(&wire_turn(&rules, &history, &[]));
        assert_eq!(sent["contents"], Value::Array(expected));
    }
}
