//! Tests of responses.

use super::*;
use crate::model::provider_key::ProviderKey;

#[test]
fn reads_thoughts_text_and_two_calls() {
    let events = [
        json!({ "candidates": [], "usageMetadata": { "trafficType": "ON_DEMAND" }, "unknown": [1] }),
        parts(json!([{ "text": "Hm", "thought": true }])),
        json!({ "candidates": [{ "content": { "parts": [{ "text": "Mün" }, { "text": "" }] },
            "groundingMetadata": {}, "citationMetadata": { "citations": [{}] } }],
            "usageMetadata": { "promptTokenCount": 11, "thoughtsTokenCount": 7 } }),
        parts(json!([{ "text": "chen \u{1f600}", "unknown": 1 }, "not a part"])),
        parts(
            json!([{ "functionCall": { "id": "c1", "name": "draw", "args": { "what": "cat" } },
            "thoughtSignature": "s1" }]),
        ),
        parts(
            json!([{ "functionCall": { "name": "page_3d" }, "thoughtSignature": "" },
            { "text": "", "thoughtSignature": "s2" }, { "text": "Done" }, { "newData": {} }]),
        ),
        json!({ "candidates": [{ "content": {}, "finishReason": "STOP",
            "finishMessage": "Model generated function call(s)." }],
            "usageMetadata": { "candidatesTokenCount": 12, "totalTokenCount": 34,
                "cachedContentTokenCount": 5, "toolUsePromptTokenCount": 4 } }),
        json!({ "modelVersion": "gemini-4-argon-002", "responseId": "r" }),
    ];
    let (sent, turn, usage) = whole(&events);
    assert_eq!(turn.text, "München 😀Done");
    assert_eq!(turn.calls.len(), 2);
    assert_eq!(turn.calls[0].id, "c1");
    assert_eq!(turn.calls[0].arguments["what"], "cat");
    assert_eq!(turn.calls[1].tool, "3d");
    assert!(!turn.calls[1].id.is_empty());
    assert!(turn.calls.iter().all(|call| call.unreadable.is_none()));
    let thoughts = sent
        .iter()
        .filter(|it| matches!(it, ModelEvent::Thinking(text) if text == "Hm"));
    assert_eq!(thoughts.count(), 1);
    assert_eq!(
        kept(&turn),
        json!([
            { "text": "München 😀" },
            { "functionCall": { "id": "c1", "name": "draw", "args": { "what": "cat" } },
                "thoughtSignature": "s1" },
            { "functionCall": { "name": "page_3d" } },
            { "text": "", "thoughtSignature": "s2" },
            { "text": "Done" },
            { "newData": {} },
        ])
    );
    assert_eq!(
        usage,
        TokenUsage {
            input: 11 + 4,
            output: 12 + 7,
            cached: 5,
            thinking: 7,
        }
    );
}

#[test]
fn signed_parts_are_never_merged() {
    let events = [
        parts(json!([{ "text": "a" }])),
        parts(json!([{ "text": "b", "thoughtSignature": "s1" }])),
        parts(json!([{ "text": "t", "thought": true, "thoughtSignature": "s2" }])),
        parts(json!([{ "text": "c" }, { "text": "u", "thought": true }, { "text": "d" }])),
        stopped("STOP"),
    ];
    let (_, turn, _) = whole(&events);
    assert_eq!(turn.text, "abcd");
    assert_eq!(
        kept(&turn),
        json!([
            { "text": "a" },
            { "text": "b", "thoughtSignature": "s1" },
            { "text": "t", "thought": true, "thoughtSignature": "s2" },
            { "text": "cd" },
        ])
    );
}

#[test]
fn arguments_that_are_text_are_read_and_sent_back_as_an_object() {
    for (args, expected, is_readable) in [
        (json!("{\"what\": \"cat\"}"), json!({ "what": "cat" }), true),
        (json!("{\"what\": "), json!({}), false),
        (json!([1]), json!({}), false),
        (json!({}), json!({}), true),
        (json!(null), json!({}), true),
    ] {
        let call = json!({ "functionCall": { "name": "draw", "args": args } });
        let (_, turn, _) = whole(&[parts(json!([call])), stopped("STOP")]);
        assert_eq!(turn.calls[0].unreadable.is_none(), is_readable, "{args}");
        assert_eq!(kept(&turn)[0]["functionCall"]["args"], expected, "{args}");
    }
}

