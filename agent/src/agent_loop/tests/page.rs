//! A page that sends and receives single messages.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

use super::with_deadline;

pub(super) const TOKEN: &str = "token-of-the-page-of-the-tests";

/// A page that is connected to a bridge.
pub(super) struct Page {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

/// A call that the page has received.
#[derive(Debug)]
pub(super) struct PageCall {
    id: Value,
    pub(super) tool: String,
    pub(super) input: Value,
}

impl Page {
    pub(super) async fn connect(bridge: &bridge::ServerHandle, tools: &[Value]) -> Self {
        let url = format!("ws://{}/ws?session=asks", bridge.local_addr());
        // As browsers do, this sets TCP_NODELAY.
        let (socket, _) = connect_async_with_config(url, None, true).await.unwrap();
        let mut page = Self { socket };
        page.send(
            json!({ "type": "authenticate", "protocol": 2, "authToken": TOKEN,
            "sessionId": "asks", "documentId": "document" }),
        )
        .await;
        page.recv_kind("authenticated").await;
        page.register(tools).await;
        page
    }

    pub(super) async fn register(&mut self, tools: &[Value]) {
        let items = tools
            .iter()
            .map(|tool| json!({ "kind": "tool", "definition": tool }));
        self.send(json!({ "type": "register", "registrationId": "r",
            "items": Value::from_iter(items) }))
            .await;
        let registered = self.recv_kind("registered").await;
        assert_eq!(registered["errors"], json!([]), "{registered}");
    }

    pub(super) async fn send(&mut self, message: Value) {
        let message = Message::Text(message.to_string().into());
        self.socket.send(message).await.unwrap();
    }

    /// Receives the next message of this kind, and skips others.
    pub(super) async fn recv_kind(&mut self, kind: &str) -> Value {
        loop {
            let message = self.recv().await;
            if message["type"] == kind {
                return message;
            }
        }
    }

    async fn recv(&mut self) -> Value {
        loop {
            let frame = with_deadline("a message from the bridge", self.socket.next()).await;
            if let Message::Text(text) = frame.expect("the connection ended").unwrap() {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }

    /// Receives the next call, and acknowledges it.
    pub(super) async fn recv_call(&mut self) -> PageCall {
        let call = self.recv_kind("tool-call").await;
        self.send(json!({ "type": "call-received", "requestId": call["requestId"] }))
            .await;
        PageCall {
            id: call["requestId"].clone(),
            tool: call["toolName"].as_str().unwrap().to_owned(),
            input: call["toolInput"].clone(),
        }
    }

    pub(super) async fn answer(&mut self, call: &PageCall, result: Value) {
        self.send(json!({ "type": "call-response", "requestId": call.id, "result": result }))
            .await;
    }

    /// Answers a call with blocks of content.
    pub(super) async fn answer_content(&mut self, call: &PageCall, content: Value) {
        self.send(json!({ "type": "call-response", "requestId": call.id, "content": content }))
            .await;
    }

    pub(super) async fn fail(&mut self, call: &PageCall, message: &str) {
        self.send(
            json!({ "type": "call-error", "requestId": call.id, "code": "HandlerFailed",
            "message": message }),
        )
        .await;
    }

    /// Receives the next call, and answers it.
    pub(super) async fn answer_next_call(&mut self, result: Value) -> PageCall {
        let call = self.recv_call().await;
        self.answer(&call, result).await;
        call
    }

    /// Waits until this call is cancelled.
    pub(super) async fn expect_cancel(&mut self, call: &PageCall) {
        let cancel = self.recv_kind("call-cancel").await;
        assert_eq!(cancel["requestId"], call.id);
    }
}

/// Runs no actions, for tests in which no tool of the page is called.
pub(super) async fn no_page_actions(_: &mut Page) {}
