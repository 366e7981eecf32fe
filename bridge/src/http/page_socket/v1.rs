//! What is different on the socket of a v1 page.
//!
//! Its silence ends nothing: a page of v1 that was cut comes back late or not at all. The pings go
//! on all the same: they keep idle lines open in proxies, and let TCP notice a peer that is gone.

use bridge_protocol::{BridgeToPage, CallId, CloseCode, ErrorCode};

use super::{End, Page, Socket};
use crate::hub::{Outbox, Outgoing};
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
pub(super) fn queue_rest(socket: &mut Socket, mut outbox: Outbox) {
    while let Some(Outgoing::Message(message)) = outbox.waiting() {
        if matches!(message, BridgeToPage::SessionClosed(_)) {
            return;
        }
        if let Some(text) = page::encode(&message) {
            socket.queue_text(text);
        }
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
        let answer = content.map(|content| Answer::Value(contents(content)));
        let event = PageEvent::Answered(call, answer.map_err(failed));
        self.hub.change(self.realm, |realm, now| {
            let effects = event.happen(realm, &self.session, self.connection, now);
            ((), effects)
        });
    }
}
