//! Anthropic, with the responses of
//! <https://platform.claude.com/docs/en/build-with-claude/streaming> ("Streaming request with tool
//! use", "with extended thinking"). The second call is added in the format of the first.

use super::fake_provider::ReplyEnd;
use super::*;

pub(super) const STREAM_START: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_014p7gG3wDgGV9EUtLvnow3U","type":"message","role":"assistant","model":"claude-sonnet-4-5","stop_sequence":null,"usage":{"input_tokens":472,"output_tokens":2},"content":[],"stop_reason":null}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Okay, München"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" – 天气:"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

"#;

const CALL_EVENTS: &str = r#"event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_01T1x1fJ34qAmk2tNTrN7Up6","name":"get_weather","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"location\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":" \"San"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":" Francisco\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_02","name":"get_time","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

"#;

const THINKING_EVENTS: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","content":[],"model":"claude-sonnet-4-5","stop_reason":null,"stop_sequence":null}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"I need to find "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"the weather"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

"#;

/// Returns the final events, with a stop reason.
pub(super) fn stream_end(reason: &str) -> String {
    format!(
        "event: message_delta\ndata: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\
         \"{reason}\",\"stop_sequence\":null}},\"usage\":{{\"output_tokens\":89}}}}\n\n\
         event: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n"
    )
}

/// Returns a response that stops in the middle of the arguments of a call.
pub(super) fn truncated_call() -> String {
    let (half, _) = CALL_EVENTS.split_once(" Francisco").unwrap();
    let (half, _) = half.rsplit_once("event: ").unwrap();
    format!("{STREAM_START}{half}{}", stream_end("max_tokens"))
}

#[tokio::test]
async fn text_and_two_calls_are_read_in_chunks_of_any_size() {
    let whole = format!("{STREAM_START}{CALL_EVENTS}{}", stream_end("tool_use"));
    let sizes = [1, 7, 64, usize::MAX];
    let replies = sizes.map(|size| Reply::new(whole.as_str()).with_chunk_size(size));
    let server = FakeProvider::new(replies).await;
    let model = model_for(Provider::Anthropic, &settings(&server));
    for size in sizes {
        let output = collect_turn(&model, request(vec![question()])).await;
        let (turn, usage) = output.end.unwrap();
        assert_eq!(output.text, "Okay, München – 天气:", "{size}");
        assert_eq!(turn.text, output.text);
        let weather = call(
            "toolu_01T1x1fJ34qAmk2tNTrN7Up6",
            "get_weather",
            json!({"location": "San Francisco"}),
        );
        assert_eq!(
            turn.calls,
            [weather, call("toolu_02", "get_time", json!({}))]
        );
        assert_eq!(usage, tokens(472, 89));
    }
}

#[tokio::test]
async fn system_tools_and_last_message_are_marked_for_caching() {
    let server = FakeProvider::new([Reply::new(format!(
        "{STREAM_START}{}",
        stream_end("end_turn")
    ))])
    .await;
    let model = model_for(Provider::Anthropic, &settings(&server));
    collect_turn(&model, request(vec![question()]))
        .await
        .end
        .unwrap();
    let received = server.requests().remove(0);
    assert_eq!(received.path, "/v1/messages");
    assert_eq!(received.headers["x-api-key"], KEY);
    let body = received.body;
    let cached = json!({"type": "ephemeral"});
    assert_eq!(body["system"][0]["text"], "You are helpful.");
    assert_eq!(body["system"][0]["cache_control"], cached);
    assert_eq!(body["tools"][0].get("cache_control"), None);
    assert_eq!(body["tools"][1]["cache_control"], cached);
    assert_eq!(body["messages"][0]["content"][0]["cache_control"], cached);
    assert_eq!(body["max_tokens"], 100);
    assert_eq!(body.get("thinking"), None);
    assert_eq!(body.get("tool_choice"), None);
}

