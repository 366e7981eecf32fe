//! Clients that do not read what is sent to them, together with well-behaved clients.

use std::time::Duration;

use bridge::{Config, HttpTimeouts, ServerHandle};
use futures_util::future::join_all;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::kit::raw_http::wait_for_free_connection;
use crate::kit::*;

/// Connects with the smallest receive buffer, and sends a request.
async fn connect_and_send(bridge: &ServerHandle, request: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(1).unwrap();
    let mut stream = socket.connect(bridge.local_addr()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Opens the stream of notifications, and reads only the start of the response.
async fn open_unread_stream(bridge: &ServerHandle, client: &McpClient) -> TcpStream {
    let head = format!(
        "GET /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\
         accept: text/event-stream\r\nmcp-session-id: {}\r\n\r\n",
        client.session
    );
    let mut stream = connect_and_send(bridge, &head).await;
    let mut status = [0; 12];
    let read = with_deadline("head", stream.read_exact(&mut status)).await;
    read.unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");
    stream
}

/// Both the router and the hot routes respond with more than the buffers of the sockets hold.
#[tokio::test]
async fn a_client_that_does_not_take_a_large_response_is_disconnected() {
    let mut config = test_config();
    // That of the page, and one more.
    config.network.max_connections = Some(2);
    config.http_timeouts = HttpTimeouts {
        response_progress_within: Duration::from_millis(100),
        ..HttpTimeouts::default()
    };
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let large = json!({ "text": "x".repeat(9_000_000) });
    let body = r#"{"toolName":"echo","toolInput":{}}"#;
    for origin in ["", "origin: http://localhost:1\r\n"] {
        let request = format!(
            "POST /tool-call HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\
             content-length: {}\r\n{origin}\r\n{body}",
            body.len()
        );
        let mut unread = connect_and_send(&bridge, &request).await;
        page.serve_call(large.clone()).await;
        wait_for_free_connection(&bridge).await;
        // Only the bytes that were in the buffers arrive.
        let mut received = Vec::new();
        let _ = with_deadline("end", unread.read_to_end(&mut received)).await;
        assert!(received.len() < 9_000_000, "{} bytes", received.len());
    }
    assert_echo(&bridge, &mut page).await;
}

/// The socket of a page has a separate limit.
#[tokio::test(start_paused = true)]
async fn a_page_may_take_longer_than_a_client() {
    let config = Config {
        http_timeouts: HttpTimeouts {
            response_progress_within: Duration::from_secs(1),
            ..HttpTimeouts::default()
        },
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    // Together more than the buffers of the socket hold.
    let text = "x".repeat(3_000_000);
    let calls = join_all((0..2).map(|_| post_tool_call(&bridge, "echo", json!({ "text": text }))));
    let page_reads_late = async {
        tokio::time::sleep(Duration::from_secs(3)).await; // sleep: of paused time
        page.echo_call().await;
        page.echo_call().await;
    };
    let (answers, ()) = tokio::join!(calls, page_reads_late);
    for (status, answer) in answers {
        assert_eq!((status, &answer["isError"]), (200, &json!(null)));
    }
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
