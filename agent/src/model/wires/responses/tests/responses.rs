//! Tests of responses.

use super::*;

#[test]
fn thoughts_text_and_two_calls_are_read_and_kept_in_order() {
    let output = receive(&tool_turn());
    assert_eq!(output.thoughts, "Look\n\nDraw");
    assert_eq!(output.text, "I look it up.");
    assert_eq!(output.arguments, ["{\"a\":\"b\"}", "{\"a\":\"b\"}"]);
    let (turn, usage) = output.end.as_ref().unwrap();
    assert_eq!(turn.text, "I look it up.");
    assert_eq!(turn.calls, [call("call_1", "find"), call("call_2", "draw")]);
    assert_eq!(output.kept(), Value::Array(kept_blocks()));
    let expected = TokenUsage {
        input: 100,
        cached: 64,
        output: 50,
        thinking: 20,
    };
    assert_eq!(*usage, expected);
}

#[test]
fn unknown_events_and_fields_change_nothing() {
    let expected = receive(&tool_turn());
    let mut events = Vec::new();
    for mut event in tool_turn() {
        event["new_field"] = json!({ "type": "error" });
        events.extend([
            json!({ "type": "keepalive", "sequence_number": 3 }),
            json!({ "type": "response.new_thing.delta", "output_index": 77, "delta": "x" }),
            json!({ "type": 1, "output_index": -1 }),
            json!(["error"]),
            Value::Null,
            event,
        ]);
    }
    let output = receive(&events);
    assert_eq!(output.text, expected.text);
    assert_eq!(output.thoughts, expected.thoughts);
    assert_eq!(output.turn().calls, expected.turn().calls);
    assert_eq!(output.kept(), expected.kept());
}

#[test]
fn events_that_come_twice_change_no_call_and_no_text() {
    for is_numbered in [true, false] {
        let events = tool_turn().into_iter().enumerate();
        let twice: Vec<_> = events
            .flat_map(|(number, mut event)| {
                if is_numbered {
                    event["sequence_number"] = number.into();
                }
                [event.clone(), event]
            })
            .collect();
        let output = receive(&twice);
        let turn = output.turn();
        assert_eq!(turn.text, "I look it up.");
        // Without numbers, only the whole item shows that a piece came twice.
        assert_eq!(output.text == turn.text, is_numbered, "{}", output.text);
        assert_eq!(turn.calls, [call("call_1", "find"), call("call_2", "draw")]);
        assert_eq!(output.kept(), Value::Array(kept_blocks()));
    }
}

#[test]
fn a_server_may_number_all_events_alike() {
    for number in [json!(0), Value::Null, json!("1")] {
        let mut events = message_events(0, &message_item("aa"), &["a", "a"]);
        events.push(completed());
        for event in &mut events {
            event["sequence_number"] = number.clone();
        }
        assert_eq!(receive(&events).text, "aa");
    }
}

#[test]
fn the_whole_response_replaces_what_was_missing_before() {
    let whole = terminal("completed", json!({ "output": kept_blocks() }));
    let output = receive(&[
        added(0, json!({ "type": "reasoning", "id": "rs_1" })),
        // Azure sends the encrypted content only at the end.
        done(
            0,
            json!({ "type": "reasoning", "id": "rs_1", "summary": [] }),
        ),
        delta("output_text", 1, "I look"),
        added(
            2,
            json!({ "type": "function_call", "call_id": "call_1", "name": "find" }),
        ),
        delta("function_call_arguments", 2, "{\"a"),
        whole,
    ]);
    assert_eq!(output.text, "I look it up.");
    let calls = &output.turn().calls;
    assert_eq!(*calls, [call("call_1", "find"), call("call_2", "draw")]);
    assert_eq!(output.kept(), Value::Array(kept_blocks()));
}

