//! A WebSocket that owns next to nothing while it is silent. The protocol is tungstenite's; this is
//! what stands between it and the connection.
//!
//! What comes is read into one buffer for each thread, and what goes out is kept only until the peer
//! has taken it.

mod handshake;

use std::cell::RefCell;
use std::io::{self, Cursor, ErrorKind, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{Frame as WireFrame, FrameHeader};
use tokio_tungstenite::tungstenite::protocol::{
    CloseFrame, Message, Role, WebSocketConfig, WebSocketContext,
};
use tokio_tungstenite::tungstenite::{Error, Utf8Bytes};

pub(crate) use handshake::{Upgrade, Upgraded};

/// What one system call reads. It belongs to the thread: ten thousand silent sockets have none.
const READ_BYTES: usize = 128 * 1024;

/// What tungstenite takes of that at once, and keeps room for.
const BUFFER_BYTES: usize = 256;

/// Where so much comes at once, a long message does: tungstenite takes it in large pieces.
const LONG_BYTES: usize = 4 * 1024;

/// Answers to pings that the peer has not taken. More are left out: it does not read.
const UNREAD_BYTES: usize = 16 * 1024;

/// RFC 6455 section 5.5: what the reason of a close frame may have.
const REASON_BYTES: usize = 123;

thread_local! {
    static SCRATCH: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BYTES].into());
}

/// What the peer sends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    Text(Utf8Bytes),
    Binary,
    /// With its code, if it has one.
    Close(Option<u16>),
    /// A ping, which is answered already, or the answer to one.
    SignOfLife,
}

/// Why nothing more comes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// A message is longer than it may be.
    TooLong,
    /// The connection is gone, or the peer does not speak WebSocket.
    Lost,
}

/// The socket.
pub(crate) struct WebSocket<S> {
    io: S,
    protocol: WebSocketContext,
    pipe: Pipe,
    /// The bytes of a message, in how many frames it ever comes.
    most: usize,
    /// Something came that tungstenite's buffer has grown for.
    has_grown: bool,
}

/// What stands between the connection and tungstenite.
#[derive(Default)]
struct Pipe {
    /// What came and was not taken yet, and how much of it was.
    came: Vec<u8>,
    taken: usize,
    /// What is to come of a frame that tungstenite has begun to take.
    frame_left: u64,
    /// A message goes on in another frame.
    is_within_message: bool,
    /// Frames that the peer has not taken yet, and how much of them it has.
    unsent: Vec<u8>,
    sent: usize,
    /// What tungstenite writes now is the last: it waits behind everything else.
    closes: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> WebSocket<S> {
    /// `most`: the bytes of a message, in how many frames it ever comes.
    pub(crate) fn new(io: S, most: usize) -> Self {
        Self {
            io,
            protocol: protocol(most, BUFFER_BYTES),
            pipe: Pipe::default(),
            most,
            has_grown: false,
        }
    }

    /// The next frame.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Frame, Broken>> {
        loop {
            match self.protocol.read(&mut self.pipe) {
                Ok(message) => return Poll::Ready(Ok(self.frame(message))),
                Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => {
                    self.rest();
                    let is_at_rest = self.is_at_rest();
                    ready!(self.poll_read(cx))?;
                    if is_at_rest && self.pipe.came.len() > LONG_BYTES {
                        self.begin_anew(READ_BYTES);
                        self.has_grown = true;
                    }
                }
                Err(Error::Capacity(_)) => return Poll::Ready(Err(Broken::TooLong)),
                Err(_) => return Poll::Ready(Err(Broken::Lost)),
            }
        }
    }

    fn frame(&mut self, message: Message) -> Frame {
        match message {
            Message::Text(text) => {
                self.has_grown |= text.len() > BUFFER_BYTES;
                Frame::Text(text)
            }
            Message::Close(frame) => {
                // Or the answer would wait for another look.
                let _ = self.protocol.flush(&mut self.pipe);
                Frame::Close(frame.map(|frame| frame.code.into()))
            }
            Message::Ping(_) | Message::Pong(_) => Frame::SignOfLife,
            Message::Binary(_) | Message::Frame(_) => Frame::Binary,
        }
    }

    /// Nothing has come that was not heard. tungstenite's buffer stays as large as the longest
    /// message: between messages it knows nothing else, and can begin anew.
    fn rest(&mut self) {
        if self.has_grown && self.is_at_rest() {
            self.begin_anew(BUFFER_BYTES);
            self.has_grown = false;
        }
    }

