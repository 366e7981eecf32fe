use std::net::SocketAddr;

use anyhow::{Context, Result, bail, ensure};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::Dialect;

/// The socket of a page.
pub(in crate::load) type PageSocket = WebSocketStream<TcpStream>;

/// There may be thousands of pages.
const READ_BUFFER: usize = 4 * 1024;

/// What a page says before it is called.
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
        let mut wire = self.open().await?;
        match self.dialect {
            Dialect::V2 => self.authenticate(&mut wire).await?,
            Dialect::V1 => self.authenticate_v1(&mut wire).await?,
            Dialect::Bytes | Dialect::Minimum => {}
        }
        Ok(wire)
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
        let socket = TcpStream::connect(address).await;
        let socket = socket.with_context(|| format!("nobody listens on {address}"))?;
        // As browsers do: else each answer waits for the peer's acknowledgement of the receipt.
        socket.set_nodelay(true)?;
        let config = WebSocketConfig::default().read_buffer_size(READ_BUFFER);
        let (wire, _) = client_async_with_config(&url, socket, Some(config))
            .await
            .with_context(|| format!("{url} is no page socket"))?;
        Ok(wire)
    }

    async fn authenticate(&self, wire: &mut PageSocket) -> Result<()> {
        let hello = json!({
            "type": "authenticate",
            "protocol": bridge_protocol::PROTOCOL_VERSION,
            "authToken": self.token,
            "sessionId": self.session,
            "documentId": self.document,
            "pageTitle": format!("Page {}", self.session),
        });
        wire.send(Message::text(hello.to_string())).await?;
        wait_for_message(wire, "authenticated").await?;
        let item = |tool: &Value| json!({ "kind": "tool", "definition": tool });
        let items: Vec<_> = self.tools.iter().map(item).collect();
        let register = json!({ "type": "register", "registrationId": "r", "items": items });
        wire.send(Message::text(register.to_string())).await?;
        let registered = wait_for_message(wire, "registered").await?;
        ensure!(registered["errors"] == json!([]), "refused: {registered}");
        Ok(())
    }

    async fn authenticate_v1(&self, wire: &mut PageSocket) -> Result<()> {
        let hello = json!({
            "type": "authenticate",
            "authToken": self.token,
            "sessionId": self.session,
            "timestamp": 1_790_000_000_000_u64,
        });
        wire.send(Message::text(hello.to_string())).await?;
        wait_for_message(wire, "authenticated").await?;
        for tool in &self.tools {
            let register = json!({ "type": "register-tool", "tool": tool });
            wire.send(Message::text(register.to_string())).await?;
        }
        // v1 acknowledges nothing: what comes before a ping has been read when its pong is there.
        wire.send(Message::Ping(Default::default())).await?;
        loop {
            match wire.next().await.context("the page was closed")?? {
                Message::Pong(_) => return Ok(()),
                Message::Text(text) => bail!("a definition is refused: {text}"),
                _ => {}
            }
        }
    }
}

/// Waits for a message of a type.
async fn wait_for_message(wire: &mut PageSocket, wanted: &str) -> Result<Value> {
    loop {
        match wire.next().await.context("the page was closed")?? {
            Message::Text(text) => {
                let message: Value = serde_json::from_str(&text)?;
                match message["type"].as_str().unwrap_or_default() {
                    found if found == wanted => return Ok(message),
                    "authentication-failed" => bail!("the page is refused: {text}"),
                    _ => {}
                }
            }
            Message::Close(frame) => bail!("the page was closed: {frame:?}"),
            _ => {}
        }
    }
}
