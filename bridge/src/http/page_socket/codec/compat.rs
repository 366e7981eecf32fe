//! The codec for pages of mcp-web 0.1: each message is one frame.

use std::hash::{DefaultHasher, Hash, Hasher};

use bridge_compat::page_codec::{self, BadFrame, Inbound, StrictMode};
use bridge_protocol::limits::MAX_AUTHENTICATE_BYTES;
use bridge_protocol::{BridgeToPage, CloseCode, ErrorCode};
use bridge_realm::page_messages::CloseFrame;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::{Decoding, InboundMessage, MAX_INLINE_DECODE_BYTES, PageCodec};
use crate::http::page_socket::page_session::PageSession;
use crate::http::page_socket::socket::PageSocket;

pub(in crate::http::page_socket) struct CompatCodec {
    is_strict: bool,
    /// Why the session ended, once that was sent to the page.
    announced_end: Option<ErrorCode>,
    rejected_resources: RejectedResources,
}

impl CompatCodec {
    pub(in crate::http::page_socket) fn new(is_strict: bool) -> Self {
        Self {
            is_strict,
            announced_end: None,
            rejected_resources: RejectedResources::default(),
        }
    }
}

impl PageCodec for CompatCodec {
    fn queue(&mut self, page: &PageSession, socket: &mut PageSocket, message: BridgeToPage) {
        if let BridgeToPage::SessionClosed(closed) = &message {
            self.announced_end = Some(closed.code);
        }
        self.rejected_resources.log(page, &message);
        if let Some(text) = page_codec::encode(&message) {
            socket.queue_text(text);
        }
    }

    fn decode(&mut self, frame: Utf8Bytes) -> Decoding {
        let is_strict = self.is_strict;
        if frame.len() <= MAX_INLINE_DECODE_BYTES {
            return Decoding::Complete(decode_text(&frame, is_strict));
        }
        Decoding::Blocking {
            bytes: frame.len(),
            decode: Box::new(move || decode_text(&frame, is_strict)),
        }
    }

    fn close_frame(&self, frame: CloseFrame) -> CloseFrame {
        page_codec::close_frame(frame, self.announced_end)
    }

    fn invalid_frame(&self, _reason: &'static str) -> CloseFrame {
        invalid_json()
    }
}

fn decode_text(text: &str, is_strict: bool) -> InboundMessage {
    match page_codec::decode(text, StrictMode(is_strict)) {
        Ok(Inbound::Message(message)) => InboundMessage::Known(message),
        Ok(Inbound::Authenticate(_)) if text.len() > MAX_AUTHENTICATE_BYTES => {
            InboundMessage::Invalid(authenticate_too_long())
        }
        Ok(Inbound::Authenticate(hello)) => InboundMessage::Reauthenticate(hello),
        Ok(Inbound::Activity(at_ms)) => InboundMessage::Activity(at_ms),
        Ok(Inbound::ResourceResponse(call, content)) => {
            InboundMessage::ResourceResponse(call, content)
        }
        Ok(Inbound::Unknown(kind)) => InboundMessage::UnknownType(kind),
        Err(BadFrame) => InboundMessage::Invalid(invalid_json()),
    }
}

/// Closes the socket of a page that authenticates again with a longer message than at first.
fn authenticate_too_long() -> CloseFrame {
    let reason = format!("`authenticate` may have {MAX_AUTHENTICATE_BYTES} bytes");
    CloseFrame::new(CloseCode::PolicyViolation, reason)
}

/// Closes the socket of a page of mcp-web 0.1 after a frame that is not a message.
pub(in crate::http::page_socket) fn invalid_json() -> CloseFrame {
    CloseFrame::new(CloseCode::UnsupportedData, BadFrame::REASON)
}

/// How many rejected resources of one connection are logged: a page may register without end.
const MAX_LOGGED_REJECTIONS: usize = 32;

/// The longest name or reason in the log, in characters.
const MAX_LOGGED_TEXT_CHARS: usize = 256;

/// The rejected resources of a connection. The protocol has no message for them, so they are logged,
/// each name once.
#[derive(Debug, Default)]
pub(in crate::http::page_socket) struct RejectedResources {
    /// Hashes of the names, which may be long.
    logged: Vec<u64>,
}

impl RejectedResources {
    /// Logs a message to the page if it rejects a resource that has not been logged yet.
    pub(super) fn log(&mut self, page: &PageSession, message: &BridgeToPage) {
        let Some(rejection) = page_codec::resource_rejection(message) else {
            return;
        };
        let uri = rejection.name.as_deref().unwrap_or_default();
        if self.is_new(uri) {
            let truncate =
                |text: &str| -> String { text.chars().take(MAX_LOGGED_TEXT_CHARS).collect() };
            let (uri, why) = (truncate(uri), truncate(&rejection.message));
            tracing::info!(session = ?page.session, uri, why, "resource refused");
        }
    }

    fn is_new(&mut self, uri: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        uri.hash(&mut hasher);
        let hash = hasher.finish();
        let is_new = self.logged.len() < MAX_LOGGED_REJECTIONS && !self.logged.contains(&hash);
        if is_new {
            self.logged.push(hash);
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejected_resources_are_logged_once_and_bounded() {
        let mut rejected = RejectedResources::default();
        assert!(rejected.is_new("a:b"));
        assert!(!rejected.is_new("a:b"));
        let names = (1..2 * MAX_LOGGED_REJECTIONS).map(|n| format!("a:{n}"));
        let logged = names.filter(|name| rejected.is_new(name)).count();
        assert_eq!(logged, MAX_LOGGED_REJECTIONS - 1);
        assert!(!rejected.is_new("another"));
    }
}