#[test]
fn the_whole_item_corrects_its_pieces() {
    let item = message_item("Hi 😀!");
    let mut events = message_events(0, &item, &["Hi \u{fffd}", "\u{fffd}!"]);
    events.push(completed());
    let output = receive(&events);
    assert_eq!(output.turn().text, "Hi 😀!");
    assert_eq!(output.text, "Hi \u{fffd}\u{fffd}!");

    let mut find = call_item(1, "find");
    find["arguments"] = json!("{\"a\":\"😀\"}");
    let output = receive(&[
        added(0, started(&find)),
        delta("function_call_arguments", 0, "{\"a\":\"\u{fffd}"),
        done(0, find),
        completed(),
    ]);
    assert_eq!(output.turn().calls[0].arguments["a"], "😀");
}

#[test]
fn arguments_may_be_an_object() {
    let mut find = call_item(1, "find");
    find["arguments"] = json!({ "a": "b" });
    let output = receive(&[added(0, started(&find)), done(0, find), completed()]);
    assert_eq!(output.turn().calls, [call("call_1", "find")]);
    assert_eq!(output.kept(), json!([call_item(1, "find")]));
}

#[test]
fn arguments_that_are_not_an_object_are_for_the_model() {
    for arguments in ["[1]", "{\"a\":\"b\",}", "find"] {
        let mut find = call_item(1, "find");
        find["arguments"] = arguments.into();
        let output = receive(&[done(0, find), completed()]);
        assert!(output.turn().calls[0].unreadable.is_some(), "{arguments}");
    }
}

#[test]
fn items_that_cannot_be_sent_back_are_not_kept() {
    let mut without_call_id = call_item(1, "find");
    without_call_id
        .as_object_mut()
        .unwrap()
        .shift_remove("call_id");
    let output = receive(&[done(0, without_call_id), completed()]);
    assert_eq!(output.turn().calls[0].id, "fc_1");
    assert_eq!(output.kept(), Value::Null);

    let mut without_content = message_item("");
    without_content["content"] = json!([]);
    let events = message_events(0, &without_content, &["Hello"]);
    let output = receive(&[events, vec![completed()]].concat());
    assert_eq!(output.turn().text, "Hello");
    assert_eq!(output.kept(), Value::Null);
}

#[test]
fn messages_are_divided_and_an_answer_has_no_commentary() {
    let answer = message_item("{\"a\":1}");
    let mut events = message_events(0, &commentary(), &["I look it up."]);
    events.extend(message_events(1, &answer, &["{\"a\"", ":1}"]));
    events.push(completed());
    assert_eq!(receive(&events).turn().text, "I look it up.\n\n{\"a\":1}");
    for has_tools in [true, false] {
        let format = AnswerText {
            tool: "find".to_owned(),
            has_tools,
        };
        let output = receive_for(Some(format), &events);
        assert_eq!(output.text, "I look it up.\n\n", "{has_tools}");
        assert_eq!(output.turn().text, "{\"a\":1}");
        assert_eq!(output.turn().calls[0].arguments["a"], 1);
        assert_eq!(output.arguments, ["{\"a\":1}"]);
    }
}

#[test]
fn a_gateway_may_leave_indexes_out() {
    let events = tool_turn().into_iter().map(|mut event| {
        event.as_object_mut().unwrap().shift_remove("output_index");
        event
    });
    // Without indexes, items cannot be interleaved.
    let is_of_draw = |event: &Value| event.to_string().contains("fc_2");
    let events: Vec<_> = events
        .filter(|event| event["type"] != "response.function_call_arguments.delta")
        .filter(|event| !is_of_draw(event) || event["type"] == "response.completed")
        .collect();
    let output = receive(&events);
    assert_eq!(output.text, "I look it up.");
    let calls = &output.turn().calls;
    assert_eq!(*calls, [call("call_1", "find"), call("call_2", "draw")]);
    assert_eq!(output.kept(), Value::Array(kept_blocks()));
}

#[test]
fn the_response_of_a_gateway_may_lack_items() {
    let mut events = tool_turn();
    let short = json!({ "output": [call_item(1, "find"), call_item(2, "draw")] });
    *events.last_mut().unwrap() = terminal("completed", short);
    let output = receive(&events);
    let calls = &output.turn().calls;
    assert_eq!(*calls, [call("call_1", "find"), call("call_2", "draw")]);
    assert_eq!(output.kept(), Value::Array(kept_blocks()));
}

