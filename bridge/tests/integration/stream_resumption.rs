//! Clients whose stream breaks resume it and receive the missed messages (MCP 2025-11-25,
//! "Resumability and Redelivery").

use serde_json::{Value, json};

use crate::kit::*;

/// Starts a call and drops its stream before the result. Returns the id of the call and the id of
/// the last event that the client received.
async fn call_with_broken_stream(page: &mut Page, client: &McpClient) -> (String, String) {
    let params = json!({ "name": "echo", "arguments": {}, "_meta": { "progressToken": 1 } });
    let events = client.request_stream(7, "tools/call", params);
    let (mut events, call) = tokio::join!(events, page.recv_call());
    let id = call.request_id.0;
    page.send_json(json!({ "type": "call-progress", "requestId": id, "progress": 1 }))
        .await;
    events.find_method("notifications/progress").await;
    let last = events.last_id.clone().expect("events have ids");
    (id, last)
}

/// Resumes the stream after this event, and returns the response to the call.
async fn resume_to_result(client: &McpClient, last: &str) -> Value {
    let mut events = client.resume(last).await;
    let answer = events.find_response().await;
    assert_eq!(answer["id"], 7);
    assert!(
        events.next().await.is_none(),
        "the stream ends with the result"
    );
    answer
}

#[tokio::test]
async fn a_result_sent_while_disconnected_is_replayed() {
    let bridge = start_bridge().await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let (id, last) = call_with_broken_stream(&mut page, &client).await;
    page.respond_to(&id.as_str().into(), json!("kept")).await;
    let answer = resume_to_result(&client, &last).await;
    assert_eq!(result_text(&answer["result"]), "kept");
}

#[tokio::test]
async fn a_stream_resumed_early_waits_for_the_result() {
    let bridge = start_bridge().await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let (id, last) = call_with_broken_stream(&mut page, &client).await;
    let mut events = client.resume(&last).await;
    page.respond_to(&id.as_str().into(), json!("later")).await;
    assert_eq!(
        result_text(&events.find_response().await["result"]),
        "later"
    );
}

#[tokio::test]
async fn a_stream_cannot_be_resumed_by_another_session() {
    let bridge = start_bridge().await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let other = McpClient::connect(&bridge, OTHER_TOKEN).await;
    let (id, last) = call_with_broken_stream(&mut page, &client).await;
    page.respond_to(&id.as_str().into(), json!("private")).await;
    assert_eq!(other.get_after(&last).await.status(), 405);
}

#[tokio::test]
async fn a_stream_that_broke_before_its_first_notification_is_resumed() {
    let bridge = start_bridge().await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let mut stream = client.listen().await;
    let priming = stream.first_event_id().await;
    drop(stream);
    // Without a change, the client is notified of the next one.
    let mut stream = client.resume(&priming).await;
    assert_ne!(stream.first_event_id().await, "");
    drop(stream);
    let late = json!({ "name": "late", "inputSchema": { "type": "object" } });
    page.register(&[late]).await;
    let mut stream = client.resume(&priming).await;
    stream.find_method("notifications/tools/list_changed").await;
}

/// Of several streams the newest is used. What one has not sent is sent by the next.
#[tokio::test]
async fn the_newest_stream_of_a_session_is_used_until_it_ends() {
    let bridge = start_bridge().await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let changed = "notifications/tools/list_changed";
    let mut older = client.listen().await;
    let mut newer = client.listen().await;
    page.register(&[json!({ "name": "first" })]).await;
    let event = newer.find_method(changed).await;
    assert!(event.get("id").is_none());
    drop(newer);
    page.register(&[json!({ "name": "second" })]).await;
    older.find_method(changed).await;
    // One more than the maximum ends the oldest.
    let mut streams = Vec::new();
    for _ in 0..32 {
        streams.push(client.listen().await);
    }
    assert!(older.next().await.is_none());
}

#[tokio::test]
async fn a_client_that_initialises_again_continues_its_stream() {
    let bridge = start_bridge().await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let mut stream = client.listen().await;
    let again = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "n", "version": "1" } });
    client.request("initialize", again).await;
    page.register(&[json!({ "name": "late" })]).await;
    stream.find_method("notifications/tools/list_changed").await;
}

/// Clients that reconnect after each end of a stream do not wait on it.
#[tokio::test]
async fn a_stream_cannot_be_resumed_after_its_response() {
    let bridge = start_bridge().await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let (id, last) = call_with_broken_stream(&mut page, &client).await;
    page.respond_to(&id.as_str().into(), json!("kept")).await;
    let mut stream = client.resume(&last).await;
    let event = stream.next_event().await.unwrap();
    let response = event_field(&event, "id").unwrap().to_owned();
    assert!(event.contains("kept"), "{event}");
    assert_eq!(client.get_after(&response).await.status(), 405);
}

#[tokio::test]
async fn streams_that_are_resumed_and_not_read_count_for_max_unread_bytes() {
    let mut config = test_config();
    config.results.max_unread_bytes = 16 * 1024 * 1024;
    let bridge = start_bridge_with(config).await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let (id, last) = call_with_broken_stream(&mut page, &client).await;
    // More than the system takes for a client that does not read.
    page.respond_to(&id.as_str().into(), json!("x".repeat(8_000_000)))
        .await;
    resume_to_result(&client, &last).await;
    let mut unread = Vec::new();
    let refused = loop {
        let response = client.get_after(&last).await;
        if response.status() != 200 {
            break response;
        }
        unread.push(response);
        assert!(unread.len() < 100, "nothing is refused");
    };
    let problem: Value = refused.json().await.unwrap();
    assert!(
        problem.to_string().contains("max_unread_bytes"),
        "{problem}"
    );
    drop(unread);
}

#[tokio::test]
async fn max_replay_bytes_evicts_the_oldest_events() {
    let mut config = test_config();
    config.mcp_sessions.max_replay_bytes = 1_000;
    let bridge = start_bridge_with(config).await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let (id, last) = call_with_broken_stream(&mut page, &client).await;
    page.respond_to(&id.as_str().into(), json!("x".repeat(5_000)))
        .await;
    // The last event that the client received is evicted, so its stream cannot be resumed.
    let (id, newest) = call_with_broken_stream(&mut page, &client).await;
    page.respond_to(&id.as_str().into(), json!("kept")).await;
    assert_eq!(
        result_text(&resume_to_result(&client, &newest).await["result"]),
        "kept"
    );
    assert_eq!(client.get_after(&last).await.status(), 405);
}
