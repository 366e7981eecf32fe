//! How calls are answered: with a body or with a stream.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::kit::*;

#[tokio::test]
async fn custom_tool_fields_are_listed() {
    let bridge = start_bridge().await;
    let tool = json!({ "name": "own", "example.com/own": { "z": 1, "a": null } });
    let _page = Page::with_tools(&bridge, "s", std::slice::from_ref(&tool)).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let listed = client.request("tools/list", json!({})).await;
    let own = &listed["result"]["tools"][5]["example.com/own"];
    assert_eq!(own.to_string(), tool["example.com/own"].to_string());
}

#[tokio::test]
async fn a_slow_call_becomes_a_resumable_stream() {
    let bridge = start_bridge().await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let params = json!({ "name": "echo", "arguments": {} });
    let events = client.request_stream(7, "tools/call", params);
    // The head of the response arrives before the page has sent anything.
    let (mut events, call) = tokio::join!(events, page.recv_call());
    let first = events.first_event_id().await;
    drop(events);
    let unusual = json!({ "big": 1e300, "text": "\u{2028}\n" });
    page.respond(&call, unusual.clone()).await;
    let mut resumed = client.resume(&first).await;
    let answer = resumed.find_response().await;
    assert_eq!(answer["result"]["structuredContent"], unusual);
    assert_eq!(answer["result"]["isError"], false);
    assert!(resumed.next().await.is_none());
}

#[tokio::test]
async fn a_slow_stateless_call_becomes_a_stream() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let params = json!({ "name": "echo", "arguments": {} });
    let client = StatelessClient::new(&bridge);
    let (response, call) = tokio::join!(client.send("tools/call", params), page.recv_call());
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    page.respond(&call, json!({ "n": 1 })).await;
    let answer = rpc_response(response).await;
    assert_eq!(answer["result"]["structuredContent"], json!({ "n": 1 }));
}

#[tokio::test]
async fn calls_and_streams_keep_an_mcp_session_alive() {
    let idle = Duration::from_millis(400);
    let mut config = test_config();
    config.mcp_sessions.mcp_session_idle = idle;
    let bridge = start_bridge_with(config).await;
    let calling_client = McpClient::connect(&bridge, TOKEN).await;
    let listening_client = McpClient::connect(&bridge, TOKEN).await;
    let idle_client = McpClient::connect(&bridge, TOKEN).await;
    let _stream = listening_client.listen().await;
    let started = Instant::now();
    while started.elapsed() < 3 * idle {
        calling_client
            .call("get_connection_status", json!({}))
            .await;
    }
    let list = rpc_request(1, "tools/list", json!({}));
    assert_eq!(calling_client.post(&list).await.status(), 200);
    assert_eq!(listening_client.post(&list).await.status(), 200);
    assert_eq!(idle_client.post(&list).await.status(), 404);
}