/// Returns the events of a turn with calls whose whole response has these items.
fn with_output(output: Value) -> Vec<Value> {
    let mut events = tool_turn();
    *events.last_mut().unwrap() = terminal("completed", json!({ "output": output }));
    events
}

fn with_ids(mut item: Value, id: &str) -> Value {
    item["id"] = id.into();
    if item.get("call_id").is_some() {
        item["call_id"] = id.into();
    }
    item
}

#[test]
fn the_response_of_a_gateway_may_have_other_ids() {
    let (find, draw) = (call_item(1, "find"), call_item(2, "draw"));
    let other = |item: &Value, id: &str| with_ids(item.clone(), id);
    let mut spaced = other(&find, "x1");
    spaced["arguments"] = "{ \"a\": \"b\" }".into();
    for output in [
        json!([
            other(&reasoning(), "x0"),
            other(&commentary(), "x1"),
            other(&find, "x2"),
            other(&draw, "x3")
        ]),
        json!([other(&draw, "x1"), other(&find, "x2")]),
        json!([other(&commentary(), "x9"), other(&find, "x1"), draw]),
        json!([spaced]),
        json!([other(&draw, "")]),
    ] {
        let output = receive(&with_output(output));
        assert_eq!(output.text, "I look it up.");
        assert_eq!(output.turn().text, "I look it up.");
        let calls = &output.turn().calls;
        assert_eq!(*calls, [call("call_1", "find"), call("call_2", "draw")]);
        // A result names its call by the id that was received first.
        let kept = output.kept();
        let ids = kept.as_array().into_iter().flatten();
        let ids: Vec<_> = ids.filter_map(|item| item["call_id"].as_str()).collect();
        assert!(ids.is_empty() || ids == ["call_1", "call_2"], "{kept}");
    }
}

#[test]
fn a_response_with_other_calls_than_its_events_calls_nothing() {
    let find = call_item(1, "find");
    let mut changed = with_ids(find.clone(), "x1");
    changed["arguments"] = "{\"a\":\"c\"}".into();
    let mut renamed = with_ids(find.clone(), "x1");
    renamed["name"] = "tell".into();
    for other in [changed, renamed] {
        for output in [json!([other]), json!([find, other])] {
            let output = receive(&with_output(output.clone()));
            assert_eq!(output.failure().0, ErrorCode::ModelCallInvalid);
        }
    }
}

#[test]
fn more_items_than_an_answer_has_are_not_read() {
    let items = |count: u64| -> Vec<Value> {
        let items = (0..count).map(|index| added(index, json!({ "type": "x_item" })));
        items.collect()
    };
    assert_eq!(receive(&items(2_000)).error, None);
    assert_eq!(receive(&items(2_001)).error, Some(ReadError::TooLarge));
    let output: Vec<_> = (0..2_001).map(|_| json!({ "type": "x_item" })).collect();
    let whole = terminal("completed", json!({ "output": output }));
    assert_eq!(receive(&[whole]).error, Some(ReadError::TooLarge));
}

/// A comparison that parses the arguments of each pair takes minutes.
#[test]
fn as_many_calls_as_an_answer_has_are_found_in_the_whole_response() {
    let call = |number: u64, id: &str, arguments: String| {
        json!({ "type": "function_call", "call_id": format!("{id}{number}"), "name": "find",
            "status": "completed", "arguments": arguments })
    };
    let count = 2_000;
    let mut events: Vec<Value> = (0..count)
        .map(|number| {
            let arguments = json!({ "a": number, "b": "x".repeat(1_000) });
            done(number, call(number, "call_", arguments.to_string()))
        })
        .collect();
    // Another order of calls and of fields, and other ids.
    let output = (0..count).rev().map(|number| {
        let arguments = json!({ "b": "x".repeat(1_000), "a": number });
        call(number, "x", arguments.to_string())
    });
    let output: Vec<_> = output.collect();
    events.push(terminal("completed", json!({ "output": output })));
    let calls = receive(&events).turn().calls.clone();
    let numbers = calls
        .iter()
        .map(|call| call.arguments["a"].as_u64().unwrap());
    assert!(numbers.eq(0..count));
}

