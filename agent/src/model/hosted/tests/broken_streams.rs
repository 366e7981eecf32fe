//! Whole responses that are cut, reordered, doubled, extended or written in another way.

use super::in_memory::server;
use super::streams::{TEXT, THOUGHTS, frame};
use super::*;

fn weather() -> (&'static str, Value) {
    ("get_weather", json!({ "location": "San Francisco" }))
}

fn time() -> (&'static str, Value) {
    ("get_time", json!({ "zone": "Europe/Berlin" }))
}

/// Checks that a turn is the one of the whole response.
fn assert_whole(output: &TurnOutput, stream: &WholeStream, what: &str) {
    let (turn, usage) = output.end.as_ref().unwrap_or_else(|failure| {
        panic!("{:?} {what}: {failure}", stream.api);
    });
    assert_eq!(output.text, TEXT, "{:?} {what}", stream.api);
    assert_eq!(turn.text, TEXT, "{:?} {what}", stream.api);
    assert_eq!(output.thoughts, THOUGHTS, "{:?} {what}", stream.api);
    assert_eq!(calls(turn), [weather(), time()], "{:?} {what}", stream.api);
    assert_eq!(*usage, stream.usage_after(usize::MAX), "{what}");
    assert_arguments_are_complete(output);
    assert!(output.spent.is_empty(), "{:?}", output.spent);
    // Gemini counts no tokens that are written to its cache.
    let cache_writes = if stream.api == Api::Gemini { 0 } else { 8 };
    assert_eq!(output.cache_writes, cache_writes, "{:?} {what}", stream.api);
}

/// Checks that a turn calls nothing that the whole response does not call. A call whose arguments
/// cannot be read does not run.
fn assert_no_other_calls(output: &TurnOutput, stream: &WholeStream, what: &str) {
    let Ok((turn, _)) = &output.end else { return };
    // Nothing shows the loss of all pieces: the schema of the tool rejects such a call.
    let may_be_empty = matches!(stream.api, Api::Messages | Api::ChatCompletions);
    let readable = turn.calls.iter().filter(|call| call.unreadable.is_none());
    for call in readable {
        let is_empty = may_be_empty && call.arguments.is_empty();
        let arguments = Value::Object(call.arguments.clone());
        let call = (call.tool.as_str(), arguments);
        let is_known = is_empty || [weather(), time()].contains(&call);
        assert!(is_known, "{:?} {what}: {call:?}", stream.api);
    }
}

#[tokio::test]
async fn a_whole_response_is_read() {
    for api in ALL {
        let stream = WholeStream::of(api);
        let output = server(api).read_text(&stream.text()).await;
        assert_whole(&output, &stream, "at once");
        let kept = output.turn().kept.as_ref().unwrap();
        assert_eq!(kept.api, api);
    }
}

#[tokio::test]
async fn chunks_line_ends_comments_and_a_byte_order_mark_change_nothing() {
    for api in ALL {
        let server = server(api);
        let stream = WholeStream::of(api);
        let text = stream.text();
        let whole = server.read_text(&text).await;
        let kept = &whole.turn().kept.as_ref().unwrap().blocks;
        for (what, text) in [
            ("lines that end with LF", text.clone()),
            ("lines that end with CRLF", text.replace('\n', "\r\n")),
            ("lines that end with CR", text.replace('\n', "\r")),
            ("a byte order mark", format!("\u{feff}{text}")),
            (
                "comments",
                text.replace("data:", ": OPENROUTER PROCESSING\n:\ndata:"),
            ),
            (
                "comments between events",
                format!(": hi\n\n{}", text.replace("\n\n", "\n\n: hi\n\n")),
            ),
            ("no space before the data", text.replace("data: ", "data:")),
            (
                "fields that are not known",
                text.replace("data: ", "x: y\nid: 1\ndata: "),
            ),
            ("no names of events", without_names(&text)),
        ] {
            for size in [1, 2, 7, usize::MAX] {
                let chunks = text.as_bytes().chunks(size);
                let chunks = chunks.map(|chunk| Ok(Bytes::copy_from_slice(chunk)));
                let output = server.read(chunks).await;
                assert_whole(&output, &stream, what);
                assert_eq!(&output.turn().kept.as_ref().unwrap().blocks, kept, "{what}");
            }
        }
    }
}

