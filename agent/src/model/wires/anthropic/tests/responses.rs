//! Tests of responses.

use super::*;

#[test]
fn reads_thoughts_text_and_calls_and_keeps_every_block() {
    let read = read(&whole()).unwrap();
    check_whole(&read);
    assert_eq!(read.kept(), whole_blocks());
}

#[test]
fn a_turn_goes_back_unchanged() {
    let read = read(&whole()).unwrap();
    let (server, tools) = (claude(), tools());
    let history = [ModelMessage::Model(read.turn().clone()), results()];
    let body = body(&server.turn(&history, &tools));
    assert_eq!(body["messages"][0]["content"], whole_blocks());
}

#[test]
fn ignores_events_and_fields_that_are_not_known() {
    let mut events = Vec::new();
    for mut event in whole() {
        for unknown in [
            json!({ "type": "new_event", "index": 0, "delta": 1 }),
            json!({ "type": 7 }),
            json!({ "error": null }),
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "new_delta" } }),
            json!({ "type": "content_block_delta", "index": 99 }),
            json!({ "type": "content_block_stop", "index": 99 }),
            json!({ "type": "message_delta" }),
            json!([1]),
            json!(null),
        ] {
            events.push(unknown);
        }
        event["new_field"] = json!({ "type": "error" });
        for field in ["delta", "message", "usage"] {
            if event.get(field).is_some() {
                event[field]["new_field"] = json!([null]);
            }
        }
        events.push(event);
    }
    let read = read(&events).unwrap();
    check_whole(&read);
    assert_eq!(read.kept(), whole_blocks());
}

#[test]
fn a_doubled_event_of_a_block_changes_nothing() {
    let is_piece = |event: &Value| event["type"] == "content_block_delta";
    let doubled = whole().into_iter().flat_map(|event| {
        let count = if is_piece(&event) { 1 } else { 2 };
        vec![event; count]
    });
    let read = read(&doubled.collect::<Vec<_>>()).unwrap();
    check_whole(&read);
    assert_eq!(read.kept(), whole_blocks());
}

#[test]
fn no_beginning_of_a_response_is_whole() {
    let events = whole();
    for count in 0..events.len() {
        let read = read(&events[..count]).unwrap();
        assert!(!read.has_stopped, "{count}");
        let code = read.failure_code();
        assert_eq!(code, Some(ErrorCode::ModelStreamUnfinished), "{count}");
    }
}

#[test]
fn a_response_without_one_of_its_events_is_not_half_an_answer() {
    let events = whole();
    for (index, missing) in events.iter().enumerate() {
        let is_needed = matches!(
            missing["type"].as_str().unwrap(),
            "content_block_start" | "content_block_stop" | "message_delta" | "message_stop"
        );
        let mut events = events.clone();
        events.remove(index);
        let is_whole = read(&events).is_ok_and(|read| read.turn.is_ok());
        // A block without pieces leaves no trace if it never begins.
        let is_without_pieces = [8, 20].contains(&index);
        assert_eq!(is_whole, !is_needed || is_without_pieces, "{missing}");
    }
}

#[test]
fn each_stop_reason_is_mapped() {
    for (reason, expected) in [
        ("end_turn", None),
        ("stop_sequence", None),
        ("max_tokens", Some(ErrorCode::ModelLengthReached)),
        (
            "model_context_window_exceeded",
            Some(ErrorCode::ModelLengthReached),
        ),
        ("refusal", Some(ErrorCode::ModelRefused)),
        ("pause_turn", Some(ErrorCode::ModelStreamBroken)),
        ("compaction", Some(ErrorCode::ModelStreamBroken)),
        ("new_reason", Some(ErrorCode::ModelStreamBroken)),
        // The call is missing.
        ("tool_use", Some(ErrorCode::ModelCallInvalid)),
    ] {
        let events = [
            start(),
            text(0),
            text_delta(0, "Hello"),
            stop(0),
            message_delta(reason),
            message_stop(),
        ];
        let read = read(&events).unwrap();
        assert!(read.is_ended, "{reason}");
        assert_eq!(read.failure_code(), expected, "{reason}");
        assert_eq!(read.usage.output, 89, "{reason}");
    }
    let without_reason = [start(), message_delta(Value::Null), message_stop()];
    let code = read(&without_reason).unwrap().failure_code();
    assert_eq!(code, Some(ErrorCode::ModelStreamUnfinished));
}

#[test]
fn a_turn_may_have_no_text() {
    let read = read(&[start(), message_delta("end_turn"), message_stop()]).unwrap();
    assert_eq!(read.turn().text, "");
    assert!(read.turn().kept.is_none());
}