    fn is_at_rest(&self) -> bool {
        let is_open = self.protocol.can_read() && self.protocol.can_write();
        is_open && self.pipe.is_between_messages()
    }

    fn begin_anew(&mut self, buffer: usize) {
        self.protocol = protocol(self.most, buffer);
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        SCRATCH.with_borrow_mut(|scratch| {
            let mut read = ReadBuf::new(scratch);
            match ready!(Pin::new(&mut self.io).poll_read(cx, &mut read)) {
                Ok(()) if !read.filled().is_empty() => {
                    self.pipe.came.extend_from_slice(read.filled());
                    Poll::Ready(Ok(()))
                }
                Ok(()) | Err(_) => Poll::Ready(Err(Broken::Lost)),
            }
        })
    }

    /// Puts a text behind what waits to be sent. It does not go through tungstenite's own buffer,
    /// which would stay as large as the largest.
    pub(crate) fn queue_text(&mut self, text: String) {
        let frame = WireFrame::message(text, OpCode::Data(Data::Text), true);
        self.pipe.unsent.reserve_exact(frame.len());
        // Writing into memory does not fail.
        let _ = frame.format(&mut self.pipe.unsent);
    }

    /// The same for a ping.
    pub(crate) fn queue_ping(&mut self) {
        // Where there is no room for one, the peer does not read.
        let ping = Message::Ping(bytes::Bytes::new());
        let _ = self.protocol.write(&mut self.pipe, ping);
    }

    /// The same for a close frame. The reason is cut to what one carries.
    pub(crate) fn queue_close(&mut self, code: u16, reason: &str) {
        let end = reason.floor_char_boundary(REASON_BYTES);
        let frame = CloseFrame {
            code: code.into(),
            reason: reason[..end].into(),
        };
        self.pipe.closes = true;
        let _ = self.protocol.close(&mut self.pipe, Some(frame));
    }

    /// How many bytes wait to be sent.
    pub(crate) fn unsent(&self) -> usize {
        self.pipe.unsent.len() - self.pipe.sent
    }

    /// Ready when nothing waits to be sent.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        let pipe = &mut self.pipe;
        while pipe.sent < pipe.unsent.len() {
            let rest = &pipe.unsent[pipe.sent..];
            match ready!(Pin::new(&mut self.io).poll_write(cx, rest)) {
                Ok(0) | Err(_) => return Poll::Ready(Err(Broken::Lost)),
                Ok(sent) => pipe.sent += sent,
            }
        }
        if !pipe.unsent.is_empty() {
            pipe.unsent = Vec::new();
            pipe.sent = 0;
        }
        Poll::Ready(Ok(()))
    }

    /// Sends what waits, and then reads until the peer has closed, too: what was sent last is not
    /// lost with the connection.
    pub(crate) async fn closed(&mut self) {
        let flushed = std::future::poll_fn(|cx| self.poll_flush(cx)).await;
        if flushed.is_ok() {
            while self.next().await.is_ok() {}
        }
    }

    /// The next frame.
    pub(crate) async fn next(&mut self) -> Result<Frame, Broken> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Sends what waits, as far as the peer takes it at once.
    pub(crate) async fn flush_at_once(&mut self) {
        std::future::poll_fn(|cx| {
            let _ = self.poll_flush(cx);
            Poll::Ready(())
        })
        .await;
    }
}

fn protocol(most: usize, buffer: usize) -> WebSocketContext {
    let config = WebSocketConfig::default()
        .read_buffer_size(buffer)
        .write_buffer_size(0)
        .max_write_buffer_size(UNREAD_BYTES)
        .max_frame_size(Some(most))
        .max_message_size(Some(most));
    WebSocketContext::new(Role::Server, Some(config))
}

impl Pipe {
    /// tungstenite has all of every frame that it has taken something of.
    fn is_between_messages(&self) -> bool {
        self.came.is_empty() && self.frame_left == 0 && !self.is_within_message
    }

    /// Looks at the head of the frame that begins here. False when it has not come whole.
    fn begin_frame(&mut self) -> bool {
        let mut rest = Cursor::new(&self.came[self.taken..]);
        match FrameHeader::parse(&mut rest) {
            Ok(None) => return false,
            Ok(Some((header, length))) => {
                self.frame_left = rest.position().saturating_add(length);
                if matches!(header.opcode, OpCode::Data(_)) {
                    self.is_within_message = !header.is_final;
                }
            }
            // tungstenite will say so: all of it is for it.
            Err(_) => self.frame_left = u64::MAX,
        }
        true
    }
}

