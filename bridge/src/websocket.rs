//! A WebSocket that uses almost no memory while it is idle. tungstenite implements the protocol;
//! this module does the I/O between tungstenite and the connection.
//!
//! Each thread has one read buffer, and outgoing frames are stored only until the connection has
//! taken them.

mod handshake;

use std::cell::RefCell;
use std::io::{self, Cursor, ErrorKind, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{Frame as WireFrame, FrameHeader};
use tokio_tungstenite::tungstenite::protocol::{
    CloseFrame, Message, Role, WebSocketConfig, WebSocketContext,
};

pub(crate) use tokio_tungstenite::tungstenite::Utf8Bytes;

pub(crate) use handshake::{UpgradedIo, WebSocketUpgrade};

/// The size of a thread's read buffer. The sockets of the thread share it, so that ten thousand
/// idle sockets need no such buffers.
const READ_BUFFER_BYTES: usize = 128 * 1024;

/// The size of tungstenite's own read buffer, which is also how much it reads at once.
const PROTOCOL_BUFFER_BYTES: usize = 256;

/// A read of more than this is several messages or a part of a long one. tungstenite then gets a buffer
/// of the size of the read.
const LONG_READ_BYTES: usize = 4 * 1024;

/// The maximum size of the replies to pings that the peer has not taken. Further ones are dropped,
/// because such a peer does not read.
const MAX_UNSENT_REPLY_BYTES: usize = 16 * 1024;

/// The maximum size of the reason in a close frame (RFC 6455 section 5.5).
const MAX_CLOSE_REASON_BYTES: usize = 123;

thread_local! {
    static SCRATCH: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BUFFER_BYTES].into());
}

/// A frame from the peer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    Text(Utf8Bytes),
    Binary,
    /// A close frame, with its code if it has one.
    Close(Option<u16>),
    /// A ping, which has been answered already, or a pong without a number.
    PingPong,
    /// The pong to a ping with this number.
    Pong(u64),
}

/// Why reading from the socket has failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SocketError {
    /// A message is longer than the limit.
    MessageTooLarge,
    /// The connection is lost, or the peer does not speak WebSocket.
    Disconnected,
}

/// The server's end of a WebSocket.
pub(crate) struct WebSocket<S> {
    io: S,
    protocol: WebSocketContext,
    buffer: IoBuffer,
    /// The maximum size of a message in bytes, however many frames it has.
    max_message_size: usize,
    /// Whether tungstenite's buffer has grown for a message.
    buffer_grown: bool,
}

/// The buffers between the connection and tungstenite.
#[derive(Default)]
struct IoBuffer {
    /// The bytes that were received. The first `consumed` of them have been consumed.
    inbound: Vec<u8>,
    consumed: usize,
    /// The number of bytes that were received so far.
    received: u64,
    /// The number of bytes that remain of the frame that tungstenite is reading.
    frame_remaining: u64,
    /// Whether a message continues in another frame.
    is_mid_message: bool,
    /// The frames to send. The first `written` bytes of them have been sent.
    outbound: Vec<u8>,
    written: usize,
    /// Whether tungstenite writes its last frame, which is stored even if the peer does not read.
    is_closing: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> WebSocket<S> {
    /// Creates a socket. `max_message_size` is in bytes, however many frames a message has.
    pub(crate) fn new(io: S, max_message_size: usize) -> Self {
        Self {
            io,
            protocol: new_protocol(max_message_size, PROTOCOL_BUFFER_BYTES),
            buffer: IoBuffer::default(),
            max_message_size,
            buffer_grown: false,
        }
    }

    /// Polls for the next frame.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Frame, SocketError>> {
        loop {
            match self.protocol.read(&mut self.buffer) {
                Ok(message) => return Poll::Ready(Ok(self.convert_message(message))),
                Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => {
                    self.shrink_if_idle();
                    let is_at_rest = self.is_idle();
                    ready!(self.poll_read(cx))?;
                    let received = self.buffer.inbound.len();
                    if is_at_rest && received > LONG_READ_BYTES {
                        // Not larger than this: tungstenite fills the buffer with zeros before it
                        // reads.
                        self.reset_protocol(received);
                        self.buffer_grown = true;
                    }
                }
                Err(Error::Capacity(_)) => return Poll::Ready(Err(SocketError::MessageTooLarge)),
                Err(_) => return Poll::Ready(Err(SocketError::Disconnected)),
            }
        }
    }

