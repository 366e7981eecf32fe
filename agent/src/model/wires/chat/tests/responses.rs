//! Tests of responses.

use super::*;

#[test]
fn thoughts_text_and_calls_are_read_and_kept_among_unknown_fields() {
    let events = [
        json!({"choices": [], "prompt_filter_results": []}),
        delta(json!({"role": "assistant", "content": "", "refusal": null, "new": {"a": [1]}})),
        json!({"object": "new.event", "type": "new"}),
        json!({}),
        json!([1]),
        json!(7),
        json!({"choices": null, "usage": null, "error": null}),
        json!({"choices": [null, 3, {}, {"delta": null}, {"index": 1, "delta": {"content": "other"}}]}),
        delta(json!({"reasoning_content": "Hm. "})),
        delta(json!({"reasoning_content": "Yes.", "content": null, "tool_calls": null})),
        delta(json!({"content": "Ok\u{e4}\u{1f600}", "tool_calls": []})),
        delta(json!({"content": "\u{fffd}"})),
        delta(calls(
            json!([{"index": 0, "id": "call_1", "type": "function",
            "function": {"name": "add", "arguments": ""}}]),
        )),
        delta(calls(
            json!([{"index": 0, "function": {"arguments": "{\"a\""}}]),
        )),
        delta(calls(
            json!([{"index": 0, "id": null, "function": {"name": null, "arguments": ": 1}"}}]),
        )),
        delta(calls(
            json!([{"index": 1, "id": "call_2", "function": {"name": "draw"}}, null, 1, {}]),
        )),
        delta(json!({})),
        finish("tool_calls"),
        json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 17,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 3}}}),
        json!("[DONE]"),
    ];
    let output = read(&events).unwrap();
    assert_eq!(output.text, "Okä😀\u{fffd}");
    assert_eq!(output.thoughts, "Hm. Yes.");
    let expected = [
        ("call_1", "add", json!({"a": 1})),
        ("call_2", "draw", json!({})),
    ];
    assert_eq!(output.calls(), expected);
    let usage = TokenUsage {
        input: 10,
        output: 7,
        cached: 4,
        thinking: 3,
    };
    assert_eq!(output.usage, usage);
    let expected = json!({
        "role": "assistant",
        "content": "Okä😀\u{fffd}",
        "tool_calls": [call_value("call_1", "add", "{\"a\": 1}"), call_value("call_2", "draw", "{}")],
        "reasoning_content": "Hm. Yes.",
    });
    assert_eq!(output.kept(), &expected);
}

#[test]
fn each_reason_ends_the_turn() {
    let text = [json!({"content": "Half"})];
    for (reason, expected) in [
        ("stop", None),
        ("eos", None),
        ("length", Some(ErrorCode::ModelLengthReached)),
        ("model_length", Some(ErrorCode::ModelLengthReached)),
        ("content_filter", Some(ErrorCode::ModelRefused)),
        ("malformed_function_call", Some(ErrorCode::ModelCallInvalid)),
        ("error", Some(ErrorCode::ModelStreamBroken)),
        ("abort", Some(ErrorCode::ModelStreamBroken)),
        ("load", Some(ErrorCode::ModelStreamBroken)),
        (
            "insufficient_system_resource",
            Some(ErrorCode::ModelStreamBroken),
        ),
        ("pause_turn", Some(ErrorCode::ModelStreamBroken)),
        ("STOP", Some(ErrorCode::ModelStreamBroken)),
        ("", Some(ErrorCode::ModelStreamUnfinished)),
    ] {
        let code = read(&response(&text, reason)).err().map(|(code, _)| code);
        assert_eq!(code, expected, "{reason}");
    }
    let native = json!({"choices": [{"delta": {}, "finish_reason": "error",
        "native_finish_reason": "MALFORMED_FUNCTION_CALL"}]});
    let (code, _) = read(&[native]).unwrap_err();
    assert_eq!(code, ErrorCode::ModelCallInvalid);
    let cut =
        calls(json!([{"index": 0, "id": "x", "function": {"name": "add", "arguments": "{\"a"}}]));
    let (code, message) = read(&response(&[cut], "length")).unwrap_err();
    assert_eq!(code, ErrorCode::ModelArgumentsCutOff);
    assert!(message.contains("add"), "{message}");
}