/// At most the rest of one frame at a time: what tungstenite holds is known.
impl Read for Pipe {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.came.is_empty() || (self.frame_left == 0 && !self.begin_frame()) {
            return Err(ErrorKind::WouldBlock.into());
        }
        let rest = &self.came[self.taken..];
        let left = usize::try_from(self.frame_left).unwrap_or(usize::MAX);
        let length = rest.len().min(into.len()).min(left);
        self.frame_left -= length as u64;
        into[..length].copy_from_slice(&rest[..length]);
        self.taken += length;
        if self.taken == self.came.len() {
            self.came = Vec::new();
            self.taken = 0;
        }
        Ok(length)
    }
}

/// What tungstenite writes by itself: answers to pings, and close frames.
impl Write for Pipe {
    fn write(&mut self, frame: &[u8]) -> io::Result<usize> {
        if !self.closes && self.unsent.len() - self.sent > UNREAD_BYTES {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.unsent.extend_from_slice(frame);
        Ok(frame.len())
    }

    /// The socket does that, see [`WebSocket::poll_flush`].
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

    const MOST: usize = 1024 * 1024;

    /// A frame as a client sends it.
    fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
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

    async fn heard(bytes: &[u8]) -> Vec<Result<Frame, Broken>> {
        let (near, mut far) = duplex(64 * 1024);
        let mut socket = WebSocket::new(near, MOST);
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

    /// A peer that sends a long message, and a piece of what follows it.
    async fn after_a_long_message(follows: &[u8]) -> WebSocket<tokio::io::DuplexStream> {
        let (near, mut far) = duplex(64 * 1024);
        let mut socket = WebSocket::new(near, MOST);
        let long = vec![b'x'; 20_000];
        far.write_all(&masked(0x81, &long)).await.unwrap();
        far.write_all(follows).await.unwrap();
        assert_eq!(socket.next().await, Ok(text(&"x".repeat(20_000))));
        let mut cx = Context::from_waker(std::task::Waker::noop());
        assert!(socket.poll_next(&mut cx).is_pending());
        far.write_all(&masked(0x80, b"end")).await.unwrap();
        // What has begun goes on, and what has not does not.
        let next = socket.next().await;
        assert_eq!(next.is_ok(), !follows.is_empty(), "{next:?}");
        socket
    }

    fn text(text: &str) -> Frame {
        Frame::Text(text.into())
    }

    #[tokio::test]
    async fn what_a_long_message_took_is_given_back_between_messages_only() {
        // Between messages, the protocol begins anew; a frame that continues nothing ends it.
        let socket = after_a_long_message(&[]).await;
        assert!(!socket.has_grown);
        let socket = after_a_long_message(&masked(0x01, b"begun ")).await;
        assert!(socket.has_grown);
    }

    #[tokio::test]
    async fn a_frame_that_comes_byte_by_byte_is_heard() {
        let (near, mut far) = duplex(64 * 1024);
        let mut socket = WebSocket::new(near, MOST);
        let expected = "y".repeat(300);
        let bytes = masked(0x81, expected.as_bytes());
        let sent = tokio::spawn(async move {
            for byte in bytes {
                far.write_all(&[byte]).await.unwrap();
                tokio::task::yield_now().await;
            }
            far
        });
        assert_eq!(socket.next().await, Ok(text(&expected)));
        drop(sent.await.unwrap());
        assert_eq!(socket.next().await, Err(Broken::Lost));
    }

    #[tokio::test]
    async fn messages_go_both_ways_with_a_peer_that_others_have_written() {
        let (near, far) = duplex(1000);
        let mut socket = WebSocket::new(near, MOST);
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
                socket.pipe.unsent.capacity() + socket.pipe.came.capacity(),
                0
            );
        }
    }

