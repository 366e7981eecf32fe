//! What a client lost with its stream it hears when it comes back (MCP 2025-11-25, "Resumability
//! and Redelivery").

use bridge::Config;
use serde_json::{Value, json};

use crate::kit::*;

/// A call whose stream breaks before its result, and the last event the client saw.
async fn broken_off(page: &mut Page, client: &McpClient) -> (String, String) {
    let params = json!({ "name": "echo", "arguments": {}, "_meta": { "progressToken": 1 } });
    let events = client.stream(7, "tools/call", params);
    let (mut events, call) = tokio::join!(events, page.call());
    let id = call.request_id.0;
    page.say_json(json!({ "type": "call-progress", "requestId": id, "progress": 1 }))
        .await;
    events.method("notifications/progress").await;
    let last = events.last_id.clone().expect("events have ids");
    (id, last)
}

async fn result_after(client: &McpClient, last: &str) -> Value {
    let mut events = client.resume(last).await;
    let answer = events.answer().await;
    assert_eq!(answer["id"], 7);
    assert!(events.next().await.is_none(), "the stream ends with it");
    answer
}

#[tokio::test]
async fn a_result_sent_while_disconnected_is_replayed() {
    let bridge = bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let (id, last) = broken_off(&mut page, &client).await;
    page.respond(&id.as_str().into(), json!("kept")).await;
    let answer = result_after(&client, &last).await;
    assert_eq!(text_of(&answer["result"]), "kept");
}

#[tokio::test]
async fn a_stream_resumed_early_waits_for_the_result() {
    let bridge = bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let (id, last) = broken_off(&mut page, &client).await;
    let mut events = client.resume(&last).await;
    page.respond(&id.as_str().into(), json!("later")).await;
    assert_eq!(text_of(&events.answer().await["result"]), "later");
}

#[tokio::test]
async fn a_stream_cannot_be_resumed_by_another_session() {
    let bridge = bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let other = McpClient::connect(&bridge, "another-token-0123456789abcdef").await;
    let (id, last) = broken_off(&mut page, &client).await;
    page.respond(&id.as_str().into(), json!("private")).await;
    assert_eq!(other.come_back(&last).await.status(), 405);
}

#[tokio::test]
async fn max_replay_bytes_evicts_the_oldest_events() {
    let config = Config {
        max_replay_bytes: 1_000,
        ..on_free_port()
    };
    let bridge = bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let (id, last) = broken_off(&mut page, &client).await;
    page.respond(&id.as_str().into(), json!("x".repeat(5_000)))
        .await;
    // The event that the client saw last is no longer known: an empty stream tells it so.
    let (id, newest) = broken_off(&mut page, &client).await;
    page.respond(&id.as_str().into(), json!("kept")).await;
    assert_eq!(
        text_of(&result_after(&client, &newest).await["result"]),
        "kept"
    );
    assert_eq!(client.come_back(&last).await.status(), 405);
}
