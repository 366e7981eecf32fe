//! The memory of the definitions of an open page.

use bridge_protocol::{CloseCode, PageToBridge};
use bridge_realm::page_messages::{CloseFrame, definition_bytes};
use bridge_realm::realm::Realm;

use super::page_session::PageSession;
use crate::budget::ByteLease;

/// The lease on the memory of a page's definitions, which exists once it has registered many.
#[derive(Default)]
pub(super) struct DefinitionMemory(Option<Box<ByteLease>>);

impl DefinitionMemory {
    /// Makes room for the definitions in a message, if it has any, beside those of the page. If there
    /// is no memory for them, the connection must be closed with the frame.
    pub(super) fn reserve(
        &mut self,
        page: &PageSession,
        message: &PageToBridge,
    ) -> Result<(), CloseFrame> {
        let added = definition_bytes(message);
        if added == 0 {
            return Ok(());
        }
        self.resize(page, registered_bytes(page) + added)
    }

    /// Gives back what the page has not used: definitions that replace others, or are refused.
    pub(super) fn settle(&mut self, page: &PageSession) {
        if self.0.is_some() {
            // Cannot fail, because the lease does not grow.
            let _ = self.resize(page, registered_bytes(page));
        }
    }

    fn resize(&mut self, page: &PageSession, bytes: usize) -> Result<(), CloseFrame> {
        let hub = &page.hub;
        let lease = self
            .0
            .get_or_insert_with(|| Box::new(hub.memory_lease(page.realm)));
        let resized = lease.resize_counted(bytes);
        if lease.is_empty() {
            self.0 = None;
        }
        resized.map_err(|exceeded| {
            let reason = format!(
                "no memory for these definitions: the token uses {} of {} bytes, its address {}",
                exceeded.of_token, exceeded.max_bytes, exceeded.of_address
            );
            CloseFrame::new(CloseCode::TryAgainLater, reason)
        })
    }
}

/// The size of the definitions that the page has registered, in bytes.
fn registered_bytes(page: &PageSession) -> usize {
    let read = |realm: &Realm| {
        let session = realm.session(&page.session);
        session.map_or(0, |(_, session)| session.definition_bytes())
    };
    page.hub.with_realm(page.realm, read).unwrap_or(0)
}
