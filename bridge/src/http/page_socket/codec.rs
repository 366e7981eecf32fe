//! The two page protocols on a socket: how messages become frames, and frames become messages.

mod compat;
mod v2;

use bridge_compat::page_codec::ResourceText;
use bridge_protocol::{Authenticate, BridgeToPage, CallId, PageToBridge};
use bridge_raw_json::JsonSlice;
use bridge_realm::page_messages::{CloseFrame, PageEvent};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::page_session::PageSession;
use super::socket::PageSocket;

pub(super) use compat::{CompatCodec, invalid_json};
pub(super) use v2::V2Codec;

/// Messages longer than this, in bytes, are decoded in the CPU pool, so that they do not delay the
/// calls of other pages.
const MAX_INLINE_DECODE_BYTES: usize = 128 * 1024;

/// The frames of one page protocol. A codec belongs to one connection.
pub(super) trait PageCodec: Send {
    /// Queues the frames of a message on the socket of its page.
    fn queue(&mut self, page: &PageSession, socket: &mut PageSocket, message: BridgeToPage);

    /// Decodes a text frame.
    fn decode(&mut self, frame: Utf8Bytes) -> Decoding;

    /// The number of bytes that wait for the rest of their message.
    fn held_bytes(&self) -> usize {
        0
    }

    /// Returns the close frame that a page of this protocol understands.
    fn close_frame(&self, frame: CloseFrame) -> CloseFrame;

    /// Returns the close frame for a frame that cannot be decoded, for this reason.
    fn invalid_frame(&self, reason: &'static str) -> CloseFrame;
}

/// The outcome of decoding a text frame.
pub(super) enum Decoding {
    /// The frame is a part of a message that is not complete.
    Incomplete,
    Complete(InboundMessage),
    /// Decoding takes so long that it would delay other pages: it must run in the CPU pool.
    Blocking {
        decode: Box<dyn FnOnce() -> InboundMessage + Send>,
        /// The length of the message.
        bytes: usize,
    },
}

/// A message of a page.
pub(super) enum InboundMessage {
    Known(PageToBridge),
    /// A message whose event took long to build, or whose fields are invalid.
    Event(PageEvent),
    /// A response whose value is as `JSON.stringify` writes it.
    CompactResponse(CallId, JsonSlice),
    /// A page of mcp-web 0.1 authenticates again, and begins a new session.
    Reauthenticate(Box<Authenticate>),
    /// The user of a page of mcp-web 0.1 was active, at this time of the page's clock in Unix
    /// milliseconds.
    Activity(Option<u64>),
    /// The content of a resource of a page of mcp-web 0.1, or the error of the page.
    ResourceResponse(CallId, Result<ResourceText, String>),
    /// A message type that the protocol does not have.
    UnknownType(String),
    /// The frame is not a message: the socket is closed.
    Invalid(CloseFrame),
}
