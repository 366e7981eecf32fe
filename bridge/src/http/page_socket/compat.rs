//! What is different on the socket of a v1 page.
//!
//! Its silence ends nothing: a page of v1 that was cut comes back late or not at all. The pings go
//! on all the same: they keep idle lines open in proxies, and let TCP notice a peer that is gone.

use std::hash::{DefaultHasher, Hash, Hasher};

use bridge_protocol::{BridgeToPage, CallId, CloseCode, ErrorCode};

use super::{ConnectionEnd, PageSession, PageSocket};
use crate::compat::page_codec;
use crate::compat::page_codec::{BadFrame, CompatInbound, ResourceContent, StrictMode};
use crate::hub::{OutboxReceiver, SocketCommand};
use bridge_json::RawJson;
use bridge_realm::page_messages::{CloseFrame, PageEvent};
use bridge_realm::realm::{Answer, CallFailure};

/// The close that answers a frame which is no message.
pub(super) fn invalid_frame() -> CloseFrame {
    CloseFrame::new(CloseCode::UnsupportedData, BadFrame::REASON)
}

/// Whether this may come before a page of v1 has authenticated.
pub(super) fn is_allowed_before_auth(text: &str) -> bool {
    matches!(
        page_codec::decode(text, StrictMode(false)),
        Ok(CompatInbound::Activity(_))
    )
}

/// Queues what waited for the page when it authenticated again: its calls go on.
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

/// So many refused resources of a connection are in the log: a page may register without end.
const MAX_LOGGED_REFUSALS: usize = 32;

/// Names and reasons are so long there at most.
const MAX_LOGGED_TEXT_CHARS: usize = 256;

/// The resources that a connection was refused. Its page cannot be told, but the log can: of each
/// name once.
#[derive(Debug, Default)]
pub(super) struct RefusedResources {
    /// Hashes of the names: those may be long.
    logged: Vec<u64>,
}

impl RefusedResources {
    /// Logs what a page is to be told, if it is a refusal that is news.
    pub(super) fn log(&mut self, page: &PageSession, message: &BridgeToPage) {
        let Some(refused) = page_codec::resource_rejection(message) else {
            return;
        };
        let uri = refused.name.as_deref().unwrap_or_default();
        if self.is_new(uri) {
            let short = |text: &str| text.chars().take(MAX_LOGGED_TEXT_CHARS).collect::<String>();
            let (uri, why) = (short(uri), short(&refused.message));
            tracing::info!(session = ?page.session, uri, why, "resource refused");
        }
    }

    fn is_new(&mut self, uri: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        uri.hash(&mut hasher);
        let name = hasher.finish();
        let is_news = self.logged.len() < MAX_LOGGED_REFUSALS && !self.logged.contains(&name);
        if is_news {
            self.logged.push(name);
        }
        is_news
    }
}

impl PageSession {
    pub(super) fn strict_mode(&self) -> StrictMode {
        StrictMode(self.hub.config.compat.is_some())
    }

    /// One message of the page.
    pub(super) fn on_compat_message(&self, heard: CompatInbound) -> Result<(), ConnectionEnd> {
        match heard {
            CompatInbound::Message(message) => {
                return self.on_message(message).map_err(ConnectionEnd::Close);
            }
            CompatInbound::Authenticate(hello) => return Err(ConnectionEnd::Reauthenticate(hello)),
            CompatInbound::Activity(at_ms) => self.on_activity(at_ms),
            CompatInbound::ResourceResponse(call, content) => self.on_resource_read(call, content),
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

    /// Its answer does not name the resource: the call does.
    fn on_resource_read(&self, call: CallId, content: Result<ResourceContent, String>) {
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
        self.hub.apply(self.realm, |realm, now| {
            let effects = event.apply(realm, &self.session, self.connection, now);
            ((), effects)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_resources_are_logged_once_and_bounded() {
        let mut refused = RefusedResources::default();
        assert!(refused.is_new("a:b"));
        assert!(!refused.is_new("a:b"));
        let names = (1..2 * MAX_LOGGED_REFUSALS).map(|n| format!("a:{n}"));
        let told = names.filter(|name| refused.is_new(name)).count();
        assert_eq!(told, MAX_LOGGED_REFUSALS - 1);
        assert!(!refused.is_new("another"));
    }
}
