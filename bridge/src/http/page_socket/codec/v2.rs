//! The codec for pages of this version: JSON messages, of which long ones are split into parts.

use bridge_protocol::limits::PART_BYTES;
use bridge_protocol::{BridgeToPage, CloseCode, DecodeError, PageToBridge, message_parts};
use bridge_realm::page_messages::{CloseFrame, PageEvent, parse_compact_response};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::{Decoding, InboundMessage, MAX_INLINE_DECODE_BYTES, PageCodec};
use crate::http::page_socket::page_session::PageSession;
use crate::http::page_socket::reassembly::Reassembler;
use crate::http::page_socket::socket::PageSocket;

/// From this length, in bytes, the value of a response is not copied out of its message. The value
/// then keeps the message in memory, and whatever was read from the socket together with it.
const MIN_SHARED_BYTES: usize = 16 * 1024;

/// Up to this length, in bytes, a message is scanned on the task: one pass takes less than half a
/// millisecond, which is less than moving it to another thread costs.
const MAX_INLINE_SCAN_BYTES: usize = 1024 * 1024;

pub(in crate::http::page_socket) struct V2Codec {
    max_message_bytes: usize,
    /// Exists while a message is incomplete.
    reassembler: Option<Box<Reassembler>>,
    /// The number of messages so far that were too long for one frame.
    split_messages: u64,
}

impl V2Codec {
    pub(in crate::http::page_socket) fn new(max_message_bytes: usize) -> Self {
        Self {
            max_message_bytes,
            reassembler: None,
            split_messages: 0,
        }
    }

    /// Adds a part to its message. Returns the message when it is complete.
    fn push_part(&mut self, part: &str) -> Result<Option<String>, CloseFrame> {
        let max_bytes = self.max_message_bytes;
        let reassembler = self
            .reassembler
            .get_or_insert_with(|| Box::new(Reassembler::new(max_bytes)));
        let message = reassembler.push(part)?;
        if message.is_some() && !reassembler.is_receiving() {
            self.reassembler = None;
        }
        Ok(message)
    }
}

impl PageCodec for V2Codec {
    fn queue(&mut self, _page: &PageSession, socket: &mut PageSocket, message: BridgeToPage) {
        let text = message.encode();
        if text.len() <= PART_BYTES {
            socket.queue_text(text);
            return;
        }
        self.split_messages += 1;
        for part in message_parts::split(&text, self.split_messages) {
            socket.queue_text(part);
        }
    }

    fn decode(&mut self, frame: Utf8Bytes) -> Decoding {
        if !message_parts::is_part(&frame) {
            return decode_message(frame);
        }
        match self.push_part(&frame) {
            Ok(Some(message)) => decode_message(message.into()),
            Ok(None) => Decoding::Incomplete,
            Err(close_frame) => Decoding::Complete(InboundMessage::Invalid(close_frame)),
        }
    }

    fn held_bytes(&self) -> usize {
        let reassembler = self.reassembler.as_ref();
        reassembler.map_or(0, |reassembler| reassembler.held_bytes())
    }

    fn close_frame(&self, frame: CloseFrame) -> CloseFrame {
        frame
    }

    fn invalid_frame(&self, reason: &'static str) -> CloseFrame {
        CloseFrame::new(CloseCode::UnsupportedData, reason)
    }
}

fn decode_message(text: Utf8Bytes) -> Decoding {
    let bytes = text.len();
    if bytes > MAX_INLINE_SCAN_BYTES {
        let decode =
            Box::new(move || decode_compact_response(&text).unwrap_or_else(|| decode_text(&text)));
        return Decoding::Blocking { decode, bytes };
    }
    match decode_compact_response(&text) {
        Some(message) => Decoding::Complete(message),
        None if bytes <= MAX_INLINE_DECODE_BYTES => Decoding::Complete(decode_text(&text)),
        None => Decoding::Blocking {
            decode: Box::new(move || decode_text(&text)),
            bytes,
        },
    }
}

fn decode_compact_response(text: &Utf8Bytes) -> Option<InboundMessage> {
    let (call, mut value) = parse_compact_response(text)?;
    if text.len() < MIN_SHARED_BYTES {
        value = value.detached();
    }
    Some(InboundMessage::CompactResponse(call, value))
}

fn decode_text(text: &str) -> InboundMessage {
    let (code, error) = match PageToBridge::decode(text) {
        Ok(message) => return InboundMessage::Known(message),
        Err(DecodeError::UnknownType(kind)) => return InboundMessage::UnknownType(kind),
        Err(DecodeError::BadQuery { uuid, error }) => {
            return InboundMessage::Event(PageEvent::MalformedQuery(uuid, error.to_string()));
        }
        Err(error @ DecodeError::NotAMessage(_)) => (CloseCode::UnsupportedData, error),
        Err(error @ DecodeError::BadFields { .. }) => (CloseCode::PolicyViolation, error),
    };
    InboundMessage::Invalid(CloseFrame::new(code, error_excerpt(&error)))
}

/// A control frame has at most 125 bytes of payload, two of which are the close code (RFC 6455
/// section 5.5).
fn error_excerpt(error: &DecodeError) -> String {
    let text = error.to_string();
    text.chars().filter(char::is_ascii).take(120).collect()
}