fn without_names(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    lines.filter(|line| !line.starts_with("event:")).collect()
}

#[tokio::test]
async fn a_cut_response_is_never_whole_and_its_tokens_are_counted() {
    for api in ALL {
        let server = server(api);
        let stream = WholeStream::of(api);
        let text = stream.text();
        let ends = stream.ends();
        let whole = server.read_text(&text).await;
        for cut in 0..=text.len() {
            let events = ends.iter().filter(|end| **end <= cut).count();
            let is_whole = events >= stream.whole_after;
            let part = || Ok(Bytes::copy_from_slice(&text.as_bytes()[..cut]));
            let ended = server.read([part()]).await;
            let disconnected = server.read([part(), Err(io::Error::other("cut"))]).await;
            for (output, must_be_whole) in [(&ended, is_whole), (&disconnected, false)] {
                let place = format!("{api:?} after {cut} bytes, {events} events: {output:?}");
                match &output.end {
                    Ok((turn, usage)) => {
                        assert!(is_whole, "{place}");
                        assert_eq!(turn.text, whole.turn().text, "{place}");
                        assert_eq!(calls(turn), calls(whole.turn()), "{place}");
                        assert_eq!(*usage, stream.usage_after(events), "{place}");
                    }
                    Err(failure) => {
                        assert!(!must_be_whole, "{place}");
                        let codes = [
                            ErrorCode::ModelStreamBroken,
                            ErrorCode::ModelStreamUnfinished,
                        ];
                        assert!(codes.contains(&failure.code), "{place}");
                        let counted = stream.usage_after(events);
                        let has_output = !(output.text.is_empty() && output.thoughts.is_empty());
                        // An answer that has begun without output also costs something.
                        let is_charged = has_output || counted != TokenUsage::default();
                        assert!(output.spent.len() <= 1, "{place}");
                        assert!(!is_charged || output.spent == [counted], "{place}");
                        assert!(events > 0 || output.spent.is_empty(), "{place}");
                    }
                }
                // The page gets no text that is not in the response.
                assert!(TEXT.starts_with(&output.text), "{place}");
                assert!(THOUGHTS.starts_with(&output.thoughts), "{place}");
            }
        }
    }
}

/// Whether the loss of an event cannot be seen: a piece within a text in the arguments of a call, at an
/// API that does not repeat the arguments as a whole. The streams here have none.
fn is_within_text(event: &Value) -> bool {
    let paths = [
        "/delta/partial_json",
        "/choices/0/delta/tool_calls/0/function/arguments",
    ];
    let pieces = paths
        .iter()
        .filter_map(|path| event.pointer(path)?.as_str());
    pieces
        .into_iter()
        .any(|piece| !piece.is_empty() && !piece.contains(['{', '}', '"']))
}

/// Returns a response in which this event is dropped, doubled, or swapped with the next.
fn changed_at(stream: &WholeStream, index: usize) -> Vec<(&'static str, WholeStream)> {
    let mut dropped = stream.clone();
    dropped.events.remove(index);
    let mut doubled = stream.clone();
    doubled.events.insert(index, stream.events[index].clone());
    let mut changed = vec![("dropped", dropped), ("doubled", doubled)];
    if index + 1 < stream.events.len() {
        let mut swapped = stream.clone();
        swapped.events.swap(index, index + 1);
        changed.push(("swapped", swapped));
    }
    changed
}

