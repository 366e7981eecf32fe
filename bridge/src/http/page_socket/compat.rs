//! What is different on the socket of a page of mcp-web 0.1.
//!
//! A silent page is not disconnected, because such a page reconnects late or not at all. It still
//! receives pings: they keep idle connections open in proxies, and let TCP notice that the peer is
//! gone.

use std::hash::{DefaultHasher, Hash, Hasher};

use bridge_json::RawJson;
use bridge_protocol::{BridgeToPage, CallId, CloseCode, ErrorCode};
use bridge_realm::page_messages::{CloseFrame, PageEvent};
use bridge_realm::realm::{Answer, CallFailure};

use super::connection_end::ConnectionEnd;
use super::page_session::PageSession;
use super::socket::PageSocket;
use crate::compat::page_codec;
use crate::compat::page_codec::{BadFrame, CompatInbound, ResourceContent, StrictMode};
use crate::hub::{OutboxReceiver, SocketCommand};

/// Closes the socket after a frame that is not a message.
pub(super) fn invalid_frame() -> CloseFrame {
    CloseFrame::new(CloseCode::UnsupportedData, BadFrame::REASON)
}

/// Whether a page of mcp-web 0.1 may send this before it has authenticated.
pub(super) fn is_allowed_before_auth(text: &str) -> bool {
    matches!(
        page_codec::decode(text, StrictMode(false)),
        Ok(CompatInbound::Activity(_))
    )
}

/// Queues the messages that were in the outbox when the page authenticated again: its calls go on.
pub(super) fn queue_pending(socket: &mut PageSocket, outbox: &mut OutboxReceiver) {
    while let Some(SocketCommand::Message(message)) = outbox.try_recv() {
        if matches!(message, BridgeToPage::SessionClosed(_)) {
            return;
        }
        if let Some(text) = page_codec::encode(&message) {
            socket.queue_text(text);
        }
    }
}

/// How many rejected resources of one connection are logged: a page may register without end.
const MAX_LOGGED_REJECTIONS: usize = 32;

/// The longest name or reason in the log, in characters.
const MAX_LOGGED_TEXT_CHARS: usize = 256;

/// The rejected resources of a connection. The protocol has no message for them, so they are logged,
/// each name once.
#[derive(Debug, Default)]
pub(super) struct RejectedResources {
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

impl PageSession {
    pub(super) fn strict_mode(&self) -> StrictMode {
        StrictMode(self.hub.config.compat.is_some())
    }

    /// Applies a message of a page of mcp-web 0.1.
    pub(super) fn on_compat_message(&self, message: CompatInbound) -> Result<(), ConnectionEnd> {
        match message {
            CompatInbound::Message(message) => {
                return self.on_message(message).map_err(ConnectionEnd::Close);
            }
            CompatInbound::Authenticate(hello) => return Err(ConnectionEnd::Reauthenticate(hello)),
            CompatInbound::Activity(at_ms) => self.on_activity(at_ms),
            CompatInbound::ResourceResponse(call, content) => {
                self.on_resource_response(call, content)
            }
            CompatInbound::Unknown(_) => {}
        }
        Ok(())
    }

    fn on_activity(&self, at_ms: Option<u64>) {
        self.hub.apply(self.realm, |realm, now| {
            let at_ms = at_ms.unwrap_or(now.unix_ms);
            realm.user_active(&self.session, self.connection, at_ms);
            ((), Vec::new())
        });
    }

    /// Applies a response to a resource read. It does not name the resource; the call does.
    fn on_resource_response(&self, call: CallId, content: Result<ResourceContent, String>) {
        let uri = self.hub.with_realm(self.realm, |realm| {
            realm
                .call_resource_uri(&self.session, &call)
                .map(str::to_owned)
        });
        let Some(uri) = uri.flatten() else { return };
        let failed = |message| CallFailure::new(ErrorCode::HandlerFailed, message);
        let contents = |content| page_codec::encode_contents(&uri, content);
        let answer = content.map(|content| Answer::Value(contents(content).map(RawJson::Owned)));
        let event = PageEvent::Answered(call, answer.map_err(failed));
        self.apply(event);
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
