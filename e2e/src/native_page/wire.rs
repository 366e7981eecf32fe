//! The socket of a native page: messages from frames, and frames from messages.

use bridge_protocol::BridgeToPage;
use bridge_protocol::limits::PART_BYTES;
use bridge_protocol::parts::{Assembler, AssemblyStatus, split};
use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

use crate::with_deadline;

/// The largest message that the page accepts, such as a client's response; the bridge limits those.
const MAX_MESSAGE_BYTES: usize = 256 * 1024 * 1024;

/// The socket of a page, with the message that is being assembled.
pub(super) struct Wire {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    assembler: Assembler,
    /// The number of messages that were sent in parts.
    split_messages: u64,
}

impl Wire {
    pub(super) async fn open(url: &str) -> Self {
        // As browsers do; otherwise each answer waits for the peer's acknowledgement of the
        // receipt.
        let connected = connect_async_with_config(url, None, true);
        let (socket, _) = with_deadline("the page socket", connected).await.unwrap();
        Self {
            socket,
            assembler: Assembler::new(MAX_MESSAGE_BYTES),
            split_messages: 0,
        }
    }

    /// Receives the answer to `authenticate`.
    pub(super) async fn recv_first(&mut self) -> BridgeToPage {
        let first = with_deadline("the answer to `authenticate`", self.recv()).await;
        first.unwrap_or_else(|code| panic!("the bridge closed the page socket: {code:?}"))
    }

    /// Receives the next message. At the end of the connection, the error is the close code, if
    /// there was one. This is cancel safe.
    pub(super) async fn recv(&mut self) -> Result<BridgeToPage, Option<u16>> {
        loop {
            let frame = match self.socket.next().await {
                Some(Ok(Message::Text(text))) => text,
                Some(Ok(Message::Close(frame))) => return Err(frame.map(|frame| frame.code.into())),
                Some(Ok(_)) => continue,
                Some(Err(_)) | None => return Err(None),
            };
            if let AssemblyStatus::Complete(text) = self.assembler.push(&frame).unwrap() {
                return Ok(BridgeToPage::decode(&text).unwrap());
            }
        }
    }

    /// Sends a message. If the connection has ended, the next read notices it.
    pub(super) async fn send(&mut self, text: &str) {
        if text.len() <= PART_BYTES {
            let _ = self.socket.send(Message::text(text)).await;
            return;
        }
        self.split_messages += 1;
        for part in split(text, self.split_messages) {
            if self.socket.send(Message::text(part)).await.is_err() {
                return;
            }
        }
    }

    pub(super) async fn close(&mut self, code: u16) {
        let frame = CloseFrame {
            code: code.into(),
            reason: "".into(),
        };
        let _ = self.socket.close(Some(frame)).await;
    }
}