#[tokio::test]
async fn other_ids_in_the_whole_response_never_make_another_call() {
    let server = server(Api::Responses);
    let mut stream = WholeStream::of(Api::Responses);
    let output = stream
        .events
        .last_mut()
        .unwrap()
        .pointer_mut("/response/output");
    for (number, item) in output
        .unwrap()
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .enumerate()
    {
        for id in ["id", "call_id"] {
            if item.get(id).is_some() {
                item[id] = format!("other_{number}").into();
            }
        }
    }
    assert_whole(
        &server.read_text(&stream.text()).await,
        &stream,
        "with other ids",
    );
    let assert_no_more_calls = |output: &TurnOutput, what: &str| {
        assert_no_other_calls(output, &stream, what);
        if let Ok((turn, _)) = &output.end {
            assert!(turn.calls.len() <= 2, "{what}: {:?}", turn.calls);
        }
    };
    for first in 0..stream.events.len() {
        for (how, changed) in changed_at(&stream, first) {
            let output = server.read_text(&changed.text()).await;
            assert_no_more_calls(&output, &format!("event {first} is {how}"));
        }
        for second in first + 1..stream.events.len() {
            let mut changed = stream.clone();
            changed.events.remove(second);
            changed.events.remove(first);
            let output = server.read_text(&changed.text()).await;
            assert_no_more_calls(&output, &format!("events {first} and {second} are lost"));
        }
    }
}

#[tokio::test]
async fn no_reordered_doubled_or_dropped_event_makes_another_call() {
    for api in ALL {
        let server = server(api);
        let stream = WholeStream::of(api);
        assert!(!stream.events.iter().any(is_within_text));
        for index in 0..stream.events.len() {
            for (how, changed) in changed_at(&stream, index) {
                let what = format!("event {index} is {how}");
                let output = server.read_text(&changed.text()).await;
                assert_no_other_calls(&output, &stream, &what);
                if let ("doubled", Ok((turn, _))) = (how, &output.end) {
                    assert_eq!(turn.calls.len(), 2, "{api:?} {what}");
                }
                // The whole items, and the numbers of events, show what has changed.
                let is_last = index + 2 >= stream.events.len();
                if api == Api::Responses && !is_last {
                    assert_eq!(output.turn().text, TEXT, "{what}");
                    assert_eq!(output.turn().calls.len(), 2, "{what}");
                }
            }
        }
    }
}

#[tokio::test]
async fn any_two_events_may_be_lost_without_another_call() {
    for api in ALL {
        let server = server(api);
        let stream = WholeStream::of(api);
        for first in 0..stream.events.len() {
            for second in first + 1..stream.events.len() {
                let mut changed = stream.clone();
                changed.events.remove(second);
                changed.events.remove(first);
                let output = server.read_text(&changed.text()).await;
                let what = format!("events {first} and {second} are lost");
                assert_no_other_calls(&output, &stream, &what);
            }
        }
    }
}

/// Adds a field that is not known to each object, except to the arguments of calls.
fn add_unknown_fields(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                if !["args", "input", "arguments"].contains(&name.as_str()) {
                    add_unknown_fields(value);
                }
            }
            let unknown = json!({ "type": "x", "text": ["y"], "delta": null, "error": "z" });
            fields.insert("xUnknown".to_owned(), unknown);
            fields.insert("x_unknown".to_owned(), 1.into());
        }
        Value::Array(elements) => elements.iter_mut().for_each(add_unknown_fields),
        _ => {}
    }
}

#[tokio::test]
async fn unknown_fields_change_nothing() {
    for api in ALL {
        let mut stream = WholeStream::of(api);
        stream.events.iter_mut().for_each(add_unknown_fields);
        let output = server(api).read_text(&stream.text()).await;
        assert_whole(&output, &stream, "with unknown fields");
    }
}