#[test]
fn a_second_reason_does_not_make_a_turn_whole() {
    let text = delta(json!({"content": "Half"}));
    let (code, _) = read(&[text.clone(), finish("length"), finish("stop")]).unwrap_err();
    assert_eq!(code, ErrorCode::ModelLengthReached);
    let (code, _) = read(&[text.clone(), finish("stop"), finish("length")]).unwrap_err();
    assert_eq!(code, ErrorCode::ModelLengthReached);
    let whole = [
        text,
        finish("stop"),
        delta(json!({"content": " more"})),
        finish("stop"),
        finish(""),
    ];
    let output = read(&whole).unwrap();
    assert_eq!(output.text, "Half more");
    assert_eq!(output.kept()["content"], "Half more");
}

#[test]
fn output_after_the_last_reason_is_not_whole() {
    let half = json!({"choices": [{"delta": {"content": "Half"}, "finish_reason": "stop"}]});
    let call = calls(json!([{"index": 0, "id": "x", "function": {"name": "add"}}]));
    for more in [
        json!({"content": " of it"}),
        json!({"reasoning": "Hm."}),
        call,
    ] {
        let (code, _) = read(&[half.clone(), delta(more.clone())]).unwrap_err();
        assert_eq!(code, ErrorCode::ModelStreamUnfinished, "{more}");
        let whole = [half.clone(), delta(more), finish("stop")];
        assert!(read(&whole).is_ok());
    }
    for nothing in [json!({}), json!({"content": ""}), json!({"content": null})] {
        assert!(read(&[half.clone(), delta(nothing)]).is_ok());
    }
}

#[test]
fn the_mark_of_the_end_does_not_make_a_turn_whole() {
    let mut reader = ChatCompletions.reader(false);
    let mut turn = builder();
    reader
        .read(&delta(json!({"content": "Half"})).to_string(), &mut turn)
        .unwrap();
    assert!(!turn.is_ended());
    reader.read(" [DONE] ", &mut turn).unwrap();
    assert!(turn.is_ended() && !turn.has_stopped());
    let whole = read(&[delta(json!({"content": "Whole"})), finish("stop")]);
    assert_eq!(whole.unwrap().text, "Whole");
}

#[test]
fn a_refusal_has_no_words_of_the_model() {
    let words = [
        json!({"refusal": "I'm sorry, "}),
        json!({"content": null, "refusal": "no."}),
    ];
    for reason in ["stop", "content_filter"] {
        let (code, message) = read(&response(&words, reason)).unwrap_err();
        assert_eq!(code, ErrorCode::ModelRefused);
        assert!(message.ends_with("declines to answer"), "{message}");
    }
    let answer = [json!({"content": "Yes", "refusal": ""})];
    assert_eq!(read(&response(&answer, "stop")).unwrap().text, "Yes");
}

