//! A page of `@mcp-web/core` 0.1, which sends and receives messages one by one.

use std::fmt::Display;
use std::ops::{Deref, DerefMut};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::PageSocket;

/// A connection of a page of mcp-web 0.1. Its frames are those of [`PageSocket`].
#[derive(Debug)]
pub struct V1Page {
    socket: PageSocket,
}

impl Deref for V1Page {
    type Target = PageSocket;

    fn deref(&self) -> &PageSocket {
        &self.socket
    }
}

impl DerefMut for V1Page {
    fn deref_mut(&mut self) -> &mut PageSocket {
        &mut self.socket
    }
}

impl V1Page {
    /// Opens the socket of the bridge at an address, at a path such as `/?session=s`, without sending
    /// anything.
    ///
    /// # Errors
    /// Returns an error when the bridge refuses the upgrade.
    pub async fn open_to(
        address: impl Display,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, Error> {
        let socket = PageSocket::open(&format!("ws://{address}{path}"), headers).await?;
        Ok(Self { socket })
    }

    /// Opens a socket to the bridge at an address and authenticates.
    pub async fn connect_to(address: impl Display, session: &str, token: &str) -> Self {
        let page = Self::open_to(address, &format!("/?session={session}"), &[]).await;
        let mut page = page.unwrap();
        let authenticate = json!({ "type": "authenticate", "sessionId": session,
            "authToken": token, "timestamp": 1 });
        page.send_json(authenticate).await;
        page.recv_authenticated().await;
        page
    }

    /// Receives the response to `authenticate`, which must be the next message and a success.
    pub async fn recv_authenticated(&mut self) {
        let authenticated = self.recv().await;
        assert_eq!(authenticated["type"], "authenticated", "{authenticated}");
    }

    /// Registers an MCP tool object. The bridge does not acknowledge it.
    pub async fn register_tool(&mut self, tool: Value) {
        self.send_json(json!({ "type": "register-tool", "tool": tool }))
            .await;
    }

    /// Registers an MCP resource object. The bridge does not acknowledge it.
    pub async fn register_resource(&mut self, resource: Value) {
        self.send_json(json!({ "type": "register-resource", "resource": resource }))
            .await;
    }

    /// Receives the next message.
    pub async fn recv(&mut self) -> Value {
        match self.recv_frame().await {
            Some(Message::Text(text)) => serde_json::from_str(&text).unwrap(),
            other => panic!("expected a message, got {other:?}"),
        }
    }

    /// Receives the code and reason of the close frame, which must be the next frame.
    pub async fn recv_close(&mut self) -> (u16, String) {
        match self.recv_frame().await {
            Some(Message::Close(Some(frame))) => (frame.code.into(), frame.reason.to_string()),
            other => panic!("expected a close frame, got {other:?}"),
        }
    }

    /// Receives the tool call, which must be the next message.
    pub async fn recv_call(&mut self) -> Value {
        let call = self.recv().await;
        assert_eq!(call["type"], "tool-call", "{call}");
        call
    }

    /// Responds to a tool call.
    pub async fn respond(&mut self, call: &Value, result: Value) {
        let id = &call["requestId"];
        self.send_json(json!({ "type": "tool-response", "requestId": id, "result": result }))
            .await;
    }

    /// Receives a tool call, which must be the next message, and responds with its own input.
    pub async fn echo_call(&mut self) {
        let call = self.recv_call().await;
        self.respond(&call, call["toolInput"].clone()).await;
    }

    /// Responds to each tool call with its own input until the connection has ended.
    pub async fn echo_calls(mut self) {
        while let Some(Message::Text(text)) = self.recv_frame_without_deadline().await {
            let message: Value = serde_json::from_str(&text).unwrap();
            if message["type"] == "tool-call" {
                self.respond(&message, message["toolInput"].clone()).await;
            }
        }
    }

    /// Closes the socket as a browser does for a closed document.
    pub async fn close(self) {
        self.socket.close().await;
    }
}
