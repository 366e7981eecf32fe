//! What is different on the socket of a v1 page.
//!
//! Its silence ends nothing: a page of v1 that was cut comes back late or not at all. The pings go
//! on all the same: they keep idle lines open in proxies, and let TCP notice a peer that is gone.

use std::hash::{DefaultHasher, Hash, Hasher};

use bridge_protocol::{BridgeToPage, CallId, CloseCode, ErrorCode};

use super::{End, Page, Socket};
use crate::hub::{Outbox, Outgoing};
use crate::json::Json;
use crate::page_wire::{Closing, PageEvent};
use crate::realm::{Answer, Failure};
use crate::v1::page::{self, BadFrame, Content, Heard, Strict};

/// The close that answers a frame which is no message.
pub(super) fn bad_frame() -> Closing {
    Closing::new(CloseCode::UnsupportedData, BadFrame::REASON)
}

/// Whether this may come before a page of v1 has authenticated.
pub(super) fn may_come_first(text: &str) -> bool {
    matches!(page::decode(text, Strict(false)), Ok(Heard::Active(_)))
}

/// Queues what waited for the page when it authenticated again: its calls go on.
pub(super) fn queue_rest(socket: &mut Socket, outbox: &mut Outbox) {
    while let Some(Outgoing::Message(message)) = outbox.waiting() {
        if matches!(message, BridgeToPage::SessionClosed(_)) {
            return;
        }
        if let Some(text) = page::encode(&message) {
            socket.queue_text(text);
        }
    }
}

/// So many refused resources of a connection are in the log: a page may register without end.
const REFUSED_TOLD: usize = 32;

/// Names and reasons are so long there at most.
const TOLD_CHARS: usize = 256;

/// The resources that a connection was refused. Its page cannot be told, but the log can: of each
/// name once.
#[derive(Debug, Default)]
pub(super) struct Refused {
    /// Hashes of the names: those may be long.
    told: Vec<u64>,
}

impl Refused {
    /// Logs what a page is to be told, if it is a refusal that is news.
    pub(super) fn log(&mut self, page: &Page, message: &BridgeToPage) {
        let Some(refused) = page::refused_resource(message) else {
            return;
        };
        let uri = refused.name.as_deref().unwrap_or_default();
        if self.is_news(uri) {
            let short = |text: &str| text.chars().take(TOLD_CHARS).collect::<String>();
            let (uri, why) = (short(uri), short(&refused.message));
            tracing::info!(session = ?page.session, uri, why, "resource refused");
        }
    }

    fn is_news(&mut self, uri: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        uri.hash(&mut hasher);
        let name = hasher.finish();
        let is_news = self.told.len() < REFUSED_TOLD && !self.told.contains(&name);
        if is_news {
            self.told.push(name);
        }
        is_news
    }
}

impl Page {
    pub(super) fn strict(&self) -> Strict {
        Strict(self.hub.config.compat.is_some())
    }

    /// One message of the page.
    pub(super) fn heard_v1(&self, heard: Heard) -> Result<(), End> {
        match heard {
            Heard::Said(message) => return self.heard(message).map_err(End::Closing),
            Heard::Authenticates(hello) => return Err(End::Again(hello)),
            Heard::Active(at_ms) => self.active(at_ms),
            Heard::Read(call, content) => self.has_read(call, content),
            Heard::Unknown(_) => {}
        }
        Ok(())
    }

    fn active(&self, at_ms: Option<u64>) {
        self.hub.change(self.realm, |realm, now| {
            let at_ms = at_ms.unwrap_or(now.unix_ms);
            realm.page_active(&self.session, self.connection, at_ms);
            ((), Vec::new())
        });
    }

    /// Its answer does not name the resource: the call does.
    fn has_read(&self, call: CallId, content: Result<Content, String>) {
        let uri = self.hub.read(self.realm, |realm| {
            realm.uri_of(&self.session, &call).map(str::to_owned)
        });
        let Some(uri) = uri.flatten() else { return };
        let failed = |message| Failure::new(ErrorCode::HandlerFailed, message);
        let contents = |content| page::contents(&uri, content);
        let answer = content.map(|content| Answer::Value(contents(content).map(Json::Own)));
        let event = PageEvent::Answered(call, answer.map_err(failed));
        self.hub.change(self.realm, |realm, now| {
            let effects = event.happen(realm, &self.session, self.connection, now);
            ((), effects)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_resource_is_told_once_and_of_many_the_first_few() {
        let mut refused = Refused::default();
        assert!(refused.is_news("a:b"));
        assert!(!refused.is_news("a:b"));
        let names = (1..2 * REFUSED_TOLD).map(|n| format!("a:{n}"));
        let told = names.filter(|name| refused.is_news(name)).count();
        assert_eq!(told, REFUSED_TOLD - 1);
        assert!(!refused.is_news("another"));
    }
}
