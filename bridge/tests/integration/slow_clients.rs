//! A client that opens its stream and never reads, next to a healthy one.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

use crate::kit::*;

/// Opens the stream of notifications with the smallest of receive buffers, and reads its head only.
async fn stalled(bridge: &bridge::ServerHandle, client: &McpClient) -> tokio::net::TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(1).unwrap();
    let address = bridge.url().trim_start_matches("http://").to_owned();
    let mut stream = socket.connect(address.parse().unwrap()).await.unwrap();
    let head = format!(
        "GET /mcp HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {TOKEN}\r\n\
         accept: text/event-stream\r\nmcp-session-id: {}\r\n\r\n",
        client.session
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut first = [0; 12];
    with_deadline("head", stream.read_exact(&mut first))
        .await
        .unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    stream
}

/// The tool list changes more often than any buffer on the way holds, and the log of one call fills
/// the stalled client's stream: the healthy client's calls are answered all the same, each before
/// the next change, and the page is not cut.
#[tokio::test]
async fn a_client_that_does_not_read_blocks_no_other_client() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let stuck = McpClient::connect(&bridge, TOKEN).await;
    let healthy = McpClient::connect(&bridge, TOKEN).await;
    let _stream = stalled(&bridge, &stuck).await;
    let large = "x".repeat(200_000);
    for n in 0..200 {
        let tool = json!({ "name": format!("t{}", n % 50), "description": format!("{n}") });
        page.register(&[tool]).await;
        let calls =
            async { tokio::join!(healthy.call("echo", json!({ "n": n })), page.echo_call()) };
        let (answer, ()) = with_deadline("the healthy client's answer", calls).await;
        assert_eq!(answer["result"]["structuredContent"], json!({ "n": n }));
    }

    // The stuck client's own call: its logs back up, the page goes on.
    let call = json!({ "name": "echo", "arguments": {} });
    let events = stuck.request_stream(9, "tools/call", call);
    let (unread, called) = tokio::join!(events, page.recv_call());
    for n in 0..200 {
        page.send_json(json!({ "type": "call-log", "requestId": called.request_id,
            "level": "error", "data": [n, large] }))
            .await;
    }
    let calls = async { tokio::join!(healthy.call("echo", json!({ "n": -1 })), page.echo_call()) };
    let (answer, ()) = with_deadline("the healthy client's answer", calls).await;
    assert_eq!(answer["result"]["structuredContent"], json!({ "n": -1 }));
    drop(unread);
    let seen: Value = healthy.request("tools/list", json!({})).await;
    assert!(seen["result"]["tools"].as_array().unwrap().len() > 50);
}

#[tokio::test]
async fn an_unread_notification_stream_does_not_block_other_clients() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let stalled = McpClient::connect(&bridge, TOKEN).await;
    let _never_read = stalled.listen().await;
    let healthy = McpClient::connect(&bridge, TOKEN).await;
    let mut events = healthy.listen().await;
    for n in 0..200 {
        page.register(&[json!({ "name": "t", "description": n.to_string() })])
            .await;
    }
    find_event(&mut events, |event| {
        event["method"] == "notifications/tools/list_changed"
    })
    .await;
    let (answer, ()) = tokio::join!(healthy.call("echo", json!({ "n": 1 })), page.echo_call());
    assert_eq!(answer["result"]["structuredContent"]["n"], 1);
}