fn unknown_events(api: Api) -> Vec<Value> {
    match api {
        Api::Messages => vec![
            json!({ "type": "x_unknown", "index": 0, "delta": { "text": "x" } }),
            json!({ "type": "x_unknown" }),
            json!({}),
            json!({ "type": "content_block_start", "index": 90,
                "content_block": { "type": "x_block", "text": "x" } }),
            json!({ "type": "content_block_delta", "index": 90,
                "delta": { "type": "x_delta", "text": "x" } }),
            json!({ "type": "content_block_stop", "index": 90 }),
            json!({ "type": "content_block_delta", "index": 1,
                "delta": { "type": "x_delta", "text": "x" } }),
        ],
        Api::Responses => vec![
            json!({ "type": "response.x_unknown.delta", "output_index": 1, "delta": "x" }),
            json!({ "type": "response.x_unknown" }),
            json!({}),
            json!({ "type": "response.output_item.added", "output_index": 90,
                "item": { "id": "x_1", "type": "x_item" } }),
            json!({ "type": "response.x_item.delta", "output_index": 90, "delta": "x" }),
            json!({ "type": "response.output_item.done", "output_index": 90,
                "item": { "id": "x_1", "type": "x_item", "status": "completed" } }),
            json!({ "type": "response.content_part.added", "output_index": 1,
                "part": { "type": "x_part", "text": "x" } }),
            json!({ "type": "keepalive", "sequence_number": 1000 }),
        ],
        Api::ChatCompletions => vec![
            json!({ "x_unknown": { "content": "x" } }),
            json!({}),
            json!({ "choices": [] }),
            json!({ "choices": null }),
            json!({ "choices": [{ "index": 0, "delta": null }] }),
            json!({ "choices": [{ "index": 0, "delta": { "x_unknown": "x", "tool_calls": null } }] }),
            json!({ "choices": [{ "index": 1, "delta": { "content": "x" },
                "finish_reason": "length" }] }),
        ],
        Api::Gemini => vec![
            json!({ "xUnknown": { "text": "x" } }),
            json!({}),
            json!({ "candidates": [] }),
            json!({ "candidates": [{}] }),
            json!({ "candidates": [{ "content": {} }] }),
            json!({ "candidates": [{ "content": { "parts": [{ "xUnknown": { "text": "x" } }] } }] }),
            json!({ "promptFeedback": {} }),
        ],
    }
}

#[tokio::test]
async fn unknown_events_change_nothing() {
    for api in ALL {
        let server = server(api);
        let stream = WholeStream::of(api);
        let unknown = unknown_events(api);
        for position in 0..stream.events.len() {
            for event in &unknown {
                // Of a block, there is only the piece.
                let is_part_of_block = event["index"] == 90 || event["index"] == 1;
                if api == Api::Messages && is_part_of_block {
                    continue;
                }
                let mut stream = stream.clone();
                stream.events.insert(position, event.clone());
                let output = server.read_text(&stream.text()).await;
                assert_whole(&output, &stream, &format!("{event} at {position}"));
            }
        }
        let mut many = stream.clone();
        let events = many.events.iter().enumerate();
        many.events = events
            .flat_map(|(position, event)| {
                // Pieces of the second block follow its beginning.
                let is_possible = move |it: &&Value| position > 7 || it["index"] != 1;
                let unknown = unknown.iter().filter(move |_| position > 0);
                let unknown = unknown.filter(is_possible).cloned();
                unknown.chain([event.clone()])
            })
            .collect();
        let output = server.read_text(&many.text()).await;
        assert_whole(&output, &stream, "with all unknown events");
    }
}

#[tokio::test]
async fn no_event_of_any_shape_panics() {
    for api in ALL {
        let server = server(api);
        let stream = WholeStream::of(api);
        for (index, event) in stream.events.iter().enumerate() {
            for pointer in pointers(event) {
                for value in [
                    Value::Null,
                    json!(true),
                    json!(-1.5),
                    json!(u64::MAX),
                    json!("\u{fffd}"),
                    json!([[]]),
                    json!({ "": {} }),
                ] {
                    let mut changed = stream.clone();
                    *changed.events[index].pointer_mut(&pointer).unwrap() = value;
                    server.read_text(&changed.text()).await;
                }
            }
        }
    }
}