#[test]
fn a_refusal_has_the_category_of_its_details() {
    for (details, category) in [
        (
            json!({ "type": "refusal", "category": "cyber", "explanation": "It may harm." }),
            ": cyber",
        ),
        (
            json!({ "type": "refusal", "category": null, "explanation": "It may harm." }),
            "",
        ),
        (json!({ "category": "bio", "explanation": null }), ": bio"),
        (json!("bio"), ""),
        (json!(null), ""),
    ] {
        let mut refused = message_delta("refusal");
        refused["delta"]["stop_details"] = details;
        let events = [
            start(),
            text(0),
            text_delta(0, "I"),
            refused,
            message_stop(),
        ];
        let failed = read(&events).unwrap().turn.unwrap_err();
        assert_eq!(failed.failure.code, ErrorCode::ModelRefused);
        let expected = format!("declines to answer{category}");
        assert!(failed.failure.message.ends_with(&expected), "{category}");
        assert_eq!(failed.usage.output, 89);
    }
}

#[test]
fn more_blocks_than_an_answer_has_are_not_read() {
    let blocks = |count: u32| -> Vec<Value> {
        let blocks = (0..count).flat_map(|index| [text(index), stop(index)]);
        [start()].into_iter().chain(blocks).collect()
    };
    assert!(read(&blocks(2_000)).is_ok());
    assert_eq!(read(&blocks(2_001)).err(), Some(ReadError::TooLarge));
}

#[test]
fn a_call_that_is_cut_off_is_not_made() {
    let events = [
        start(),
        tool_use(0, "toolu_1", "draw"),
        input_delta(0, "{\"title\": \"Mi"),
        stop(0),
        message_delta("max_tokens"),
        message_stop(),
    ];
    let code = read(&events).unwrap().failure_code();
    assert_eq!(code, Some(ErrorCode::ModelArgumentsCutOff));
}

#[test]
fn an_input_that_cannot_be_read_goes_back_empty() {
    for (pieces, is_readable) in [
        (json!("{\"title\": \"Milk\",}"), false),
        (json!("[1]"), false),
        (json!("{\"title\": \"\\ud83d"), false),
        (json!(" "), true),
        (json!("null"), true),
        (json!(null), true),
    ] {
        let events = [
            start(),
            tool_use(0, "toolu_1", "draw"),
            input_delta(0, pieces.clone()),
            stop(0),
            message_delta("tool_use"),
            message_stop(),
        ];
        let read = read(&events).unwrap();
        let call = &read.turn().calls[0];
        assert_eq!(call.unreadable.is_none(), is_readable, "{pieces}");
        assert_eq!(call.arguments, Map::new());
        assert_eq!(read.kept()[0]["input"], json!({}), "{pieces}");
    }
}

#[test]
fn an_input_may_come_at_once() {
    let input = json!({ "title": "Milk" });
    for (at_start, piece) in [
        (input.clone(), json!("")),
        (json!(input.to_string()), json!(null)),
        (json!({}), input.clone()),
        (json!(null), json!(input.to_string())),
        (json!({ "title": "old" }), json!(input.to_string())),
    ] {
        let mut call_block = tool_use(0, "toolu_1", "draw");
        call_block["content_block"]["input"] = at_start.clone();
        let events = [
            call_block,
            input_delta(0, piece),
            stop(0),
            message_delta("tool_use"),
            message_stop(),
        ];
        let read = read(&events).unwrap();
        let expected = call("toolu_1", "draw", input.clone());
        assert_eq!(read.turn().calls, [expected], "{at_start}");
        assert_eq!(read.kept()[0]["input"], input, "{at_start}");
    }
}

#[test]
fn a_call_without_an_id_gets_one_and_is_not_kept_as_it_came() {
    let events = [
        block(0, json!({ "type": "tool_use", "name": "draw" })),
        stop(0),
        message_delta("tool_use"),
        message_stop(),
    ];
    let read = read(&events).unwrap();
    assert!(!read.turn().calls[0].id.is_empty());
    assert!(read.turn().kept.is_none());
}

#[test]
fn citations_are_kept_with_their_text() {
    let citation = |number: u32| json!({ "type": "char_location", "document_index": number });
    let citation_delta = |number| delta(0, "citations_delta", "citation", citation(number));
    let events = [
        start(),
        text(0),
        text_delta(0, "As "),
        citation_delta(0),
        text_delta(0, "said"),
        citation_delta(1),
        stop(0),
        citation_delta(2),
        message_delta("end_turn"),
        message_stop(),
    ];
    let read = read(&events).unwrap();
    assert_eq!(read.text, "As said");
    assert_eq!(
        read.kept(),
        json!([{ "type": "text", "text": "As said", "citations": [citation(0), citation(1)] }])
    );
}

