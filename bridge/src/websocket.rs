//! A WebSocket that uses almost no memory while it is idle. tungstenite implements the protocol;
//! this module does the I/O between tungstenite and the connection.
//!
//! Each thread has one read buffer, and outgoing frames are stored only until the connection has
//! taken them. However many frames a peer sends, its socket yields to other tasks after a bounded
//! number of them, and is not read while the peer is above its rate.

mod frame_rate;
mod handshake;
mod io_buffer;
mod read_turns;

use std::cell::RefCell;
use std::io::ErrorKind;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::protocol::frame::Frame as WireFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::{
    CloseFrame, Message, Role, WebSocketConfig, WebSocketContext,
};

use io_buffer::{IoBuffer, MAX_UNSENT_REPLY_BYTES};
use read_turns::ReadTurns;

pub(crate) use tokio_tungstenite::tungstenite::Utf8Bytes;

pub(crate) use handshake::{UpgradedIo, WebSocketUpgrade};

/// The size of a thread's read buffer. The sockets of the thread share it, so that ten thousand
/// idle sockets need no such buffers.
pub(crate) const READ_BUFFER_BYTES: usize = 128 * 1024;

/// The size of tungstenite's own read buffer, which is also how much it reads at once.
const PROTOCOL_BUFFER_BYTES: usize = 256;

/// A read of more than this is several messages or a part of a long one. tungstenite then reads more
/// at once.
const LONG_READ_BYTES: usize = 4 * 1024;

/// How much tungstenite then reads at once. It fills as many bytes with zeros for each frame, and
/// 20,000 frames may come in one read.
const LONG_READ_BUFFER_BYTES: usize = 8 * 1024;

/// The maximum size of the reason in a close frame (RFC 6455 section 5.5).
const MAX_CLOSE_REASON_BYTES: usize = 123;

/// How much is discarded of what a peer sends after the close frame, besides one message of the
/// maximum size.
const MAX_DRAIN_BYTES: usize = 256 * 1024;

/// A read of few bytes counts as this many, because it costs as much.
const MIN_DRAIN_COST_BYTES: usize = 4 * 1024;

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
    /// The connection is lost, or the peer does not use WebSocket.
    Disconnected,
}

/// The limits of a peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SocketLimits {
    /// The maximum size of a message in bytes, however many frames it has.
    pub(crate) max_message_bytes: usize,
    /// The number of frames per second, of any kind. Above it the socket is not read until the rate
    /// allows it. The frames of two seconds may come at once.
    pub(crate) frames_per_second: u32,
}

/// The bytes of a recording. Boxed, because few sockets have one.
#[derive(Debug, Default)]
struct Recording(Vec<u8>);

