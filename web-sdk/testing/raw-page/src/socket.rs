//! The socket of a page on the browser's side: single frames.

use std::fmt::Display;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

/// The maximum duration of a wait; only a broken program exceeds it.
const DEADLINE: Duration = Duration::from_secs(60);

/// The size of the read buffer of a page. It is small, because a test may have thousands of pages.
const READ_BUFFER_BYTES: usize = 16 * 1024;

/// The socket of a page. If it is dropped, the connection breaks without a close frame.
#[derive(Debug)]
pub struct PageSocket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl PageSocket {
    /// Opens the socket at a URL with these headers.
    ///
    /// # Errors
    /// Returns an error when the bridge refuses the upgrade.
    pub async fn open(url: &str, headers: &[(&'static str, &str)]) -> Result<Self, Error> {
        let mut request = url.into_client_request()?;
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER_BYTES)
            .max_message_size(None)
            .max_frame_size(None);
        // As browsers do, this sets TCP_NODELAY.
        let connecting = connect_async_with_config(request, Some(config), true);
        let (socket, _) = with_deadline("upgrade", connecting).await?;
        Ok(Self(socket))
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// Returns an error when the connection has ended.
    pub async fn send_frame(&mut self, frame: Message) -> Result<(), Error> {
        self.0.send(frame).await
    }

    /// Sends a text in one frame.
    pub async fn send_text(&mut self, text: impl Into<String>) {
        let frame = Message::Text(text.into().into());
        self.send_frame(frame).await.unwrap();
    }

    /// Sends a message in one frame.
    pub async fn send_json(&mut self, message: Value) {
        self.send_text(message.to_string()).await;
    }

    /// Buffers a message, which is sent with the next one.
    pub async fn feed_json(&mut self, message: Value) {
        let frame = Message::Text(message.to_string().into());
        self.0.feed(frame).await.unwrap();
    }

    /// Receives the next frame other than pings and pongs; `None` when the connection has ended.
    pub async fn recv_frame(&mut self) -> Option<Message> {
        with_deadline("frame", self.recv_frame_without_deadline()).await
    }

    /// Receives the next frame other than pings and pongs, however long it takes. This is cancel
    /// safe.
    pub async fn recv_frame_without_deadline(&mut self) -> Option<Message> {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(frame)) => return Some(frame),
                Some(Err(_)) | None => return None,
            }
        }
    }

    /// Reads up to the answer to a ping.
    pub async fn recv_pong(&mut self, payload: &str) {
        loop {
            match with_deadline("pong", self.0.next()).await {
                Some(Ok(Message::Pong(answer))) if answer == payload.as_bytes() => return,
                Some(Ok(_)) => {}
                other => panic!("no pong, but {other:?}"),
            }
        }
    }

    /// Reads up to the close frame, and returns its code and reason.
    pub async fn recv_close(&mut self) -> (u16, String) {
        loop {
            match self.recv_frame().await {
                Some(Message::Close(Some(frame))) => {
                    return (frame.code.into(), frame.reason.to_string());
                }
                Some(_) => {}
                None => panic!("the connection ended without a close frame"),
            }
        }
    }

    /// Closes the socket as a browser does for a closed document, with the code 1001 (RFC 6455,
    /// "going away").
    pub async fn close(mut self) {
        let frame = CloseFrame {
            code: 1001.into(),
            reason: "".into(),
        };
        self.send_frame(Message::Close(Some(frame))).await.unwrap();
        while self.recv_frame().await.is_some() {}
    }
}

/// Waits for something that must happen, and panics after 60 s with a message that contains `what`.
pub async fn with_deadline<T>(what: impl Display, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future)
        .await
        .unwrap_or_else(|_| panic!("waited {DEADLINE:?} for {what}"))
}
