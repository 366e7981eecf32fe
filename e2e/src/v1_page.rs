//! A page of mcp-web 0.1 without a browser.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::{TestBed, with_deadline};

/// The handler of a tool: it returns the answer to its input.
pub type V1Handler = fn(&Value) -> Value;

/// A connected page. It disconnects when this is dropped.
#[derive(Debug)]
pub struct V1Page {
    serving: JoinHandle<()>,
}

impl Drop for V1Page {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl V1Page {
    /// Opens a session with tools: each has the definition that is registered, and its handler.
    pub async fn open(bed: &TestBed, session: &str, tools: Vec<(Value, V1Handler)>) -> Self {
        let url = format!("ws://{}/?session={session}", bed.address());
        let connecting = tokio_tungstenite::connect_async(url);
        let (mut socket, _) = with_deadline("the upgrade", connecting).await.unwrap();
        let authenticate = json!({ "type": "authenticate", "sessionId": session,
            "authToken": bed.token(), "timestamp": 1 });
        send(&mut socket, &authenticate).await;
        let answer = with_deadline("the answer to `authenticate`", recv(&mut socket))
            .await
            .unwrap();
        assert_eq!(answer["type"], "authenticated", "{answer}");
        for (tool, _) in &tools {
            send(
                &mut socket,
                &json!({ "type": "register-tool", "tool": tool }),
            )
            .await;
        }
        let serving = tokio::spawn(serve(socket, tools));
        Self { serving }
    }
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

async fn serve(mut socket: Socket, tools: Vec<(Value, V1Handler)>) {
    while let Some(message) = recv(&mut socket).await {
        if message["type"] != "tool-call" {
            continue;
        }
        let tool = tools
            .iter()
            .find(|(tool, _)| tool["name"] == message["toolName"]);
        let result = match tool {
            Some((_, handler)) => handler(&message["toolInput"]),
            None => json!({ "error": "Tool not found" }),
        };
        let id = &message["requestId"];
        let answer = json!({ "type": "tool-response", "requestId": id, "result": result });
        send(&mut socket, &answer).await;
    }
}

async fn send(socket: &mut Socket, frame: &Value) {
    // If the connection has ended, the next read notices it.
    let _ = socket.send(Message::Text(frame.to_string().into())).await;
}

/// Receives the next message, or returns `None` at the end of the connection.
async fn recv(socket: &mut Socket) -> Option<Value> {
    loop {
        match socket.next().await? {
            Ok(Message::Text(text)) => return serde_json::from_str(&text).ok(),
            Ok(Message::Close(_)) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}