    fn convert_message(&mut self, message: Message) -> Frame {
        match message {
            Message::Text(text) => {
                self.buffer_grown |= text.len() > PROTOCOL_BUFFER_BYTES;
                Frame::Text(text)
            }
            Message::Close(frame) => {
                // Without this, the reply would be written only when the socket is read again.
                let _ = self.protocol.flush(&mut self.buffer);
                Frame::Close(frame.map(|frame| frame.code.into()))
            }
            Message::Pong(payload) => match <[u8; 8]>::try_from(&payload[..]) {
                Ok(number) => Frame::Pong(u64::from_be_bytes(number)),
                Err(_) => Frame::PingPong,
            },
            Message::Ping(_) => Frame::PingPong,
            Message::Binary(_) | Message::Frame(_) => Frame::Binary,
        }
    }

    /// Resets tungstenite if its buffer has grown and everything that was received has been read.
    /// The buffer stays as large as the longest message, and between messages tungstenite has no
    /// other state.
    fn shrink_if_idle(&mut self) {
        if self.buffer_grown && self.is_idle() {
            self.reset_protocol(PROTOCOL_BUFFER_BYTES);
            self.buffer_grown = false;
        }
    }

    fn is_idle(&self) -> bool {
        let is_open = self.protocol.can_read() && self.protocol.can_write();
        is_open && self.buffer.is_between_messages()
    }

    fn reset_protocol(&mut self, buffer: usize) {
        self.protocol = new_protocol(self.max_message_size, buffer);
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SocketError>> {
        SCRATCH.with_borrow_mut(|scratch| {
            let mut read = ReadBuf::new(scratch);
            match ready!(Pin::new(&mut self.io).poll_read(cx, &mut read)) {
                Ok(()) if !read.filled().is_empty() => {
                    self.buffer.received += read.filled().len() as u64;
                    self.buffer.inbound.extend_from_slice(read.filled());
                    Poll::Ready(Ok(()))
                }
                Ok(()) | Err(_) => Poll::Ready(Err(SocketError::Disconnected)),
            }
        })
    }

    /// Queues a text frame. It bypasses tungstenite's buffer, which would stay as large as the
    /// largest frame.
    pub(crate) fn queue_text(&mut self, text: String) {
        let frame = WireFrame::message(text, OpCode::Data(Data::Text), true);
        self.buffer.outbound.reserve_exact(frame.len());
        // Writing into memory cannot fail.
        let _ = frame.format(&mut self.buffer.outbound);
    }

    /// Queues a ping.
    pub(crate) fn queue_ping(&mut self) {
        // A ping for which there is no room is dropped: the peer does not read.
        let ping = Message::Ping(bytes::Bytes::new());
        let _ = self.protocol.write(&mut self.buffer, ping);
    }

    /// Queues a ping with a number, which the pong repeats.
    pub(crate) fn queue_numbered_ping(&mut self, number: u64) {
        let payload = bytes::Bytes::copy_from_slice(&number.to_be_bytes());
        let _ = self
            .protocol
            .write(&mut self.buffer, Message::Ping(payload));
    }

    /// The number of bytes that have arrived so far.
    pub(crate) fn received_bytes(&self) -> u64 {
        self.buffer.received
    }

    /// Whether a message has begun and continues in another frame.
    pub(crate) fn is_mid_message(&self) -> bool {
        self.buffer.is_mid_message
    }

    /// Queues a close frame. The reason is truncated to the maximum size.
    pub(crate) fn queue_close(&mut self, code: u16, reason: &str) {
        let end = reason.floor_char_boundary(MAX_CLOSE_REASON_BYTES);
        let frame = CloseFrame {
            code: code.into(),
            reason: reason[..end].into(),
        };
        self.buffer.is_closing = true;
        let _ = self.protocol.close(&mut self.buffer, Some(frame));
    }

    /// Returns the number of bytes that wait to be sent.
    pub(crate) fn unsent_bytes(&self) -> usize {
        self.buffer.outbound.len() - self.buffer.written
    }

    /// Ready when no bytes wait to be sent.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SocketError>> {
        let pipe = &mut self.buffer;
        while pipe.written < pipe.outbound.len() {
            let rest = &pipe.outbound[pipe.written..];
            match ready!(Pin::new(&mut self.io).poll_write(cx, rest)) {
                Ok(0) | Err(_) => return Poll::Ready(Err(SocketError::Disconnected)),
                Ok(sent) => pipe.written += sent,
            }
        }
        if !pipe.outbound.is_empty() {
            pipe.outbound = Vec::new();
            pipe.written = 0;
        }
        Poll::Ready(Ok(()))
    }