    #[tokio::test]
    async fn frames_may_come_byte_by_byte_and_in_pieces_with_others_between() {
        let mut bytes = masked(0x01, b"one ");
        bytes.extend(masked(0x89, b"are you there"));
        bytes.extend(masked(0x80, "messäge".as_bytes()));
        bytes.extend(masked(0x8a, b""));
        bytes.extend(masked(0x88, &[0x03, 0xe9, b'b', b'y', b'e']));
        let (near, mut far) = duplex(1);
        let mut socket = WebSocket::new(near, MOST);
        let sending = tokio::spawn(async move {
            far.write_all(&bytes).await.unwrap();
            far
        });
        assert_eq!(socket.next().await, Ok(Frame::SignOfLife));
        assert_eq!(socket.next().await, Ok(Frame::Text("one messäge".into())));
        assert_eq!(socket.next().await, Ok(Frame::SignOfLife));
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
    async fn what_is_no_websocket_of_a_client_ends_it() {
        let unmasked = [0x81, 0x02, b'h', b'i'];
        let long_ping = masked(0x89, &[b'x'; 126]);
        let cases: [&[u8]; 9] = [
            b"GET / HTTP/1.1\r\n\r\n",
            &unmasked,
            &long_ping,
            &masked(0x09, b""),
            &masked(0xc1, b"compressed"),
            &masked(0x83, b"an opcode that is none"),
            &masked(0x80, b"goes on with nothing"),
            &masked(0x81, b"\xff\xfe"),
            &masked(0x88, b"\x03"),
        ];
        for bytes in cases {
            assert_eq!(heard(bytes).await, [Err(Broken::Lost)], "{bytes:?}");
        }
        let mut twice = masked(0x01, b"one");
        twice.extend(masked(0x81, b"another before its end"));
        assert_eq!(heard(&twice).await, [Err(Broken::Lost)]);
    }

    #[tokio::test]
    async fn a_length_is_believed_when_its_bytes_have_come() {
        let mut claim = vec![0x81, 0xff];
        claim.extend_from_slice(&(MOST as u64).to_be_bytes());
        claim.extend_from_slice(&[0; 4]);
        let (near, mut far) = duplex(64);
        let mut socket = WebSocket::new(near, MOST);
        far.write_all(&claim).await.unwrap();
        let nothing = futures_util::poll!(std::pin::pin!(socket.next()));
        assert!(nothing.is_pending());

        claim[2..10].copy_from_slice(&(MOST as u64 + 1).to_be_bytes());
        assert_eq!(heard(&claim).await, [Err(Broken::TooLong)]);
        let mut pieces = masked(0x01, &[b'x'; 60_000]);
        for _ in 0..18 {
            pieces.extend(masked(0x00, &[b'x'; 60_000]));
        }
        let (near, mut far) = duplex(64);
        let mut socket = WebSocket::new(near, MOST);
        let sending = tokio::spawn(async move { far.write_all(&pieces).await });
        assert_eq!(socket.next().await, Err(Broken::TooLong));
        drop(socket);
        let _ = sending.await.unwrap();
    }

    #[tokio::test]
    async fn a_peer_that_pings_and_does_not_read_fills_nothing() {
        let (near, mut far) = duplex(64);
        let mut socket = WebSocket::new(near, MOST);
        let flood = masked(0x89, &[b'x'; 125]).repeat(1_000);
        let sending = tokio::spawn(async move {
            far.write_all(&flood).await.unwrap();
            far
        });
        for _ in 0..1_000 {
            assert_eq!(socket.next().await, Ok(Frame::SignOfLife));
        }
        assert!(socket.unsent() <= UNREAD_BYTES + 127, "{}", socket.unsent());
        drop(sending.await.unwrap());
    }

    #[tokio::test]
    async fn a_close_frame_comes_behind_whatever_waits() {
        let (near, far) = duplex(1000);
        let mut socket = WebSocket::new(near, MOST);
        let mut peer = WebSocketStream::from_raw_socket(far, Role::Client, None).await;
        let text = "x".repeat(2 * UNREAD_BYTES);
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
        let both = async { tokio::join!(socket.closed(), reading) };
        let within = std::time::Duration::from_secs(10);
        tokio::time::timeout(within, both).await.unwrap();
    }

    #[tokio::test]
    async fn a_close_frame_carries_as_much_of_its_reason_as_fits() {
        let (near, mut far) = duplex(1024);
        let mut socket = WebSocket::new(near, MOST);
        socket.queue_close(1008, &"ü".repeat(100));
        socket.flush_at_once().await;
        let mut frame = [0; 126];
        far.read_exact(&mut frame).await.unwrap();
        assert_eq!(frame[..4], [0x88, 124, 0x03, 0xf0]);
        assert_eq!(std::str::from_utf8(&frame[4..]).unwrap(), "ü".repeat(61));
    }
}