/// Returns the paths of all values within a value.
fn pointers(value: &Value) -> Vec<String> {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, it)| (name.clone(), it)).collect(),
        Value::Array(elements) => {
            let elements = elements.iter().enumerate();
            elements
                .map(|(index, it)| (index.to_string(), it))
                .collect()
        }
        _ => Vec::new(),
    };
    let mut all = vec![String::new()];
    for (name, child) in children {
        all.extend(
            pointers(child)
                .into_iter()
                .map(|rest| format!("/{name}{rest}")),
        );
    }
    all
}

#[tokio::test]
async fn half_of_a_surrogate_pair_becomes_a_replacement_character() {
    for api in ALL {
        let stream = WholeStream::of(api);
        // In the text, and in the text of the arguments.
        let text = stream.text();
        let text = text.replace("天气", "\\ud83d").replace(
            "Berlin",
            match api {
                Api::Gemini => "\\ud83d",
                _ => "\\\\ud83d",
            },
        );
        let output = server(api).read_text(&text).await;
        let turn = output.turn();
        assert_eq!(turn.text, "Okay, München – \u{fffd}:", "{api:?}");
        assert_eq!(output.text, turn.text);
        let time = ("get_time", json!({ "zone": "Europe/\u{fffd}" }));
        assert_eq!(calls(turn), [weather(), time], "{api:?}");
    }
}

#[tokio::test]
async fn bytes_that_are_not_utf_8_become_replacement_characters() {
    for api in ALL {
        let bytes = WholeStream::of(api).text().into_bytes();
        let start = bytes.windows(3).position(|it| it == "天".as_bytes());
        let mut text = bytes.clone();
        // The second text of a response may be the whole one.
        while let Some(start) = text.windows(3).position(|it| it == "天".as_bytes()) {
            text[start] = b'\xff';
        }
        assert!(start.is_some());
        for size in [1, usize::MAX] {
            let chunks = text.chunks(size).map(|it| Ok(Bytes::copy_from_slice(it)));
            let output = server(api).read(chunks).await;
            let turn = output.turn();
            assert!(turn.text.contains("– \u{fffd}"), "{api:?}: {}", turn.text);
            assert_eq!(calls(turn), [weather(), time()], "{api:?}");
        }
    }
}

#[tokio::test]
async fn data_that_is_not_json_breaks_the_answer() {
    for api in ALL {
        for data in ["{\"choices\":", "hello", "{}{}"] {
            let text = format!("{}data: {data}\n\n", streams::start(api));
            let output = server(api).read_text(&text).await;
            let code = ErrorCode::ModelStreamBroken;
            assert_eq!(output.failure().code, code, "{api:?} {data}");
        }
    }
}

#[tokio::test]
async fn an_event_has_a_maximum_size() {
    for api in ALL {
        let mut event = WholeStream::of(api).events[3].clone();
        event["padding"] = "x".repeat(MAX_EVENT_BYTES).into();
        let output = server(api).read_text(&frame(api, &event)).await;
        let failure = output.failure();
        assert!(
            failure.message.contains("more than an answer can be"),
            "{api:?} {failure}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_does_not_end_is_given_up() {
    let api = Api::ChatCompletions;
    let mut event = WholeStream::of(api).events[3].clone();
    event["padding"] = "x".repeat(1024 * 1024).into();
    let event = Bytes::from(frame(api, &event));
    let output = server(api).read(vec![event; 65].into_iter().map(Ok)).await;
    let failure = output.failure();
    assert_eq!(failure.code, ErrorCode::ModelStreamBroken);
    let expected = "more than an answer can be";
    assert!(failure.message.contains(expected), "{failure}");
    assert_eq!(output.spent.len(), 1);
}