#[test]
fn a_blank_text_is_not_kept() {
    let events = [
        start(),
        text(0),
        text_delta(0, "\n\n"),
        stop(0),
        tool_use(1, "toolu_1", "draw"),
        stop(1),
        message_delta("tool_use"),
        message_stop(),
    ];
    let kept = read(&events).unwrap().kept();
    assert_eq!(kept.as_array().unwrap().len(), 1);
    assert_eq!(kept[0]["type"], "tool_use");
}

#[test]
fn blocks_that_are_not_known_are_kept_in_their_place() {
    let search = json!({ "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search",
        "input": {} });
    let found = json!({ "type": "web_search_tool_result", "content": [{ "url": "https://a" }] });
    let events = [
        start(),
        block(0, search),
        input_delta(0, "{\"query\":"),
        input_delta(0, " \"a\"}"),
        stop(0),
        block(1, found.clone()),
        stop(1),
        text(2),
        text_delta(2, "Found"),
        stop(2),
        message_delta("end_turn"),
        message_stop(),
    ];
    let read = read(&events).unwrap();
    assert!(read.turn().calls.is_empty());
    let kept = read.kept();
    assert_eq!(kept[0]["input"], json!({ "query": "a" }));
    assert_eq!(kept[1], found);
    assert_eq!(kept[2]["text"], "Found");
}

#[test]
fn reads_what_other_servers_send_differently() {
    // Without the beginning of the message, indexes and usage, and with whole blocks at once.
    let events = [
        json!({ "type": "content_block_start",
            "content_block": { "type": "thinking", "thinking": "Hm" } }),
        json!({ "type": "content_block_stop" }),
        json!({ "type": "content_block_start",
            "content_block": { "type": "text", "text": "Hel" } }),
        json!({ "type": "content_block_delta",
            "delta": { "type": "text_delta", "text": "lo" } }),
        json!({ "type": "content_block_stop" }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }),
        message_stop(),
    ];
    let read = read(&events).unwrap();
    assert_eq!(
        (read.text.as_str(), read.thinking.as_str()),
        ("Hello", "Hm")
    );
    assert_eq!(read.usage, TokenUsage::default());
    assert_eq!(
        read.kept(),
        json!([
            { "type": "thinking", "thinking": "Hm" },
            { "type": "text", "text": "Hello" },
        ])
    );
}

#[test]
fn counts_replace_those_before_and_absent_ones_do_not() {
    let with_usage = |usage: Value| json!({ "type": "message_delta", "delta": {}, "usage": usage });
    let events = [
        start(),
        with_usage(json!({ "output_tokens": 5, "input_tokens": null })),
        with_usage(json!({ "output_tokens": 7, "input_tokens": 20,
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": -1,
            "output_tokens_details": null })),
        with_usage(json!(null)),
    ];
    let read = read(&events).unwrap();
    let expected = TokenUsage {
        input: 3020,
        output: 7,
        cached: 3000,
        thinking: 0,
    };
    assert_eq!(read.usage, expected);
    assert_eq!(read.turn.unwrap_err().usage, expected);
}

#[test]
fn errors_of_the_provider_are_reported_whole() {
    for error in [
        json!({ "type": "error",
            "error": { "type": "overloaded_error", "message": "Overloaded" } }),
        json!({ "error": { "message": "Overloaded" } }),
    ] {
        for events in [
            vec![error.clone()],
            vec![start(), text(0), text_delta(0, "Hel"), error.clone()],
        ] {
            let reported = read(&events).err();
            assert_eq!(reported, Some(ReadError::Reported(error.clone())));
        }
    }
}

#[test]
fn an_answer_that_would_have_a_gap_cannot_be_read() {
    let thinking = block(
        0,
        json!({ "type": "thinking", "thinking": "", "signature": "" }),
    );
    for events in [
        vec![text_delta(0, "Hello")],
        vec![text(0), stop(0), text_delta(0, "Hello")],
        vec![text(0), text_delta(1, "Hello")],
        vec![input_delta(0, "{}")],
        vec![thinking, text_delta(0, "Hello")],
        vec![tool_use(0, "toolu_1", "draw"), text_delta(0, "Hello")],
        vec![text(0), input_delta(0, "{}")],
        vec![text(0), tool_use(0, "toolu_1", "draw")],
        vec![start(), text(0), start()],
        vec![json!({ "type": "content_block_start", "index": 0 })],
    ] {
        let error = read(&events).err();
        assert_eq!(error, Some(ReadError::Unreadable), "{events:?}");
    }
    // Half of a surrogate pair is repaired before the wire reads it.
    for data in ["{", r#"{"type":"\ud83d"}"#] {
        assert_eq!(read_data([data]).err(), Some(ReadError::Unreadable));
    }
    // The mark of another API is the end, and does not make the turn whole.
    for data in ["", "[DONE]"] {
        let code = read_data([data]).unwrap().failure_code();
        assert_eq!(code, Some(ErrorCode::ModelStreamUnfinished));
    }
}