    /// Sends all queued frames, and then reads until the peer has closed the connection too, so
    /// that the last frames are not lost with it.
    pub(crate) async fn flush_and_drain(&mut self) {
        let flushed = std::future::poll_fn(|cx| self.poll_flush(cx)).await;
        if flushed.is_ok() {
            while self.next().await.is_ok() {}
        }
    }

    /// Receives the next frame.
    pub(crate) async fn next(&mut self) -> Result<Frame, SocketError> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Sends as much as the peer takes at once.
    pub(crate) async fn try_flush(&mut self) {
        std::future::poll_fn(|cx| {
            let _ = self.poll_flush(cx);
            Poll::Ready(())
        })
        .await;
    }
}

fn new_protocol(max_message_size: usize, buffer: usize) -> WebSocketContext {
    let config = WebSocketConfig::default()
        .read_buffer_size(buffer)
        .write_buffer_size(0)
        .max_write_buffer_size(MAX_UNSENT_REPLY_BYTES)
        .max_frame_size(Some(max_message_size))
        .max_message_size(Some(max_message_size));
    WebSocketContext::new(Role::Server, Some(config))
}

impl IoBuffer {
    /// Whether tungstenite has read every frame to its end, and no message is incomplete.
    fn is_between_messages(&self) -> bool {
        self.inbound.is_empty() && self.frame_remaining == 0 && !self.is_mid_message
    }

    /// Parses the header of the frame that begins here. Returns false if the header is incomplete.
    fn parse_frame_header(&mut self) -> bool {
        let mut rest = Cursor::new(&self.inbound[self.consumed..]);
        match FrameHeader::parse(&mut rest) {
            Ok(None) => return false,
            Ok(Some((header, length))) => {
                self.frame_remaining = rest.position().saturating_add(length);
                if matches!(header.opcode, OpCode::Data(_)) {
                    self.is_mid_message = !header.is_final;
                }
            }
            // tungstenite reports the error, so it may read all bytes.
            Err(_) => self.frame_remaining = u64::MAX,
        }
        true
    }
}

/// Reads at most the rest of one frame, so that it is known what tungstenite has buffered.
impl Read for IoBuffer {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.inbound.is_empty() || (self.frame_remaining == 0 && !self.parse_frame_header()) {
            return Err(ErrorKind::WouldBlock.into());
        }
        let rest = &self.inbound[self.consumed..];
        let left = usize::try_from(self.frame_remaining).unwrap_or(usize::MAX);
        let length = rest.len().min(into.len()).min(left);
        self.frame_remaining -= length as u64;
        into[..length].copy_from_slice(&rest[..length]);
        self.consumed += length;
        if self.consumed == self.inbound.len() {
            self.inbound = Vec::new();
            self.consumed = 0;
        }
        Ok(length)
    }
}

