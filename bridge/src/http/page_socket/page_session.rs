//! An authenticated page: its events go to the realm of its token.

use std::sync::Arc;

use bridge_auth::{Authenticator, RealmId};
use bridge_edge::ClientAddress;
use bridge_protocol::limits::MAX_HAND_OVER_BYTES;
use bridge_protocol::{CallHandOver, CallId, CloseCode, PageToBridge, SessionId};
use bridge_raw_json::JsonSlice;
use bridge_realm::page_messages::{CloseFrame, PageEvent};
use bridge_realm::realm::{
    ConnectionId, Disconnect, Effects, HandOverRequest, HandOverState, ProbeAnswer, Realm,
};

use super::page_protocol::PageProtocol;
use crate::budget::RefusalKind;
use crate::hub::{Hub, SessionIdLease};

/// One connection of an authenticated page.
pub(super) struct PageSession {
    pub(super) hub: Arc<Hub>,
    pub(super) realm: RealmId,
    pub(super) session: SessionId,
    pub(super) protocol: PageProtocol,
    pub(super) connection: ConnectionId,
    pub(super) authenticator: Arc<Authenticator>,
    pub(super) _lease: Option<SessionIdLease>,
}

impl PageSession {
    /// Removes the connection from the realm.
    pub(super) fn on_disconnect(&self, disconnect: Disconnect) {
        self.hub
            .connection_ended(self.realm, &self.session, self.connection, disconnect);
    }

    /// Records that a message of the page was refused, and its connection closed with this code. The
    /// reason of the close frame may quote the message, and is not logged.
    pub(super) fn on_refused_message(&self, code: CloseCode) {
        let kind = match code {
            CloseCode::TryAgainLater => RefusalKind::MaxMemoryBytes,
            _ => RefusalKind::PageMessage,
        };
        let reason = match code {
            CloseCode::TryAgainLater => "there is no memory for a message",
            CloseCode::UnsupportedData => "a message is binary or no JSON",
            CloseCode::MessageTooBig => "a message is too large, or too many are unfinished",
            _ => "the protocol does not allow a message",
        };
        let refusals = &self.hub.budgets.refusals;
        refusals.record(kind, self.address(), "/ws", reason);
    }

    /// The address of the page, or of the realm's first page or client if the session has ended.
    pub(super) fn address(&self) -> ClientAddress {
        let page = |realm: &Realm| realm.page_address(&self.session);
        let address = self.hub.with_realm(self.realm, page).flatten();
        address.map_or_else(|| self.hub.party(self.realm).address, ClientAddress::from)
    }

    /// Records that a part of a message has arrived.
    pub(super) fn on_part(&self) {
        self.hub.apply(self.realm, |realm, now| {
            realm.part_arrived(&self.session, self.connection, now);
            ((), Vec::new())
        });
    }

    /// Everything that had arrived before the ping with this number has been read.
    pub(super) fn on_read_through(&self, probe: u64) {
        self.hub.apply(self.realm, |realm, now| {
            let effects = realm.connection_read(&self.session, self.connection, probe, now);
            ((), effects)
        });
    }

    /// The browser has answered a numbered ping.
    pub(super) fn on_probe_answer(&self, answer: ProbeAnswer) {
        self.hub.apply(self.realm, |realm, now| {
            let effects = realm.probe_answered(&self.session, self.connection, answer, now);
            ((), effects)
        });
    }

    /// Whether the next document of this page waits for what this one has sent.
    pub(super) fn awaits_former_document(&self) -> bool {
        let awaits = self.hub.apply(self.realm, |realm, _| {
            let awaits = realm.awaits_former_document(&self.session, self.connection);
            (awaits, Effects::new())
        });
        awaits.unwrap_or_default()
    }

    /// Applies a message of the page.
    pub(super) fn on_message(&self, message: PageToBridge) -> Result<(), CloseFrame> {
        let event = PageEvent::from_message(message, &self.hub.page_limits, &self.hub.definitions)?;
        self.apply(event);
        Ok(())
    }

    /// Applies a response whose value is as `JSON.stringify` writes it.
    pub(super) fn on_compact_response(&self, call: CallId, value: JsonSlice) {
        let event = PageEvent::from_compact_response(call, value, &self.hub.page_limits);
        self.apply(event);
    }

    /// A handler arms or disarms the hand-over of its call. The state counts in the memory budget
    /// for as long as the realm stores it.
    pub(super) fn on_hand_over(&self, hand_over: CallHandOver) {
        let request = match hand_over.state {
            None => HandOverRequest::Disarm,
            // The realm refuses a state that is too large.
            Some(state) if state.get().len() > MAX_HAND_OVER_BYTES => {
                HandOverRequest::Arm(HandOverState::new(state, None))
            }
            Some(state) => {
                let party = self.hub.party(self.realm);
                match self.hub.budgets.memory.acquire(party, state.get().len()) {
                    Ok(lease) => {
                        HandOverRequest::Arm(HandOverState::new(state, Some(Box::new(lease))))
                    }
                    Err(_) => {
                        self.on_refused_message(CloseCode::TryAgainLater);
                        HandOverRequest::OutOfMemory
                    }
                }
            }
        };
        self.apply(PageEvent::HandOver(hand_over.request_id, request));
    }

    pub(super) fn apply(&self, event: PageEvent) {
        self.hub.apply(self.realm, |realm, now| {
            let effects = event.apply(realm, &self.session, self.connection, now);
            ((), effects)
        });
    }
}
