//! Differences of the socket of a page of mcp-web 0.1.
//!
//! A silent page is not disconnected, because such a page reconnects late or not at all. It still
//! receives pings: they keep idle connections open in proxies, and let TCP notice that the peer is
//! gone.

use bridge_compat::page_codec::{self, ResourceText};
use bridge_protocol::{BridgeToPage, CallId, ErrorCode};
use bridge_raw_json::RawJson;
use bridge_realm::page_messages::PageEvent;
use bridge_realm::realm::{CallFailure, PageAnswer};

use super::page_session::PageSession;
use super::socket::PageSocket;
use crate::hub::{OutboxReceiver, SocketCommand};

/// Queues the messages that were in the outbox when the page authenticated again: its calls continue.
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

impl PageSession {
    /// Records that the user of a page of mcp-web 0.1 was active.
    pub(super) fn on_activity(&self, at_ms: Option<u64>) {
        self.hub.apply(self.realm, |realm, now| {
            let at_ms = at_ms.unwrap_or(now.unix_ms);
            realm.user_active(&self.session, self.connection, at_ms);
            ((), Vec::new())
        });
    }

    /// Applies a response to a resource read. It does not name the resource; the call does.
    pub(super) fn on_resource_response(&self, call: CallId, content: Result<ResourceText, String>) {
        let uri = self.hub.with_realm(self.realm, |realm| {
            realm
                .call_resource_uri(&self.session, &call)
                .map(str::to_owned)
        });
        let Some(uri) = uri.flatten() else { return };
        let failed = |message| CallFailure::new(ErrorCode::HandlerFailed, message);
        let contents = |content| page_codec::encode_contents(&uri, content);
        let answer =
            content.map(|content| PageAnswer::Value(contents(content).map(RawJson::Owned)));
        let event = PageEvent::Answered(call, answer.map_err(failed));
        self.apply(event);
    }
}
