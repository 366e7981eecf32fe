//! The handshake of a page with the target, in each dialect.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail, ensure};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::load::dialect::Dialect;

/// The WebSocket of a page.
pub(in crate::load) type PageSocket = WebSocketStream<TcpStream>;

/// The size of the read buffer of a page. It is small, because there may be thousands of pages.
const READ_BUFFER: usize = 4 * 1024;

/// The messages of a page before its first call.
pub(in crate::load) struct PageHandshake<'a> {
    pub(in crate::load) address: SocketAddr,
    pub(in crate::load) dialect: Dialect,
    pub(in crate::load) token: &'a str,
    pub(in crate::load) session: &'a str,
    pub(in crate::load) document: &'a str,
    /// Tool objects.
    pub(in crate::load) tools: Vec<Value>,
}

impl PageHandshake<'_> {
    /// Connects, authenticates and registers the tools.
    pub(in crate::load) async fn connect(&self) -> Result<PageSocket> {
        let mut socket = self.open().await?;
        match self.dialect {
            Dialect::V2 => self.authenticate(&mut socket).await?,
            Dialect::V1 => self.authenticate_v1(&mut socket).await?,
            Dialect::Bytes | Dialect::Minimum => {}
        }
        Ok(socket)
    }

    async fn open(&self) -> Result<PageSocket> {
        let path = match self.dialect {
            Dialect::V1 => "/",
            _ => "/ws",
        };
        let Self {
            address, session, ..
        } = self;
        let url = format!("ws://{address}{path}?session={session}");
        let stream = TcpStream::connect(address).await;
        let stream = stream.with_context(|| format!("nothing listens on {address}"))?;
        // As browsers do; otherwise each answer waits for the peer's acknowledgement of the
        // receipt.
        stream.set_nodelay(true)?;
        let config = WebSocketConfig::default().read_buffer_size(READ_BUFFER);
        let (socket, _) = client_async_with_config(&url, stream, Some(config))
            .await
            .with_context(|| format!("{url} is not a page socket"))?;
        Ok(socket)
    }

    async fn authenticate(&self, socket: &mut PageSocket) -> Result<()> {
        let authenticate = json!({
            "type": "authenticate",
            "protocol": bridge_protocol::PROTOCOL_VERSION,
            "authToken": self.token,
            "sessionId": self.session,
            "documentId": self.document,
            "pageTitle": format!("Page {}", self.session),
        });
        socket.send(Message::text(authenticate.to_string())).await?;
        wait_for_message(socket, "authenticated").await?;
        let item = |tool: &Value| json!({ "kind": "tool", "definition": tool });
        let items: Vec<_> = self.tools.iter().map(item).collect();
        let register = json!({ "type": "register", "registrationId": "r", "items": items });
        socket.send(Message::text(register.to_string())).await?;
        let registered = wait_for_message(socket, "registered").await?;
        ensure!(registered["errors"] == json!([]), "rejected: {registered}");
        Ok(())
    }

    async fn authenticate_v1(&self, socket: &mut PageSocket) -> Result<()> {
        let authenticate = json!({
            "type": "authenticate",
            "authToken": self.token,
            "sessionId": self.session,
            "timestamp": 1_790_000_000_000_u64,
        });
        socket.send(Message::text(authenticate.to_string())).await?;
        wait_for_message(socket, "authenticated").await?;
        for tool in &self.tools {
            let register = json!({ "type": "register-tool", "tool": tool });
            socket.send(Message::text(register.to_string())).await?;
        }
        // v1 acknowledges nothing, but messages before a ping have been read when the pong arrives.
        socket.send(Message::Ping(Default::default())).await?;
        loop {
            match socket.next().await.context("the page was closed")?? {
                Message::Pong(_) => return Ok(()),
                Message::Text(text) => bail!("a definition is rejected: {text}"),
                _ => {}
            }
        }
    }
}

/// Waits for a message of this type.
async fn wait_for_message(socket: &mut PageSocket, kind: &str) -> Result<Value> {
    loop {
        match socket.next().await.context("the page was closed")?? {
            Message::Text(text) => {
                let message: Value = serde_json::from_str(&text)?;
                match message["type"].as_str().unwrap_or_default() {
                    found if found == kind => return Ok(message),
                    "authentication-failed" => bail!("the page is rejected: {text}"),
                    _ => {}
                }
            }
            Message::Close(frame) => bail!("the page was closed: {frame:?}"),
            _ => {}
        }
    }
}