#[test]
fn a_call_in_pieces_or_without_a_name_is_never_run() {
    for call in [
        json!({ "name": "draw", "willContinue": true }),
        json!({ "name": "draw", "partialArgs": [{ "jsonPath": "$.what", "stringValue": "c" }] }),
        json!({ "name": "" }),
        json!({}),
        json!("draw"),
    ] {
        let events = [parts(json!([{ "functionCall": call }])), stopped("STOP")];
        let code = finish(read(&events).unwrap()).unwrap_err();
        assert_eq!(code, ErrorCode::ModelCallInvalid, "{call}");
    }
}

#[test]
fn a_part_after_the_last_reason_is_not_whole() {
    let half = || {
        let mut event = parts(json!([{ "text": "Half" }]));
        event["candidates"][0]["finishReason"] = "STOP".into();
        event
    };
    let call = json!({ "functionCall": { "name": "draw", "args": {} } });
    for more in [
        json!({ "text": " of it" }),
        json!({ "text": "Hm.", "thought": true }),
        call,
    ] {
        let more = parts(json!([more]));
        let code = finish(read(&[half(), more.clone()]).unwrap()).unwrap_err();
        assert_eq!(code, ErrorCode::ModelStreamUnfinished, "{more}");
        whole(&[half(), more, stopped("STOP")]);
    }
    whole(&[half(), parts(json!([{ "text": "" }]))]);
}

#[test]
fn every_reason_to_stop_has_its_code() {
    use ErrorCode::{ModelCallInvalid, ModelLengthReached, ModelRefused, ModelStreamBroken};
    let cases: [(ErrorCode, &[&str]); 4] = [
        (ModelLengthReached, &["MAX_TOKENS", "CONTINUATION"]),
        (
            ModelRefused,
            &[
                "SAFETY",
                "RECITATION",
                "BLOCKLIST",
                "PROHIBITED_CONTENT",
                "SPII",
                "ESCALATION",
                "PUP_LIMITED_DISABLED",
                "MODEL_ARMOR",
                "IMAGE_SAFETY",
                "IMAGE_PROHIBITED_CONTENT",
                "IMAGE_RECITATION",
            ],
        ),
        (
            ModelCallInvalid,
            &["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"],
        ),
        (
            ModelStreamBroken,
            &[
                "FINISH_REASON_UNSPECIFIED",
                "LANGUAGE",
                "OTHER",
                "TOO_MANY_TOOL_CALLS",
                "MISSING_THOUGHT_SIGNATURE",
                "MALFORMED_RESPONSE",
                "IMAGE_OTHER",
                "NO_IMAGE",
                "OF_A_LATER_VERSION",
            ],
        ),
    ];
    let call = json!({ "functionCall": { "name": "draw", "args": { "what": "cat" } } });
    let answers = [json!([]), json!([{ "text": "Half" }]), json!([call])];
    for (code, reasons) in cases {
        for reason in reasons {
            for answer in &answers {
                let events = [parts(answer.clone()), stopped(reason)];
                let failed = finish(read(&events).unwrap()).unwrap_err();
                assert_eq!(failed, code, "{reason} {answer}");
            }
        }
    }
}

#[test]
fn an_answer_without_text_is_whole_and_empty() {
    let thought = parts(json!([{ "text": "Hm", "thought": true }]));
    for events in [vec![stopped("STOP")], vec![thought, stopped("STOP")]] {
        let (_, turn, _) = whole(&events);
        assert_eq!(turn.text, "");
        assert!(turn.calls.is_empty());
        assert_eq!(kept(&turn), Value::Null);
    }
}

#[test]
fn an_answer_without_a_reason_to_stop_is_not_whole() {
    for events in [
        vec![],
        vec![parts(json!([{ "text": "Half" }]))],
        vec![stopped("")],
        vec![
            json!(null),
            json!([]),
            json!("text"),
            json!({ "candidates": {} }),
        ],
        vec![json!({ "candidates": [null, { "finishReason": "STOP" }] })],
        vec![json!({ "promptFeedback": { "blockReason": "BLOCK_REASON_UNSPECIFIED" } })],
    ] {
        let code = finish(read(&events).unwrap()).unwrap_err();
        assert_eq!(code, ErrorCode::ModelStreamUnfinished, "{events:?}");
    }
}

#[test]
fn a_reason_in_every_event_ends_nothing() {
    let event = |text: &str, reason: &str| json!({ "candidates": [{ "content": { "parts": [{ "text": text }] }, "finishReason": reason }] });
    let (_, turn, _) = whole(&[event("a", "STOP"), event("b", "STOP")]);
    assert_eq!(turn.text, "ab");
    assert_eq!(kept(&turn), json!([{ "text": "a" }, { "text": "b" }]));
    let cut = read(&[event("a", "STOP"), event("b", "MAX_TOKENS")]).unwrap();
    assert_eq!(finish(cut).unwrap_err(), ErrorCode::ModelLengthReached);
}

