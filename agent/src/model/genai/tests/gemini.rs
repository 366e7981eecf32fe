//! Gemini, with the responses of
//! <https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse> and
//! <https://ai.google.dev/gemini-api/docs/thought-signatures> (only the first of parallel calls is
//! signed).

use std::collections::HashSet;

use super::*;

/// Returns a chunk with these parts.
fn chunk(parts: &str, rest: &str) -> String {
    format!(
        "data: {{\"candidates\": [{{\"content\": {{\"parts\": [{parts}],\"role\": \"model\"}}\
         {rest},\"index\": 0}}],\"usageMetadata\": {{\"promptTokenCount\": 11,\
         \"candidatesTokenCount\": 12,\"totalTokenCount\": 30,\"thoughtsTokenCount\": 7}},\
         \"modelVersion\": \"gemini-2.5-flash\"}}\r\n\r\n"
    )
}

pub(super) fn stream_start() -> String {
    [r#"{"text": "Okay, München"}"#, r#"{"text": " – 天气:"}"#]
        .map(|part| chunk(part, ""))
        .concat()
}

fn call_chunks() -> String {
    [
        r#"{"functionCall": {"name": "get_weather","args": {"location": "Paris"}},"thoughtSignature": "<Signature A>"}"#,
        r#"{"functionCall": {"name": "get_weather","args": {"location": "London"}}}"#,
    ]
    .map(|part| chunk(part, ""))
    .concat()
}

/// Returns the final chunk, with a finish reason.
pub(super) fn stream_end(reason: &str) -> String {
    chunk(
        r#"{"text": ""}"#,
        &format!(",\"finishReason\": \"{reason}\""),
    )
}

#[tokio::test]
async fn text_and_two_calls_are_read_in_chunks_of_any_size() {
    let whole = format!("{}{}{}", stream_start(), call_chunks(), stream_end("STOP"));
    let sizes = [1, 7, 64, usize::MAX];
    let replies = sizes.map(|size| Reply::new(whole.as_str()).with_chunk_size(size));
    let server = FakeProvider::new(replies).await;
    let model = model_for(Provider::Gemini, &settings(&server));
    let mut ids = HashSet::new();
    for size in sizes {
        let output = collect_turn(&model, request(vec![question()])).await;
        let (turn, usage) = output.end.unwrap();
        assert_eq!(output.text, "Okay, München – 天气:", "{size}");
        let [paris, london] = &turn.calls[..] else {
            panic!("{:?}", turn.calls);
        };
        ids.extend([paris.id.clone(), london.id.clone()]);
        assert_eq!(paris.arguments["location"], "Paris");
        assert_eq!(london.arguments["location"], "London");
        let (input, output) = (11, 12 + 7);
        assert_eq!(
            usage,
            TokenUsage {
                input,
                output,
                thinking: 7,
                ..TokenUsage::default()
            }
        );
    }
    assert_eq!(ids.len(), 2 * sizes.len(), "{ids:?}");
}

#[tokio::test]
async fn signatures_are_returned_with_their_calls_and_a_tool_is_forced_by_name() {
    let calls = format!("{}{}{}", stream_start(), call_chunks(), stream_end("STOP"));
    let done = format!("{}{}", stream_start(), stream_end("STOP"));
    let server = FakeProvider::new([Reply::new(calls), Reply::new(done)]).await;
    let model = model_for(Provider::Gemini, &settings(&server));
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
    let path = "/v1/models/gemini-2.5-flash:streamGenerateContent?alt=sse";
    assert_eq!(requests[0].path, path);
    assert_eq!(requests[0].headers["x-goog-api-key"], KEY);
    let config = json!({"maxOutputTokens": 100, "thinkingConfig": {"thinkingBudget": 0}});
    assert_eq!(requests[0].body["generationConfig"], config);
    let sent = requests[1].body["contents"][1]["parts"].as_array().unwrap();
    assert_eq!(sent[0]["text"], "Okay, München – 天气:");
    assert_eq!(sent[1]["thoughtSignature"], "<Signature A>");
    assert_eq!(sent[1]["functionCall"]["args"]["location"], "Paris");
    assert_eq!(sent[2].get("thoughtSignature"), None);
    let sent_results = requests[1].body["contents"][2]["parts"].as_array().unwrap();
    assert_eq!(sent_results[0]["functionResponse"]["name"], "get_weather");
    // An id that the provider did not send is not sent back.
    assert_eq!(sent_results[0]["functionResponse"].get("id"), None);
    assert_eq!(
        sent_results[1]["functionResponse"]["response"]["content"],
        "Error: result 1"
    );
    // This is not the provider's own server: no other tool is offered.
    let expected = json!({"functionCallingConfig": {"mode": "ANY"}});
    assert_eq!(requests[1].body["toolConfig"], expected);
    let declared = &requests[1].body["tools"][0]["functionDeclarations"];
    assert_eq!(declared.as_array().map(Vec::len), Some(1), "{declared}");
    assert_eq!(declared[0]["name"], "get_time");
}

#[tokio::test]
async fn a_blocked_prompt_is_refused_and_an_empty_frame_is_skipped() {
    let blocked = "data: {\"promptFeedback\": {\"blockReason\": \"SAFETY\"}}\r\n\r\n";
    let idle = "data: {\"usageMetadata\": {\"promptTokenCount\": 11}}\r\n\r\n";
    let answer = format!("{}{idle}{}", stream_start(), stream_end("STOP"));
    let server = FakeProvider::new([Reply::new(blocked), Reply::new(answer)]).await;
    let model = model_for(Provider::Gemini, &settings(&server));
    let failure = collect_turn(&model, request(vec![question()]))
        .await
        .end
        .unwrap_err();
    assert_eq!(failure.code, ErrorCode::ModelRefused);
    assert!(failure.message.ends_with(" declines to answer: SAFETY"));
    let output = collect_turn(&model, request(vec![question()])).await;
    assert_eq!(output.text, "Okay, München – 天气:");
    assert!(output.end.is_ok());
}
