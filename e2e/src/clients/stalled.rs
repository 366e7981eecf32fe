//! A client that opens its stream of notifications and never reads it.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::http;
use crate::{TestBed, with_deadline};

/// An MCP session (2025-11-25) with a stream whose receive buffer is as small as possible.
pub struct StalledClient {
    _stream: TcpStream,
}

impl StalledClient {
    /// Initializes a session, opens its stream, and reads no more than the beginning of the head.
    pub async fn connect(bed: &TestBed) -> Self {
        let session = initialize_session(bed).await;
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(1).unwrap();
        let mut stream = with_deadline("a connection", socket.connect(bed.address()))
            .await
            .unwrap();
        let head = format!(
            "GET /mcp HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
             accept: text/event-stream\r\nmcp-session-id: {session}\r\n\r\n",
            bed.address(),
            bed.token(),
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut first = [0; 12];
        with_deadline("the head of the stream", stream.read_exact(&mut first))
            .await
            .unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        Self { _stream: stream }
    }
}

async fn initialize_session(bed: &TestBed) -> String {
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "stalled", "version": "1.0.0" } } });
    let answer = post(bed, None, &initialize).await;
    let session = answer.headers()["mcp-session-id"].to_str().unwrap();
    let session = session.to_owned();
    with_deadline("initialize", answer.bytes()).await.unwrap();
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    post(bed, Some(&session), &initialized).await;
    session
}

async fn post(bed: &TestBed, session: Option<&str>, message: &Value) -> reqwest::Response {
    let mut request = http()
        .post(bed.mcp_url())
        .bearer_auth(bed.token())
        .header("accept", "application/json, text/event-stream")
        .json(message);
    if let Some(session) = session {
        request = request.header("mcp-session-id", session);
    }
    let answer = with_deadline("an answer", request.send()).await.unwrap();
    assert!(answer.status().is_success(), "{answer:?}");
    answer
}
