//! A page of mcp-web 0.1 without a browser.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::{TestBed, with_deadline};

/// What a tool of such a page answers to its input.
pub type V1Handler = fn(&Value) -> Value;

/// Connected, with its tools registered, until it is dropped.
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
    /// Opens a session with tools, each given as it is registered, beside what it answers.
    pub async fn open(world: &TestBed, session: &str, tools: Vec<(Value, V1Handler)>) -> Self {
        let url = format!("ws://{}/?session={session}", world.address());
        let connecting = tokio_tungstenite::connect_async(url);
        let (mut socket, _) = with_deadline("the upgrade", connecting).await.unwrap();
        let hello = json!({ "type": "authenticate", "sessionId": session,
            "authToken": world.token(), "timestamp": 1 });
        send(&mut socket, &hello).await;
        let welcome = with_deadline("the welcome", recv(&mut socket))
            .await
            .unwrap();
        assert_eq!(welcome["type"], "authenticated", "{welcome}");
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
        let called = tools
            .iter()
            .find(|(tool, _)| tool["name"] == message["toolName"]);
        let result = match called {
            Some((_, handler)) => handler(&message["toolInput"]),
            None => json!({ "error": "Tool not found" }),
        };
        let id = &message["requestId"];
        let answer = json!({ "type": "tool-response", "requestId": id, "result": result });
        send(&mut socket, &answer).await;
    }
}

async fn send(socket: &mut Socket, frame: &Value) {
    // A bridge that is gone ends the page at its next look.
    let _ = socket.send(Message::Text(frame.to_string().into())).await;
}

/// The next frame; `None` when the connection is over.
async fn recv(socket: &mut Socket) -> Option<Value> {
    loop {
        match socket.next().await? {
            Ok(Message::Text(text)) => return serde_json::from_str(&text).ok(),
            Ok(Message::Close(_)) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}