#[test]
fn a_blocked_prompt_is_refused_with_its_filters() {
    let rated = json!({ "blockReason": "SAFETY", "safetyRatings": [
        { "category": "HARM_CATEGORY_HARASSMENT", "blocked": true },
        { "category": "HARM_CATEGORY_JAILBREAK", "probability": "LOW" },
    ] });
    for (feedback, words) in [
        (
            json!({ "blockReason": "PROHIBITED_CONTENT" }),
            "PROHIBITED_CONTENT",
        ),
        (rated, "declines to answer: SAFETY"),
    ] {
        let event = json!({ "promptFeedback": feedback,
            "usageMetadata": { "promptTokenCount": 9, "totalTokenCount": 9 } });
        let turn = read(&[event]).unwrap();
        assert!(turn.is_ended());
        assert_eq!(turn.usage().input, 9);
        let errors = ErrorMapper::new(
            Provider::Gemini,
            true,
            "gemini".to_owned(),
            ProviderKey::default(),
        );
        let failed = turn.finish(&errors).unwrap_err();
        assert_eq!(failed.failure.code, ErrorCode::ModelRefused);
        assert!(
            failed.failure.message.ends_with(words),
            "{}",
            failed.failure
        );
    }
}

#[test]
fn more_calls_than_an_answer_has_are_not_read() {
    let calls = |count: u32| {
        let call = |id: u32| json!({ "functionCall": { "name": "find", "id": id.to_string() } });
        read(&[parts((0..count).map(call).collect())])
    };
    assert!(calls(2_000).is_ok());
    assert_eq!(calls(2_001).err(), Some(ReadError::TooLarge));
}

#[test]
fn an_error_in_the_stream_is_reported_in_its_format() {
    let error = json!({ "error": { "code": 503, "message": "busy", "status": "UNAVAILABLE" } });
    let text = parts(json!([{ "text": "Half" }]));
    for error in [
        error.clone(),
        json!([error]),
        json!({ "error": { "status": "UNAVAILABLE" } }),
        json!({ "error": "busy" }),
    ] {
        for events in [
            vec![error.clone()],
            vec![text.clone(), stopped("STOP"), error.clone()],
        ] {
            let reported = read(&events).unwrap_err();
            assert_eq!(reported, ReadError::Reported(error.clone()));
        }
    }
    assert!(read(&[json!({ "error": null })]).is_ok());
    let mut turn = TurnBuilder::empty(Api::Gemini);
    let mut reader = Gemini.reader(false);
    let unreadable = reader.read("{\"candidates\": [", &mut turn);
    assert_eq!(unreadable, Err(ReadError::Unreadable));
    assert_eq!(reader.read(" ", &mut turn), Ok(()));
    assert!(!turn.is_ended());
    assert_eq!(reader.read("[DONE]", &mut turn), Ok(()));
    assert!(turn.is_ended());
}

#[test]
fn usage_is_the_latest_total_and_survives_fields_that_are_missing() {
    let counted = |usage: Value| json!({ "usageMetadata": usage });
    for (events, expected) in [
        (vec![], [0, 0, 0, 0]),
        (
            vec![
                counted(json!(null)),
                counted(json!({ "promptTokenCount": "many" })),
            ],
            [0; 4],
        ),
        (
            vec![
                counted(json!({ "promptTokenCount": 10, "candidatesTokenCount": 1 })),
                counted(json!({ "promptTokenCount": 10, "candidatesTokenCount": 5,
                    "thoughtsTokenCount": 3, "cachedContentTokenCount": 8 })),
                counted(json!({ "promptTokenCount": 0 })),
            ],
            [10, 8, 8, 3],
        ),
        // All output was thoughts, or only the total is known.
        (
            vec![counted(
                json!({ "promptTokenCount": 10, "thoughtsTokenCount": 3 }),
            )],
            [10, 3, 0, 3],
        ),
        (
            vec![counted(
                json!({ "promptTokenCount": 10, "totalTokenCount": 16 }),
            )],
            [10, 6, 0, 0],
        ),
        (
            vec![counted(
                json!({ "candidatesTokenCount": u64::MAX, "thoughtsTokenCount": 1 }),
            )],
            [0, u64::MAX, 0, 1],
        ),
    ] {
        let [input, output, cached, thinking] = expected;
        let usage = TokenUsage {
            input,
            output,
            cached,
            thinking,
        };
        assert_eq!(read(&events).unwrap().usage(), usage);
    }
}