/// Stores the frames that tungstenite writes: pings, replies to pings, and close frames.
impl Write for IoBuffer {
    fn write(&mut self, frame: &[u8]) -> io::Result<usize> {
        if !self.is_closing && self.outbound.len() - self.written > MAX_UNSENT_REPLY_BYTES {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.outbound.extend_from_slice(frame);
        Ok(frame.len())
    }

    /// Does nothing: [`WebSocket::poll_flush`] sends the frames.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio_tungstenite::WebSocketStream;
    use tokio_tungstenite::tungstenite::Message;
    use tokio_tungstenite::tungstenite::protocol::Role;

    use super::*;

    const MAX_MESSAGE_SIZE: usize = 1024 * 1024;

    /// Encodes a frame as a client sends it.
    fn client_frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![first];
        match payload.len() {
            length @ 0..=125 => bytes.push(0x80 | length as u8),
            length => {
                bytes.push(0x80 | 126);
                bytes.extend_from_slice(&(length as u16).to_be_bytes());
            }
        }
        let mask = [0x11, 0x22, 0x33, 0x44];
        bytes.extend_from_slice(&mask);
        bytes.extend(
            payload
                .iter()
                .enumerate()
                .map(|(n, byte)| byte ^ mask[n % 4]),
        );
        bytes
    }

    async fn recv_all(bytes: &[u8]) -> Vec<Result<Frame, SocketError>> {
        let (near, mut far) = duplex(64 * 1024);
        let mut socket = WebSocket::new(near, MAX_MESSAGE_SIZE);
        far.write_all(bytes).await.unwrap();
        drop(far);
        let mut heard = Vec::new();
        loop {
            let next = socket.next().await;
            let is_last = next.is_err();
            heard.push(next);
            if is_last {
                return heard;
            }
        }
    }

    /// Returns a socket that has received a long message and then the bytes `follows`.
    async fn socket_after_long_message(follows: &[u8]) -> WebSocket<tokio::io::DuplexStream> {
        let (near, mut far) = duplex(64 * 1024);
        let mut socket = WebSocket::new(near, MAX_MESSAGE_SIZE);
        let long = vec![b'x'; 20_000];
        far.write_all(&client_frame(0x81, &long)).await.unwrap();
        far.write_all(follows).await.unwrap();
        assert_eq!(socket.next().await, Ok(text_frame(&"x".repeat(20_000))));
        let mut cx = Context::from_waker(std::task::Waker::noop());
        assert!(socket.poll_next(&mut cx).is_pending());
        far.write_all(&client_frame(0x80, b"end")).await.unwrap();
        // The socket accepts a continuation frame only if `follows` has begun a message.
        let next = socket.next().await;
        assert_eq!(next.is_ok(), !follows.is_empty(), "{next:?}");
        socket
    }

    fn text_frame(text: &str) -> Frame {
        Frame::Text(text.into())
    }

    #[tokio::test]
    async fn the_buffer_shrinks_only_between_messages() {
        // Between messages the protocol's state is reset. A continuation frame is then an error.
        let socket = socket_after_long_message(&[]).await;
        assert!(!socket.buffer_grown);
        let socket = socket_after_long_message(&client_frame(0x01, b"begun ")).await;
        assert!(socket.buffer_grown);
    }

    #[tokio::test]
    async fn a_frame_sent_byte_by_byte_is_received() {
        let (near, mut far) = duplex(64 * 1024);
        let mut socket = WebSocket::new(near, MAX_MESSAGE_SIZE);
        let expected = "y".repeat(300);
        let bytes = client_frame(0x81, expected.as_bytes());
        let sent = tokio::spawn(async move {
            for byte in bytes {
                far.write_all(&[byte]).await.unwrap();
                tokio::task::yield_now().await;
            }
            far
        });
        assert_eq!(socket.next().await, Ok(text_frame(&expected)));
        drop(sent.await.unwrap());
        assert_eq!(socket.next().await, Err(SocketError::Disconnected));
    }

