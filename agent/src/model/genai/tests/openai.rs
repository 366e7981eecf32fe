//! OpenAI and compatible servers, with the responses of
//! <https://platform.openai.com/docs/api-reference/chat-streaming> (the chunk object) and
//! <https://platform.openai.com/docs/guides/function-calling#streaming> (the deltas of a call).

use super::*;

/// Returns a chunk with one delta.
fn chunk(delta: &str, finish: &str) -> String {
    format!(
        "data: {{\"id\":\"chatcmpl-123\",\"object\":\"chat.completion.chunk\",\"created\":\
         1694268190,\"model\":\"gpt-4o-mini\",\"system_fingerprint\":\"fp_44709d6fcb\",\
         \"choices\":[{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\
         \"finish_reason\":{finish}}}]}}\n\n"
    )
}

pub(super) fn stream_start() -> String {
    [
        r#"{"role":"assistant","content":"","refusal":null}"#,
        r#"{"content":"Okay, München"}"#,
        r#"{"content":" – 天气:"}"#,
    ]
    .map(|delta| chunk(delta, "null"))
    .concat()
}

fn call_chunks() -> String {
    [
        r#"{"tool_calls":[{"index":0,"id":"call_DdmO9pD3xa9XTPNJ32zg2hcA","function":{"arguments":"","name":"get_weather"},"type":"function"}]}"#,
        r#"{"tool_calls":[{"index":0,"id":null,"function":{"arguments":"{\"","name":null},"type":null}]}"#,
        r#"{"tool_calls":[{"index":0,"id":null,"function":{"arguments":"location\":\"Paris, ","name":null},"type":null}]}"#,
        r#"{"tool_calls":[{"index":0,"id":null,"function":{"arguments":"France\"}","name":null},"type":null}]}"#,
        r#"{"tool_calls":[{"index":1,"id":"call_2","function":{"arguments":"","name":"get_time"},"type":"function"}]}"#,
    ]
    .map(|delta| chunk(delta, "null"))
    .concat()
}

/// Returns the final chunks, with a finish reason and the requested usage.
pub(super) fn stream_end(reason: &str) -> String {
    let finish = chunk("{}", &format!("\"{reason}\""));
    format!(
        "{finish}data: {{\"id\":\"chatcmpl-123\",\"object\":\"chat.completion.chunk\",\"created\":\
         1694268190,\"model\":\"gpt-4o-mini\",\"choices\":[],\"usage\":{{\"prompt_tokens\":82,\
         \"completion_tokens\":17,\"total_tokens\":99}}}}\n\ndata: [DONE]\n\n"
    )
}

/// Returns a response that stops in the middle of the arguments of a call.
pub(super) fn truncated_call() -> String {
    let calls = call_chunks();
    let (half, _) = calls.split_once("France").unwrap();
    let (half, _) = half.rsplit_once("data: ").unwrap();
    format!("{}{half}{}", stream_start(), stream_end("tool_calls"))
}

#[tokio::test]
async fn text_and_two_calls_are_read_in_chunks_of_any_size() {
    let whole = format!(
        "{}{}{}",
        stream_start(),
        call_chunks(),
        stream_end("tool_calls")
    );
    let sizes = [1, 7, 64, usize::MAX];
    let replies = sizes.map(|size| Reply::new(whole.as_str()).with_chunk_size(size));
    let server = FakeProvider::new(replies).await;
    let model = model_for(Provider::Openai, &settings(&server));
    for size in sizes {
        let output = collect_turn(&model, request(vec![question()])).await;
        let (turn, usage) = output.end.unwrap();
        assert_eq!(output.text, "Okay, München – 天气:", "{size}");
        let weather = call(
            "call_DdmO9pD3xa9XTPNJ32zg2hcA",
            "get_weather",
            json!({"location": "Paris, France"}),
        );
        assert_eq!(turn.calls, [weather, call("call_2", "get_time", json!({}))]);
        assert_eq!(usage, tokens(82, 17));
    }
}

