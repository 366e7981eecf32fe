//! Clients that open a stream and never read it, together with well-behaved clients.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

use crate::kit::*;

/// Opens the stream of notifications with the smallest receive buffer, and reads only the start of
/// the response.
async fn open_unread_stream(
    bridge: &bridge::ServerHandle,
    client: &McpClient,
) -> tokio::net::TcpStream {
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
    let mut status = [0; 12];
    let read = with_deadline("head", stream.read_exact(&mut status)).await;
    read.unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");
    stream
}

/// The tool list changes so often that the buffers overflow, and the log of one call fills the
/// stream of the slow client. Each call of the healthy client still returns before the next change,
/// and the page remains connected.
#[tokio::test]
async fn a_client_that_does_not_read_blocks_no_other_client() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let slow = McpClient::connect(&bridge, TOKEN).await;
    let healthy = McpClient::connect(&bridge, TOKEN).await;
    let _stream = open_unread_stream(&bridge, &slow).await;
    let large = "x".repeat(200_000);
    for n in 0..200 {
        let tool = json!({ "name": format!("t{}", n % 50), "description": format!("{n}") });
        page.register(&[tool]).await;
        with_deadline("call of the healthy client", healthy.assert_echo(&mut page)).await;
    }

    // The log messages of a call of the slow client fill its stream.
    let params = json!({ "name": "echo", "arguments": {} });
    let events = slow.request_stream(9, "tools/call", params);
    let (unread, call) = tokio::join!(events, page.recv_call());
    for n in 0..200 {
        page.send_json(json!({ "type": "call-log", "requestId": call.request_id,
            "level": "error", "data": [n, large] }))
            .await;
    }
    with_deadline("call of the healthy client", healthy.assert_echo(&mut page)).await;
    drop(unread);
    assert!(healthy.tool_names().await.len() > 50);
}

#[tokio::test]
async fn an_unread_notification_stream_does_not_block_other_clients() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let slow = McpClient::connect(&bridge, TOKEN).await;
    let _unread = slow.listen().await;
    let healthy = McpClient::connect(&bridge, TOKEN).await;
    let mut events = healthy.listen().await;
    for n in 0..200 {
        page.register(&[json!({ "name": "t", "description": n.to_string() })])
            .await;
    }
    events.find_method("notifications/tools/list_changed").await;
    healthy.assert_echo(&mut page).await;
}