    #[tokio::test]
    async fn messages_round_trip_with_tokio_tungstenite() {
        let (near, far) = duplex(1000);
        let mut socket = WebSocket::new(near, MAX_MESSAGE_SIZE);
        let mut peer = WebSocketStream::from_raw_socket(far, Role::Client, None).await;
        for length in [0, 1, 125, 126, 65_535, 65_536, 300_000] {
            let text = "é".repeat(length / 2);
            let there = async {
                use futures_util::SinkExt;
                peer.send(Message::text(text.clone())).await.unwrap();
            };
            let ((), frame) = tokio::join!(there, socket.next());
            assert_eq!(frame, Ok(Frame::Text(text.as_str().into())));
            drop(frame);
            socket.queue_text(text.clone());
            let back = async {
                use futures_util::StreamExt;
                peer.next().await.unwrap().unwrap()
            };
            let flush = std::future::poll_fn(|cx| socket.poll_flush(cx));
            let (flushed, frame) = tokio::join!(flush, back);
            assert_eq!(flushed, Ok(()));
            assert_eq!(frame, Message::text(text));
            assert_eq!(
                socket.buffer.outbound.capacity() + socket.buffer.inbound.capacity(),
                0
            );
        }
    }

    #[tokio::test]
    async fn control_frames_may_come_between_fragments() {
        let mut bytes = client_frame(0x01, b"one ");
        bytes.extend(client_frame(0x89, b"are you there"));
        bytes.extend(client_frame(0x80, "messäge".as_bytes()));
        bytes.extend(client_frame(0x8a, b""));
        bytes.extend(client_frame(0x88, &[0x03, 0xe9, b'b', b'y', b'e']));
        let (near, mut far) = duplex(1);
        let mut socket = WebSocket::new(near, MAX_MESSAGE_SIZE);
        let sending = tokio::spawn(async move {
            far.write_all(&bytes).await.unwrap();
            far
        });
        assert_eq!(socket.next().await, Ok(Frame::PingPong));
        assert_eq!(socket.next().await, Ok(Frame::Text("one messäge".into())));
        assert_eq!(socket.next().await, Ok(Frame::PingPong));
        assert_eq!(socket.next().await, Ok(Frame::Close(Some(1001))));
        let mut far = sending.await.unwrap();
        let flushing = tokio::spawn(async move {
            let flushed = std::future::poll_fn(|cx| socket.poll_flush(cx)).await;
            assert_eq!(flushed, Ok(()));
        });
        let mut answers = Vec::new();
        far.read_to_end(&mut answers).await.unwrap();
        let (pong, close) = answers.split_at(15);
        assert_eq!(pong, b"\x8a\x0dare you there");
        assert_eq!(close[..4], [0x88, 0x05, 0x03, 0xe9]);
        flushing.await.unwrap();
    }

    #[tokio::test]
    async fn protocol_violations_disconnect() {
        let unmasked = [0x81, 0x02, b'h', b'i'];
        let long_ping = client_frame(0x89, &[b'x'; 126]);
        let cases: [&[u8]; 9] = [
            b"GET / HTTP/1.1\r\n\r\n",
            &unmasked,
            &long_ping,
            &client_frame(0x09, b""),
            &client_frame(0xc1, b"compressed"),
            &client_frame(0x83, b"an opcode that is none"),
            &client_frame(0x80, b"goes on with nothing"),
            &client_frame(0x81, b"\xff\xfe"),
            &client_frame(0x88, b"\x03"),
        ];
        for bytes in cases {
            assert_eq!(
                recv_all(bytes).await,
                [Err(SocketError::Disconnected)],
                "{bytes:?}"
            );
        }
        let mut twice = client_frame(0x01, b"one");
        twice.extend(client_frame(0x81, b"another before its end"));
        assert_eq!(recv_all(&twice).await, [Err(SocketError::Disconnected)]);
    }

