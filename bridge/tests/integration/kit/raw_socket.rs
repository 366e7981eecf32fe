//! The socket of a page as bytes, for peers that do not keep to the protocol.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::with_deadline;

/// The first byte of a text frame, which is the first of several frames if [`FINAL`] is not added.
pub(crate) const TEXT: u8 = 0x01;
/// The first byte of a frame that continues a message.
pub(crate) const CONTINUATION: u8 = 0x00;
/// The first byte of a ping.
pub(crate) const PING: u8 = FINAL | 0x09;
/// The bit in the first byte of the last frame of a message.
pub(crate) const FINAL: u8 = 0x80;

/// Encodes the header of a masked frame (RFC 6455 section 5.2), with a mask of zeros.
pub(crate) fn frame_header(first: u8, length: u64) -> Vec<u8> {
    let mut header = vec![first];
    match u16::try_from(length) {
        Ok(short @ 0..=125) => header.push(0x80 | short as u8),
        Ok(medium) => {
            header.push(0x80 | 126);
            header.extend(medium.to_be_bytes());
        }
        Err(_) => {
            header.push(0x80 | 127);
            header.extend(length.to_be_bytes());
        }
    }
    header.extend([0; 4]);
    header
}

/// Encodes a frame.
pub(crate) fn frame(first: u8, payload: &str) -> Vec<u8> {
    let mut frame = frame_header(first, payload.len() as u64);
    frame.extend(payload.as_bytes());
    frame
}

/// Encodes the request that opens a page socket at a path, such as `/ws?session=s`.
pub(crate) fn upgrade_request(address: &str, path: &str, origin: Option<&str>) -> String {
    let origin = origin.map_or(String::new(), |origin| format!("Origin: {origin}\r\n"));
    format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\n{origin}Connection: upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
}

/// A page socket after the upgrade.
pub(crate) struct RawSocket {
    tcp: TcpStream,
}

impl RawSocket {
    /// Opens the socket at a path.
    pub(crate) async fn open(address: &str, path: &str, origin: Option<&str>) -> Self {
        let mut tcp = TcpStream::connect(address).await.unwrap();
        let request = upgrade_request(address, path, origin);
        tcp.write_all(request.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(with_deadline("upgrade", tcp.read_u8()).await.unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        assert!(head.starts_with("HTTP/1.1 101"), "{head}");
        Self { tcp }
    }

    /// Sends bytes. Returns false when the connection has ended.
    pub(crate) async fn try_send(&mut self, bytes: &[u8]) -> bool {
        with_deadline("room in the socket", self.tcp.write_all(bytes))
            .await
            .is_ok()
    }

    /// Receives exactly this many bytes.
    pub(crate) async fn recv_exact(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let received = with_deadline("bytes of the bridge", self.tcp.read_exact(&mut bytes));
        received.await.unwrap();
        bytes
    }

    /// Receives everything up to the end of the connection.
    pub(crate) async fn recv_to_end(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let end = with_deadline("end of the connection", self.tcp.read_to_end(&mut bytes));
        // The bridge may have closed the connection before it had read everything.
        let _ = end.await;
        bytes
    }
}