#[test]
fn a_refusal_is_one_although_the_response_is_complete() {
    let mut item = message_item("");
    item["content"] = json!([{ "type": "refusal", "refusal": "I'm sorry, I cannot." }]);
    let deltas = ["I'm sorry, ", "I cannot."].map(|text| delta("refusal", 0, text));
    let [first, second] = deltas;
    let whole = terminal("completed", json!({ "output": [item.clone()] }));
    for events in [
        vec![
            added(0, started(&item)),
            first.clone(),
            second.clone(),
            done(0, item.clone()),
            whole.clone(),
        ],
        vec![first, second, completed()],
        vec![whole],
    ] {
        let output = receive(&events);
        let (code, message) = output.failure();
        assert_eq!(code, ErrorCode::ModelRefused);
        assert!(message.ends_with("declines to answer"), "{message}");
    }
}

#[test]
fn only_a_complete_response_is_an_answer() {
    let incomplete =
        |reason: Value| terminal("incomplete", json!({ "incomplete_details": reason }));
    let with_status = |status: &str| {
        let mut event = completed();
        event["response"]["status"] = status.into();
        event
    };
    for (last, expected) in [
        (
            incomplete(json!({ "reason": "max_output_tokens" })),
            ErrorCode::ModelLengthReached,
        ),
        (
            incomplete(json!({ "reason": "content_filter" })),
            ErrorCode::ModelRefused,
        ),
        (
            incomplete(json!({ "reason": "max_messages" })),
            ErrorCode::ModelStreamBroken,
        ),
        (
            incomplete(json!({ "reason": "steered" })),
            ErrorCode::ModelStreamBroken,
        ),
        (
            incomplete(json!({ "reason": "new" })),
            ErrorCode::ModelStreamBroken,
        ),
        (incomplete(Value::Null), ErrorCode::ModelStreamBroken),
        (with_status("incomplete"), ErrorCode::ModelStreamBroken),
        (with_status("cancelled"), ErrorCode::ModelStreamBroken),
        (with_status("queued"), ErrorCode::ModelStreamBroken),
        (with_status("new"), ErrorCode::ModelStreamBroken),
        (
            json!({ "type": "response.in_progress" }),
            ErrorCode::ModelStreamUnfinished,
        ),
        (
            json!({ "type": "response.cancelled" }),
            ErrorCode::ModelStreamUnfinished,
        ),
    ] {
        let mut events = message_events(0, &message_item("Hello"), &["Hel", "lo"]);
        events.push(last.clone());
        let output = receive(&events);
        assert_eq!(output.failure().0, expected, "{last}");
        assert_eq!(output.text, "Hello");
        let has_ended = expected != ErrorCode::ModelStreamUnfinished;
        assert_eq!(output.is_ended, has_ended, "{last}");
    }
}

#[test]
fn a_complete_response_with_unfinished_items_is_not_an_answer() {
    let find = call_item(1, "find");
    let mut incomplete = find.clone();
    incomplete["status"] = "incomplete".into();
    for (events, expected) in [
        (vec![added(0, started(&find))], ErrorCode::ModelCallInvalid),
        (vec![done(0, incomplete)], ErrorCode::ModelCallInvalid),
        (
            vec![delta("output_text", 0, "Hel")],
            ErrorCode::ModelStreamBroken,
        ),
        (
            message_events(0, &commentary(), &[]),
            ErrorCode::ModelStreamBroken,
        ),
    ] {
        let output = receive(&[events.clone(), vec![completed()]].concat());
        assert_eq!(output.failure().0, expected, "{events:?}");
    }
}