#[tokio::test]
async fn a_compatible_server_gets_only_common_parameters() {
    let calls = format!(
        "{}{}{}",
        stream_start(),
        call_chunks(),
        stream_end("tool_calls")
    );
    let done = format!("{}{}", stream_start(), stream_end("stop"));
    let server = FakeProvider::new([Reply::new(calls), Reply::new(done)]).await;
    let access = ProviderAccess {
        provider: Provider::Openai,
        // genai would parse the last part of the name as a reasoning effort.
        model: "mistral-medium".to_owned(),
        key: None,
    };
    let model = RetryingModel::new(HostedModel::new(access, &settings(&server)).unwrap(), 0);
    let (turn, _) = collect_turn(&model, request(vec![question()]))
        .await
        .end
        .unwrap();
    let results = results(&turn);
    let forced = TurnRequest {
        tool_selection: ToolSelection::Only("get_time".to_owned()),
        ..request(vec![question(), ModelMessage::Model(turn), results])
    };
    collect_turn(&model, forced).await.end.unwrap();

    let requests = server.requests();
    assert_eq!(requests[0].path, "/v1/chat/completions");
    assert!(!requests[0].headers.contains_key("authorization"));
    let body = &requests[0].body;
    assert_eq!(body["model"], "mistral-medium");
    assert_eq!(body["stream_options"]["include_usage"], true);
    assert_eq!(body["max_tokens"], 100);
    assert_eq!(body["tools"].as_array().unwrap().len(), 2);
    for unknown in ["prompt_cache_key", "reasoning_effort", "tool_choice"] {
        assert_eq!(body.get(unknown), None, "{unknown}");
    }
    let messages = requests[1].body["messages"].as_array().unwrap();
    let roles: Vec<_> = messages.iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool"]);
    assert_eq!(messages[2]["tool_calls"][1]["id"], "call_2");
    assert_eq!(messages[2]["tool_calls"][1]["function"]["arguments"], "{}");
    assert_eq!(messages[3]["content"], "result 0");
    assert_eq!(messages[4]["tool_call_id"], "call_2");
    assert_eq!(messages[4]["content"], "Error: result 1");
    assert_eq!(requests[1].body["tool_choice"], "required");
    assert_eq!(requests[1].body["tools"].as_array().unwrap().len(), 1);
    assert_eq!(requests[1].body["tools"][0]["function"]["name"], "get_time");
}

#[tokio::test]
async fn a_refusal_beside_the_text_is_a_refusal() {
    let refusal = [r#"{"refusal":"I'm sorry, "}"#, r#"{"refusal":"I cannot."}"#];
    let refusal = refusal.map(|delta| chunk(delta, "null")).concat();
    let server = FakeProvider::new([Reply::new(refusal + &stream_end("stop"))]).await;
    let model = model_for(Provider::Openai, &settings(&server));
    let failure = collect_turn(&model, request(vec![question()]))
        .await
        .end
        .unwrap_err();
    assert_eq!(failure.code, ErrorCode::ModelRefused);
    assert_eq!(
        failure.message,
        "the model server (openai API) declines to answer: I'm sorry, I cannot."
    );
}

#[tokio::test]
async fn reasoning_content_is_returned_to_servers_that_send_it() {
    for (field, is_returned) in [("reasoning_content", true), ("reasoning", false)] {
        let thought = chunk(&format!("{{\"{field}\":\"Hm.\"}}"), "null");
        let calls = format!("{thought}{}{}", call_chunks(), stream_end("tool_calls"));
        let done = format!("{}{}", stream_start(), stream_end("stop"));
        let server = FakeProvider::new([Reply::new(calls), Reply::new(done)]).await;
        let model = model_for(Provider::Openai, &settings(&server));
        let output = collect_turn(&model, request(vec![question()])).await;
        assert_eq!(output.thoughts, "Hm.");
        let (turn, _) = output.end.unwrap();
        let results = results(&turn);
        let history = vec![question(), ModelMessage::Model(turn), results];
        collect_turn(&model, request(history)).await.end.unwrap();
        let requests = server.requests();
        let bearer = format!("Bearer {KEY}");
        assert_eq!(requests[0].headers["authorization"], bearer.as_str());
        let sent = requests[1].body["messages"][2].get("reasoning_content");
        assert_eq!(sent, is_returned.then(|| json!("Hm.")).as_ref(), "{field}");
    }
}
