//! The buffers between a connection and tungstenite, which reads from them and writes to them as if
//! they were the connection.

use std::io::{self, Cursor, ErrorKind, Read, Write};

use tokio_tungstenite::tungstenite::protocol::frame::FrameHeader;
use tokio_tungstenite::tungstenite::protocol::frame::coding::OpCode;

/// The maximum size of the replies to pings that the peer has not taken. Further ones are dropped,
/// because such a peer does not read.
pub(super) const MAX_UNSENT_REPLY_BYTES: usize = 16 * 1024;

/// The bytes that were received and not yet read by tungstenite, and the bytes to send.
#[derive(Default)]
pub(super) struct IoBuffer {
    /// The bytes that were received. The first `consumed` of them have been consumed.
    pub(super) inbound: Vec<u8>,
    consumed: usize,
    /// The number of bytes that remain of the frame that tungstenite is reading.
    frame_remaining: u64,
    /// Whether a message continues in another frame.
    is_mid_message: bool,
    /// The number of further frames that tungstenite may begin to read in this turn. It loops over
    /// frames that are not the end of a message, so that only here all frames can be counted.
    pub(super) frames_left: u32,
    /// The frames to send. The first `written` bytes of them have been sent.
    pub(super) outbound: Vec<u8>,
    pub(super) written: usize,
    /// Whether tungstenite writes its last frame, which is stored even if the peer does not read.
    pub(super) is_closing: bool,
}

impl IoBuffer {
    /// Whether tungstenite has read every frame to its end, and no message is incomplete.
    pub(super) fn is_between_messages(&self) -> bool {
        self.inbound.is_empty() && self.frame_remaining == 0 && !self.is_mid_message
    }

    /// Whether a message has begun and continues in another frame.
    pub(super) fn is_mid_message(&self) -> bool {
        self.is_mid_message
    }

    /// Whether another frame has begun to arrive, which must wait for the next turn.
    pub(super) fn awaits_turn(&self) -> bool {
        self.frames_left == 0 && self.frame_remaining == 0 && !self.inbound.is_empty()
    }

    /// The number of bytes that tungstenite has not read.
    pub(super) fn unread_bytes(&self) -> usize {
        self.inbound.len() - self.consumed
    }

    /// Drops everything that was received.
    pub(super) fn discard_inbound(&mut self) {
        self.inbound = Vec::new();
        self.consumed = 0;
    }

    /// Begins the frame that comes next. Returns false if it must wait for the next turn, or if its
    /// header is incomplete.
    fn begin_frame(&mut self) -> bool {
        if self.frames_left == 0 {
            return false;
        }
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
        self.frames_left -= 1;
        true
    }
}

/// Reads at most the rest of one frame, so that it is known what tungstenite has buffered.
impl Read for IoBuffer {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.inbound.is_empty() || (self.frame_remaining == 0 && !self.begin_frame()) {
            return Err(ErrorKind::WouldBlock.into());
        }
        let rest = &self.inbound[self.consumed..];
        let left = usize::try_from(self.frame_remaining).unwrap_or(usize::MAX);
        let length = rest.len().min(into.len()).min(left);
        self.frame_remaining -= length as u64;
        into[..length].copy_from_slice(&rest[..length]);
        self.consumed += length;
        if self.consumed == self.inbound.len() {
            self.discard_inbound();
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

    /// Does nothing: [`WebSocket::poll_flush`](super::WebSocket::poll_flush) sends the frames.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