#[test]
fn a_call_that_is_cut_off_is_not_made() {
    let mut find = call_item(1, "find");
    find["status"] = "incomplete".into();
    find["arguments"] = "{\"a\":".into();
    let details = json!({ "incomplete_details": { "reason": "max_output_tokens" },
        "output": [find], "usage": { "input_tokens": 7, "output_tokens": 16 } });
    let output = receive(&[
        added(0, started(&find)),
        delta("function_call_arguments", 0, "{\"a\":"),
        terminal("incomplete", details),
    ]);
    assert_eq!(output.failure().0, ErrorCode::ModelArgumentsCutOff);
    let usage = output.end.unwrap_err().usage;
    assert_eq!((usage.input, usage.output), (7, 16));
}

#[test]
fn an_empty_response_is_an_empty_turn() {
    for events in [vec![completed()], vec![done(0, reasoning()), completed()]] {
        let output = receive(&events);
        assert!(output.turn().text.is_empty());
        assert!(output.turn().calls.is_empty());
        let usage = output.end.unwrap().1;
        assert_eq!(usage, TokenUsage::default());
    }
}

#[test]
fn errors_are_reported_nested_or_flat() {
    let error = json!({ "type": "server_error", "code": "server_error", "message": "Sorry" });
    let flat =
        json!({ "type": "error", "code": "server_error", "message": "Sorry", "param": null });
    let null =
        json!({ "type": "error", "error": null, "code": "server_error", "message": "Sorry" });
    for (event, expected) in [
        (
            json!({ "type": "error", "sequence_number": 1, "error": error }),
            &error,
        ),
        (json!({ "error": error }), &error),
        (terminal("failed", json!({ "error": error })), &error),
        (flat.clone(), &flat),
        (null.clone(), &null),
    ] {
        let output = receive(&[delta("output_text", 0, "Hel"), event]);
        let expected = ReadError::Reported(json!({ "error": expected }));
        assert_eq!(output.error, Some(expected));
        assert!(output.end.is_err());
    }
}

#[test]
fn an_error_about_a_policy_is_a_refusal() {
    let error = json!({ "code": "bio_policy", "message": "It is about germs." });
    let usage = json!({ "input_tokens": 7 });
    for event in [
        terminal("failed", json!({ "error": error, "usage": usage })),
        json!({ "type": "error", "error": error }),
    ] {
        let output = receive(&[event]);
        let (code, message) = output.failure();
        assert_eq!(code, ErrorCode::ModelRefused);
        assert!(
            message.ends_with("declines to answer: bio_policy"),
            "{message}"
        );
        assert!(output.is_ended);
    }
}

#[test]
fn data_that_is_not_json_is_unreadable() {
    let mut turn = TurnBuilder::empty(Api::Responses);
    let mut reader = Responses.reader(false);
    assert_eq!(reader.read("{", &mut turn), Err(ReadError::Unreadable));
    assert_eq!(reader.read(" ", &mut turn), Ok(()));
    assert!(!turn.is_ended());
    assert_eq!(reader.read("[DONE]", &mut turn), Ok(()));
    assert!(turn.is_ended() && !turn.has_stopped());
}

/// Any value may come in any place.
#[test]
fn no_value_in_place_of_another_panics() {
    fn places(value: &Value, path: &str, found: &mut Vec<String>) {
        found.push(path.to_owned());
        let inner: Vec<(String, &Value)> = match value {
            Value::Object(fields) => fields.iter().map(|(name, it)| (name.clone(), it)).collect(),
            Value::Array(list) => {
                let numbered = list.iter().enumerate();
                numbered
                    .map(|(index, it)| (index.to_string(), it))
                    .collect()
            }
            _ => Vec::new(),
        };
        for (name, inner) in inner {
            places(inner, &format!("{path}/{name}"), found);
        }
    }
    let events = tool_turn();
    for (index, event) in events.iter().enumerate() {
        let mut paths = Vec::new();
        places(event, "", &mut paths);
        for path in paths {
            for wrong in [
                json!(null),
                json!(-1),
                json!(u64::MAX),
                json!("x"),
                json!([[]]),
                json!({}),
            ] {
                let mut events = events.clone();
                *events[index].pointer_mut(&path).unwrap() = wrong;
                receive(&events);
            }
        }
    }
}