    #[tokio::test]
    async fn message_size_is_limited_by_declared_and_received_length() {
        let mut claim = vec![0x81, 0xff];
        claim.extend_from_slice(&(MAX_MESSAGE_SIZE as u64).to_be_bytes());
        claim.extend_from_slice(&[0; 4]);
        let (near, mut far) = duplex(64);
        let mut socket = WebSocket::new(near, MAX_MESSAGE_SIZE);
        far.write_all(&claim).await.unwrap();
        let nothing = futures_util::poll!(std::pin::pin!(socket.next()));
        assert!(nothing.is_pending());

        claim[2..10].copy_from_slice(&(MAX_MESSAGE_SIZE as u64 + 1).to_be_bytes());
        assert_eq!(recv_all(&claim).await, [Err(SocketError::MessageTooLarge)]);
        let mut pieces = client_frame(0x01, &[b'x'; 60_000]);
        for _ in 0..18 {
            pieces.extend(client_frame(0x00, &[b'x'; 60_000]));
        }
        let (near, mut far) = duplex(64);
        let mut socket = WebSocket::new(near, MAX_MESSAGE_SIZE);
        let sending = tokio::spawn(async move { far.write_all(&pieces).await });
        assert_eq!(socket.next().await, Err(SocketError::MessageTooLarge));
        drop(socket);
        let _ = sending.await.unwrap();
    }

    #[tokio::test]
    async fn unread_pongs_are_bounded() {
        let (near, mut far) = duplex(64);
        let mut socket = WebSocket::new(near, MAX_MESSAGE_SIZE);
        let flood = client_frame(0x89, &[b'x'; 125]).repeat(1_000);
        let sending = tokio::spawn(async move {
            far.write_all(&flood).await.unwrap();
            far
        });
        for _ in 0..1_000 {
            assert_eq!(socket.next().await, Ok(Frame::PingPong));
        }
        assert!(
            socket.unsent_bytes() <= MAX_UNSENT_REPLY_BYTES + 127,
            "{}",
            socket.unsent_bytes()
        );
        drop(sending.await.unwrap());
    }

    #[tokio::test]
    async fn a_close_frame_is_sent_after_queued_messages() {
        let (near, far) = duplex(1000);
        let mut socket = WebSocket::new(near, MAX_MESSAGE_SIZE);
        let mut peer = WebSocketStream::from_raw_socket(far, Role::Client, None).await;
        let text = "x".repeat(2 * MAX_UNSENT_REPLY_BYTES);
        socket.queue_text(text.clone());
        socket.queue_close(1012, "back soon");
        let reading = async {
            use futures_util::{SinkExt, StreamExt};
            assert_eq!(peer.next().await.unwrap().unwrap(), Message::text(text));
            match peer.next().await.unwrap().unwrap() {
                Message::Close(Some(frame)) => assert_eq!(u16::from(frame.code), 1012),
                other => panic!("{other}"),
            }
            peer.flush().await.unwrap();
        };
        let both = async { tokio::join!(socket.flush_and_drain(), reading) };
        let within = std::time::Duration::from_secs(10);
        tokio::time::timeout(within, both).await.unwrap();
    }

    #[tokio::test]
    async fn a_long_close_reason_is_truncated() {
        let (near, mut far) = duplex(1024);
        let mut socket = WebSocket::new(near, MAX_MESSAGE_SIZE);
        socket.queue_close(1008, &"ü".repeat(100));
        socket.try_flush().await;
        let mut frame = [0; 126];
        far.read_exact(&mut frame).await.unwrap();
        assert_eq!(frame[..4], [0x88, 124, 0x03, 0xf0]);
        assert_eq!(std::str::from_utf8(&frame[4..]).unwrap(), "ü".repeat(61));
    }
}