/// The server's end of a WebSocket.
pub(crate) struct WebSocket<S> {
    io: S,
    protocol: WebSocketContext,
    buffer: IoBuffer,
    turns: ReadTurns,
    max_message_bytes: usize,
    /// Whether tungstenite's buffer has grown for a message.
    buffer_grown: bool,
    /// The number of bytes that were received so far.
    received_bytes: u64,
    /// The number of bytes in memory that belong to messages which were not returned yet.
    unreturned_bytes: usize,
    /// Whether the connection may hold bytes that it has taken and not sent, as one with TLS does.
    needs_flush: bool,
    /// All bytes that were received, while they are recorded.
    recorded: Option<Box<Recording>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> WebSocket<S> {
    /// Creates a socket whose peer may send this much.
    pub(crate) fn new(io: S, limits: SocketLimits) -> Self {
        Self {
            io,
            protocol: new_protocol(limits.max_message_bytes, PROTOCOL_BUFFER_BYTES),
            buffer: IoBuffer::default(),
            turns: ReadTurns::new(limits.frames_per_second),
            max_message_bytes: limits.max_message_bytes,
            buffer_grown: false,
            received_bytes: 0,
            unreturned_bytes: 0,
            needs_flush: false,
            recorded: None,
        }
    }

    /// Records what is received, so that another bridge can get it again.
    pub(crate) fn start_recording(&mut self) {
        self.recorded = Some(Box::default());
    }

    /// Ends the recording.
    pub(crate) fn stop_recording(&mut self) {
        self.recorded = None;
    }

    /// Returns the connection, with what was recorded.
    pub(crate) fn into_recorded(self) -> (S, Vec<u8>) {
        (
            self.io,
            self.recorded.map_or_else(Vec::new, |recorded| recorded.0),
        )
    }

    /// Changes what the peer may send from the next message on.
    pub(crate) fn set_limits(&mut self, limits: SocketLimits) {
        self.protocol.set_config(|config| {
            config.max_frame_size = Some(limits.max_message_bytes);
            config.max_message_size = Some(limits.max_message_bytes);
        });
        self.turns.set_rate(limits.frames_per_second);
        self.buffer.frames_left = 0;
        self.max_message_bytes = limits.max_message_bytes;
    }

    /// Polls for the next frame.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Frame, SocketError>> {
        loop {
            match self.protocol.read(&mut self.buffer) {
                Ok(message) => {
                    if !self.buffer.is_mid_message() {
                        self.unreturned_bytes = self.buffer.unread_bytes();
                    }
                    return Poll::Ready(Ok(self.convert_message(message)));
                }
                Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => {
                    if self.buffer.awaits_turn() || self.turns.has_read_enough() {
                        let unused = self.buffer.frames_left;
                        self.buffer.frames_left = ready!(self.turns.poll_next_turn(cx, unused));
                        continue;
                    }
                    self.shrink_if_idle();
                    let is_at_rest = self.is_idle();
                    ready!(self.poll_read(cx))?;
                    if is_at_rest && self.buffer.inbound.len() > LONG_READ_BYTES {
                        self.reset_protocol(LONG_READ_BUFFER_BYTES);
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
            Message::Ping(_) => {
                // As above: after a single ping, nothing else may come for long.
                let _ = self.protocol.flush(&mut self.buffer);
                Frame::PingPong
            }
            Message::Binary(_) | Message::Frame(_) => Frame::Binary,
        }
    }

    /// Whether everything that had arrived has been read. Frames may wait for the next turn, or
    /// until the rate of the peer allows them.
    pub(crate) fn is_read_through(&self) -> bool {
        self.turns.is_empty() && !self.buffer.awaits_turn()
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
        self.protocol = new_protocol(self.max_message_bytes, buffer);
    }

    /// Polls for bytes, and stores them in the buffer: at most as many as a message may have, which
    /// are few before the peer has authenticated.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SocketError>> {
        let max_bytes = READ_BUFFER_BYTES.min(self.max_message_bytes);
        let inbound = &mut self.buffer.inbound;
        let recorded = &mut self.recorded;
        let read = poll_scratch(&mut self.io, cx, max_bytes, |read| {
            inbound.extend_from_slice(read);
            if let Some(recorded) = recorded {
                recorded.0.extend_from_slice(read);
            }
        });
        match read {
            Poll::Pending => self.turns.record_waiting(),
            Poll::Ready(Ok(bytes)) => {
                self.turns.record_read(bytes);
                self.received_bytes += bytes as u64;
                self.unreturned_bytes += bytes;
            }
            Poll::Ready(Err(_)) => {}
        }
        read.map_ok(|_| ())
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
        self.received_bytes
    }

    /// The number of bytes in memory that belong to messages which were not returned yet.
    pub(crate) fn unreturned_bytes(&self) -> usize {
        self.unreturned_bytes
    }

    /// Whether a message has begun and continues in another frame.
    pub(crate) fn is_mid_message(&self) -> bool {
        self.buffer.is_mid_message()
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
            self.needs_flush = true;
        }
        if !pipe.outbound.is_empty() {
            pipe.outbound = Vec::new();
            pipe.written = 0;
        }
        if self.needs_flush {
            let flushed = ready!(Pin::new(&mut self.io).poll_flush(cx));
            flushed.map_err(|_| SocketError::Disconnected)?;
            self.needs_flush = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Sends all queued frames and closes this direction, and then discards what the peer sends until
    /// it has closed the connection too. If the connection was closed with unread data, the peer
    /// could lose the last frames. Ends early when the peer sends too much.
    pub(crate) async fn flush_and_drain(&mut self) {
        let flush = std::future::poll_fn(|cx| self.poll_flush(cx));
        if flush.await.is_err() || self.io.shutdown().await.is_err() {
            return;
        }
        self.buffer.discard_inbound();
        let mut remaining = MAX_DRAIN_BYTES.saturating_add(self.max_message_bytes);
        while let Ok(bytes) = self.discard().await {
            match remaining.checked_sub(bytes.max(MIN_DRAIN_COST_BYTES)) {
                Some(rest) => remaining = rest,
                None => return,
            }
        }
    }

    /// Reads bytes without storing them. Returns their number.
    async fn discard(&mut self) -> Result<usize, SocketError> {
        let io = &mut self.io;
        std::future::poll_fn(|cx| poll_scratch(io, cx, READ_BUFFER_BYTES, |_| ())).await
    }

    /// Receives the next frame. Meanwhile, the replies to pings are sent.
    pub(crate) async fn next(&mut self) -> Result<Frame, SocketError> {
        std::future::poll_fn(|cx| {
            let next = self.poll_next(cx);
            // A broken connection is noticed by reading it.
            let _ = self.poll_flush(cx);
            next
        })
        .await
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

/// Reads at most `max_bytes` into the thread's buffer, and passes them to `consume`. Returns their
/// number, which is at least 1.
pub(crate) fn poll_scratch(
    io: &mut (impl AsyncRead + Unpin),
    cx: &mut Context<'_>,
    max_bytes: usize,
    consume: impl FnOnce(&[u8]),
) -> Poll<Result<usize, SocketError>> {
    SCRATCH.with_borrow_mut(|scratch| {
        let mut read = ReadBuf::new(&mut scratch[..max_bytes]);
        match ready!(Pin::new(io).poll_read(cx, &mut read)) {
            Ok(()) if !read.filled().is_empty() => {
                consume(read.filled());
                Poll::Ready(Ok(read.filled().len()))
            }
            Ok(()) | Err(_) => Poll::Ready(Err(SocketError::Disconnected)),
        }
    })
}

fn new_protocol(max_message_bytes: usize, buffer: usize) -> WebSocketContext {
    let config = WebSocketConfig::default()
        .read_buffer_size(buffer)
        .write_buffer_size(0)
        .max_write_buffer_size(MAX_UNSENT_REPLY_BYTES)
        .max_frame_size(Some(max_message_bytes))
        .max_message_size(Some(max_message_bytes));
    WebSocketContext::new(Role::Server, Some(config))
}

#[cfg(test)]
mod tests;