#[tokio::test]
async fn signed_thinking_is_returned_and_a_forced_tool_disables_thinking() {
    let calls = format!("{THINKING_EVENTS}{CALL_EVENTS}{}", stream_end("tool_use"));
    let done = format!("{STREAM_START}{}", stream_end("end_turn"));
    let server = FakeProvider::new([
        Reply::new(calls),
        Reply::new(done.clone()),
        Reply::new(done),
    ])
    .await;
    let settings = ModelSettings {
        thinking: Thinking::Low,
        ..settings(&server)
    };
    let model = model_for(Provider::Anthropic, &settings);
    let first = collect_turn(&model, request(vec![question()])).await;
    assert_eq!(first.thoughts, "I need to find the weather");
    let (turn, _) = first.end.unwrap();
    let results = results(&turn);
    let history = vec![question(), ModelMessage::Model(turn), results];
    collect_turn(&model, request(history.clone()))
        .await
        .end
        .unwrap();
    let forced = TurnRequest {
        tool_selection: ToolSelection::Only("get_time".to_owned()),
        ..request(history)
    };
    collect_turn(&model, forced).await.end.unwrap();

    let requests = server.requests();
    let thinking = json!({"type": "enabled", "budget_tokens": 1024});
    assert_eq!(requests[0].body["thinking"], thinking);
    assert_eq!(requests[0].body["max_tokens"], 100 + 1024);
    let sent = &requests[1].body["messages"][1]["content"];
    assert_eq!(sent[0]["type"], "thinking");
    assert_eq!(sent[0]["thinking"], "I need to find the weather");
    assert!(
        sent[0]["signature"]
            .as_str()
            .unwrap()
            .starts_with("EqQBCgIYAhIM")
    );
    assert_eq!(sent[1]["id"], "toolu_01T1x1fJ34qAmk2tNTrN7Up6");
    assert_eq!(sent[1]["input"]["location"], "San Francisco");
    let sent_results = &requests[1].body["messages"][2]["content"];
    assert_eq!(sent_results[0]["content"], "result 0");
    assert_eq!(sent_results[0].get("is_error"), None);
    assert_eq!(sent_results[1]["tool_use_id"], "toolu_02");
    assert_eq!(sent_results[1]["is_error"], true);
    assert_eq!(requests[2].body.get("thinking"), None);
    assert_eq!(
        requests[2].body["messages"][1]["content"][0]["type"],
        "tool_use"
    );
    // This is not the provider's own server: no other tool is offered.
    assert_eq!(requests[2].body["tool_choice"], json!({"type": "any"}));
    let tools = requests[2].body["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 1, "{tools:?}");
    assert_eq!(tools[0]["name"], "get_time");
}

#[tokio::test]
async fn crlf_line_ends_never_lose_text_silently() {
    let whole = format!("{STREAM_START}{}", stream_end("end_turn")).replace('\n', "\r\n");
    let reply = Reply::new(whole);
    let server = FakeProvider::new([reply.clone(), reply.with_chunk_size(1)]).await;
    let model = model_for(Provider::Anthropic, &settings(&server));
    let output = collect_turn(&model, request(vec![question()])).await;
    assert_eq!(output.end.unwrap().0.text, "Okay, München – 天气:");
    let failure = collect_turn(&model, request(vec![question()]))
        .await
        .end
        .unwrap_err();
    assert_eq!(failure.code, ErrorCode::ModelStreamBroken);
}

#[tokio::test]
async fn dropping_a_turn_closes_the_connection() {
    let server = FakeProvider::new([Reply::new(STREAM_START).ending_with(ReplyEnd::Hang)]).await;
    let model = model_for(Provider::Anthropic, &settings(&server));
    let mut events = model.turn(request(vec![question()]));
    assert!(matches!(events.next().await, Some(Ok(ModelEvent::Text(_)))));
    drop(events);
    tokio::time::timeout(Duration::from_secs(20), server.disconnected())
        .await
        .expect("the connection is still open");
}
