//! Ollama, with the responses of <https://docs.ollama.com/capabilities/streaming>,
//! <https://docs.ollama.com/capabilities/tool-calling> and <https://docs.ollama.com/api/errors> (an
//! error in the stream is a separate line).

use super::*;

/// Returns a line with this message.
fn message_line(message: &str) -> String {
    format!(
        "{{\"model\":\"llama3.2\",\"created_at\":\"2025-07-07T20:22:19.184789Z\",\"message\":\
         {message},\"done\":false}}\n"
    )
}

pub(super) fn stream_start() -> String {
    [
        r#"{"role":"assistant","content":"Okay, München"}"#,
        r#"{"role":"assistant","content":" – 天气:"}"#,
    ]
    .map(message_line)
    .concat()
}

fn call_lines() -> String {
    [
        r#"{"role":"assistant","content":"","tool_calls":[{"function":{"name":"get_weather","arguments":{"location":"Tokyo"}}},{"function":{"name":"get_time","arguments":{}}}]}"#,
    ]
    .map(message_line)
    .concat()
}

/// Returns the final line, with a stop reason.
pub(super) fn stream_end(reason: &str) -> String {
    format!(
        "{{\"model\":\"llama3.2\",\"created_at\":\"2025-07-07T20:22:19.19314Z\",\"message\":\
         {{\"role\":\"assistant\",\"content\":\"\"}},\"done_reason\":\"{reason}\",\"done\":true,\
         \"total_duration\":182242375,\"load_duration\":41295167,\"prompt_eval_count\":169,\
         \"prompt_eval_duration\":24573166,\"eval_count\":15,\"eval_duration\":115959084}}\n"
    )
}

#[tokio::test]
async fn text_and_two_calls_are_read_in_chunks_of_any_size() {
    let whole = format!("{}{}{}", stream_start(), call_lines(), stream_end("stop"));
    let sizes = [1, 7, 64, usize::MAX];
    let replies = sizes.map(|size| Reply::new(whole.as_str()).with_chunk_size(size));
    let server = FakeProvider::new(replies).await;
    let model = model_for(Provider::Ollama, &settings(&server));
    for size in sizes {
        let output = collect_turn(&model, request(vec![question()])).await;
        let (turn, usage) = output.end.unwrap();
        assert_eq!(output.text, "Okay, München – 天气:", "{size}");
        let [weather, time] = &turn.calls[..] else {
            panic!("{:?}", turn.calls);
        };
        assert_eq!(weather.arguments["location"], "Tokyo");
        assert_eq!((time.tool.as_str(), time.arguments.len()), ("get_time", 0));
        assert_ne!(weather.id, time.id);
        assert_eq!(usage, tokens(169, 15));
    }
}

#[tokio::test]
async fn every_result_is_returned_with_the_name_of_its_tool() {
    let thought = message_line(r#"{"role":"assistant","content":"","thinking":"Two things."}"#);
    let calls = format!("{thought}{}{}", call_lines(), stream_end("stop"));
    let done = format!("{}{}", stream_start(), stream_end("stop"));
    let server = FakeProvider::new([Reply::new(calls), Reply::new(done)]).await;
    let settings = ModelSettings {
        thinking: Thinking::High,
        ..settings(&server)
    };
    let model = model_for(Provider::Ollama, &settings);
    let output = collect_turn(&model, request(vec![question()])).await;
    assert_eq!(output.thoughts, "Two things.");
    let (turn, _) = output.end.unwrap();
    let results = results(&turn);
    let forced = TurnRequest {
        tool_selection: ToolSelection::Only("get_time".to_owned()),
        ..request(vec![question(), ModelMessage::Model(turn), results])
    };
    collect_turn(&model, forced).await.end.unwrap();

    let requests = server.requests();
    assert_eq!(requests[0].path, "/v1/api/chat");
    assert_eq!(requests[0].body["think"], true);
    assert_eq!(requests[0].body["options"]["num_predict"], 100 + 24_000);
    let expected = json!([
        {"role": "system", "content": "You are helpful."},
        {"role": "user", "content": "What is the weather?"},
        {"role": "assistant", "tool_calls": [
            {"function": {"name": "get_weather", "arguments": {"location": "Tokyo"}}},
            {"function": {"name": "get_time", "arguments": {}}},
        ]},
        {"role": "tool", "content": "get_weather: result 0"},
        {"role": "tool", "content": "get_time: Error: result 1"},
    ]);
    assert_eq!(requests[1].body["messages"], expected);
    assert_eq!(requests[1].body["tools"].as_array().unwrap().len(), 1);
    assert_eq!(requests[1].body["tools"][0]["function"]["name"], "get_time");
}
