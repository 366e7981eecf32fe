//! Tests of calls in responses.

use super::*;

#[test]
fn calls_are_distinguished_as_each_server_sends_them() {
    let whole = |id: Value, index: Value, name: &str, arguments: Value| {
        let function = json!({"name": name, "arguments": arguments});
        json!({"id": id, "index": index, "function": function})
    };
    let (none, zero) = (Value::Null, json!(0));
    let one = json!({"a": 1});
    for (server, deltas) in [
        (
            "no index",
            vec![
                calls(json!([whole(
                    json!("x"),
                    none.clone(),
                    "add",
                    json!("{\"a\":1}")
                )])),
                calls(json!([whole(
                    json!("y"),
                    none.clone(),
                    "add",
                    json!("{\"a\":1}")
                )])),
            ],
        ),
        (
            "no index and no id",
            vec![calls(json!([
                whole(none.clone(), none.clone(), "add", json!("{\"a\":1}")),
                whole(none.clone(), none.clone(), "add", json!("{\"a\":1}")),
            ]))],
        ),
        (
            "equal index, other ids, arguments as objects (LiteLLM)",
            vec![calls(json!([
                whole(json!("x"), zero.clone(), "add", one.clone()),
                whole(json!("y"), zero.clone(), "add", one.clone()),
            ]))],
        ),
        (
            "equal index, no ids, double-encoded arguments",
            vec![
                calls(json!([whole(
                    none.clone(),
                    zero.clone(),
                    "add",
                    json!("\"{\\\"a\\\":1}\"")
                )])),
                calls(json!([whole(
                    json!(""),
                    zero.clone(),
                    "add",
                    json!("\"{\\\"a\\\":1}\"")
                )])),
            ],
        ),
        (
            "equal ids, other indexes, names in each piece",
            vec![
                calls(json!([whole(json!("x"), json!(0), "add", json!("{\"a\""))])),
                calls(json!([whole(json!("x"), json!(1), "add", json!("{\"a\""))])),
                calls(json!([whole(json!("x"), json!(0), "add", json!(":1}"))])),
                calls(json!([whole(json!("x"), json!(1), "", json!(":1}"))])),
            ],
        ),
        (
            "pieces without index and id, and an empty one at the end",
            vec![
                calls(json!([whole(
                    json!("x"),
                    none.clone(),
                    "add",
                    none.clone()
                )])),
                calls(json!([{"function": {"arguments": "{\"a\":"}}])),
                calls(json!([{"function": {"name": "add", "arguments": "1}"}}])),
                calls(json!([whole(json!("y"), none.clone(), "add", json!({}))])),
                calls(json!([{"function": {"name": "", "arguments": "{\"a\""}}])),
                calls(json!([{"id": "y", "function": {"arguments": ":1}"}}])),
                calls(json!([{"index": 7, "id": "", "function": {"name": "", "arguments": ""}}])),
                calls(json!([{"index": 8, "id": "z", "function": {}}])),
            ],
        ),
        (
            "a call sent once more",
            vec![
                calls(json!([whole(
                    json!("x"),
                    zero.clone(),
                    "add",
                    json!("{\"a\":1}")
                )])),
                calls(json!([whole(
                    json!("x"),
                    zero.clone(),
                    "add",
                    json!("{\"a\":1}")
                )])),
                calls(json!([whole(
                    json!("y"),
                    json!(1),
                    "add",
                    json!("{\"a\":1}")
                )])),
                calls(json!([whole(json!("y"), json!(1), "add", json!(""))])),
            ],
        ),
    ] {
        for reason in ["tool_calls", "stop"] {
            let output = read(&response(&deltas, reason)).unwrap();
            let read: Vec<_> = output
                .calls()
                .into_iter()
                .map(|(_, tool, it)| (tool, it))
                .collect();
            assert_eq!(
                read,
                [("add", one.clone()), ("add", one.clone())],
                "{server}"
            );
            for (at, call) in output.turn.calls.iter().enumerate() {
                let kept = &output.kept()["tool_calls"][at];
                assert_eq!(kept["id"], call.id.as_str(), "{server}");
                let arguments = kept["function"]["arguments"].as_str().unwrap();
                assert_eq!(
                    serde_json::from_str::<Value>(arguments).unwrap(),
                    one,
                    "{server}"
                );
            }
        }
    }
}

#[test]
fn another_name_without_an_id_is_another_call() {
    let named = |name: &str| calls(json!([{"index": 0, "function": {"name": name}}]));
    let output = read(&response(&[named("add"), named("draw")], "tool_calls")).unwrap();
    let tools: Vec<_> = output
        .calls()
        .into_iter()
        .map(|(_, tool, _)| tool)
        .collect();
    assert_eq!(tools, ["add", "draw"]);
}

#[test]
fn arguments_that_are_not_an_object_are_sent_back_as_an_empty_one() {
    for (arguments, is_readable) in [
        (Value::Null, true),
        (json!(""), true),
        (json!({}), true),
        (json!("null"), true),
        (json!([1]), false),
        (json!("{\"a\":1,}"), false),
        (json!("{\"a\":1}{\"a\":2}"), false),
        (json!(true), false),
    ] {
        let call = json!([{"id": "x", "function": {"name": "add", "arguments": arguments}}]);
        let output = read(&response(&[calls(call)], "tool_calls")).unwrap();
        let read = &output.turn.calls[0];
        assert_eq!(read.unreadable.is_none(), is_readable, "{arguments}");
        assert!(read.arguments.is_empty());
        let kept = &output.kept()["tool_calls"][0];
        assert_eq!(kept["function"]["arguments"], "{}", "{arguments}");
    }
}

#[test]
fn a_call_without_a_name_or_a_stop_for_calls_without_one_is_not_whole() {
    let nameless = calls(json!([{"index": 0, "id": "x", "function": {"arguments": "{}"}}]));
    let empty = calls(json!([{"index": 0, "id": "x", "function": {}}]));
    let (code, _) = read(&[delta(nameless.clone())]).unwrap_err();
    assert_eq!(code, ErrorCode::ModelStreamUnfinished);
    let text = json!({"content": "Let me add."});
    for (deltas, reason) in [
        (&[nameless][..], "stop"),
        (&[empty][..], "tool_calls"),
        (&[text][..], "function_call"),
    ] {
        let (code, _) = read(&response(deltas, reason)).unwrap_err();
        assert_eq!(code, ErrorCode::ModelCallInvalid, "{deltas:?}");
    }
}

#[test]
fn more_calls_than_an_answer_has_are_not_read() {
    let read = |count: usize| {
        let pieces: Vec<_> = (0..count)
            .map(|id| json!({ "id": id.to_string(), "function": { "name": "add" } }))
            .collect();
        let event = delta(calls(pieces.into())).to_string();
        ChatCompletions.reader(false).read(&event, &mut builder())
    };
    assert_eq!(read(2_000), Ok(()));
    assert_eq!(read(2_001), Err(ReadError::TooLarge));
}