#[test]
fn an_error_in_any_format_ends_the_response() {
    for event in [
        json!({"error": {"message": "m", "type": "server_error", "code": null}}),
        json!({"error": "m"}),
        json!({"code": "c", "error": "m"}),
        json!({"object": "error", "message": "m", "type": "t", "code": 400}),
        json!({"message": "m", "type": "server_error"}),
        json!({"error": {"code": 429, "message": "m"}, "choices": [
            {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]}),
    ] {
        let read = ChatCompletions
            .reader(false)
            .read(&event.to_string(), &mut builder());
        assert_eq!(read, Err(ReadError::Reported(event)));
    }
    let in_choice = json!({"choices": [{"error": {"code": 502}, "finish_reason": "error"}]});
    let read = ChatCompletions
        .reader(false)
        .read(&in_choice.to_string(), &mut builder());
    assert_eq!(
        read,
        Err(ReadError::Reported(json!({"error": {"code": 502}})))
    );
    for text in ["<html>", "{", "[DONE"] {
        let read = ChatCompletions.reader(false).read(text, &mut builder());
        assert_eq!(read, Err(ReadError::Unreadable), "{text}");
    }
    for event in [
        json!({"error": null}),
        json!({"error": ""}),
        json!({"error": false}),
        json!({"type": "ping", "message": "m"}),
        json!(""),
    ] {
        let event = event
            .as_str()
            .map_or_else(|| event.to_string(), str::to_owned);
        let read = ChatCompletions.reader(false).read(&event, &mut builder());
        assert_eq!(read, Ok(()), "{event}");
    }
}

/// Returns the value with each of its parts replaced.
fn with_replaced_parts(value: &Value, replacement: &Value) -> Vec<Value> {
    let mut replaced = vec![replacement.clone()];
    let mut add = |part: &Value, put: &dyn Fn(Value) -> Value| {
        replaced.extend(with_replaced_parts(part, replacement).into_iter().map(put));
    };
    match value {
        Value::Object(fields) => {
            for (name, part) in fields {
                add(part, &|part| {
                    let mut whole = value.clone();
                    whole[name] = part;
                    whole
                });
            }
        }
        Value::Array(parts) => {
            for (at, part) in parts.iter().enumerate() {
                add(part, &|part| {
                    let mut whole = value.clone();
                    whole[at] = part;
                    whole
                });
            }
        }
        _ => {}
    }
    replaced
}

#[test]
fn no_value_in_any_place_is_a_panic() {
    let event = json!({
        "error": null,
        "choices": [{"index": 0, "finish_reason": "stop", "native_finish_reason": "stop", "delta": {
            "content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
                {"type": "text", "text": "Yes"}],
            "refusal": null,
            "reasoning": "Hm.",
            "reasoning_details": [{"type": "reasoning.text", "text": "Hm.", "index": 0}],
            "tool_calls": [{"index": 0, "id": "x", "extra_content": {},
                "function": {"name": "add", "arguments": "{}"}}],
        }}],
        "usage": {"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 1},
            "completion_tokens": 1, "completion_tokens_details": {"reasoning_tokens": 1}},
        "timings": {"prompt_n": 1},
    });
    let mut count = 0;
    for replacement in [
        json!(null),
        json!(true),
        json!(-1),
        json!(u64::MAX),
        json!(1e300),
        json!("\u{1f600}"),
        json!([]),
        json!({}),
        json!([null, [], {"text": "a", "thinking": "b"}]),
    ] {
        for replaced in with_replaced_parts(&event, &replacement) {
            let mut reader = ChatCompletions.reader(false);
            let mut turn = builder();
            for event in [&event, &replaced, &replaced, &event] {
                drop(reader.read(&event.to_string(), &mut turn));
            }
            reader.finish(&mut turn);
            count += 1;
        }
    }
    assert!(count > 300, "{count}");
}

#[test]
fn tokens_are_read_where_each_server_has_them() {
    let usage = |usage: Value| json!({"choices": [], "usage": usage});
    for (event, expected) in [
        (
            usage(json!({"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7})),
            [5, 2, 0, 0],
        ),
        (
            json!({"x_groq": {"id": "r", "usage": {"prompt_tokens": 5, "completion_tokens": 2}}}),
            [5, 2, 0, 0],
        ),
        (
            json!({"choices": [{"delta": {}, "usage": {"prompt_tokens": 5, "completion_tokens": 2,
                "cached_tokens": 3}}]}),
            [5, 2, 3, 0],
        ),
        (
            usage(
                json!({"prompt_tokens": 5, "completion_tokens": 2, "prompt_cache_hit_tokens": 4,
                "prompt_tokens_details": {"cached_tokens": 0}, "reasoning_tokens": 1}),
            ),
            [5, 2, 4, 1],
        ),
        (
            usage(json!({"prompt_tokens": 5, "completion_tokens": 2, "num_cached_tokens": 4})),
            [5, 2, 4, 0],
        ),
        (
            // xAI
            usage(
                json!({"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 17,
                "completion_tokens_details": {"reasoning_tokens": 10}}),
            ),
            [5, 12, 0, 10],
        ),
        (
            json!({"timings": {"cache_n": 3, "prompt_n": 2, "prompt_ms": 1.5, "predicted_n": 9}}),
            [5, 9, 3, 0],
        ),
        (
            json!({"usage": {"prompt_tokens": 5, "completion_tokens": 2},
                "timings": {"cache_n": 1, "prompt_n": 1, "predicted_n": 1}}),
            [5, 2, 0, 0],
        ),
        (usage(Value::Null), [0, 0, 0, 0]),
        (
            usage(json!({"prompt_tokens": -1, "completion_tokens": "2"})),
            [0, 0, 0, 0],
        ),
    ] {
        let events = [
            delta(json!({"content": "Yes"})),
            finish("stop"),
            event.clone(),
        ];
        let TokenUsage {
            input,
            output,
            cached,
            thinking,
        } = read(&events).unwrap().usage;
        assert_eq!([input, output, cached, thinking], expected, "{event}");
    }
}
