use std::net::SocketAddr;

use anyhow::{Context, Result};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

pub(super) type Wire = WebSocketStream<TcpStream>;

/// There may be thousands of pages.
const READ_BUFFER: usize = 4 * 1024;

/// Opens the socket of a page.
pub(super) async fn connect(address: SocketAddr, url: &str) -> Result<Wire> {
    let socket = TcpStream::connect(address).await;
    let socket = socket.with_context(|| format!("nobody listens on {address}"))?;
    // As browsers do: else each answer waits for the peer's acknowledgement of the receipt.
    socket.set_nodelay(true)?;
    let config = WebSocketConfig::default().read_buffer_size(READ_BUFFER);
    let (wire, _) = client_async_with_config(url, socket, Some(config))
        .await
        .with_context(|| format!("{url} is no page socket"))?;
    Ok(wire)
}
