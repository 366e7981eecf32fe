//! The memory of the messages that a page is sending, of those that are being decoded, and of its
//! definitions.

use bridge_protocol::PageToBridge;
use bridge_realm::page_messages::{CloseFrame, definition_bytes};
use bridge_realm::realm::Realm;

use super::page_session::PageSession;
use super::socket::no_memory_frame;
use crate::budget::{BudgetExceeded, ByteLease};

/// Fewer bytes of messages than this are not counted.
const MIN_COUNTED_MESSAGE_BYTES: usize = 64 * 1024;

/// A lease on memory of a page, which exists only while it is needed.
#[derive(Default)]
struct PageLease(Option<Box<ByteLease>>);

impl PageLease {
    fn resize(&mut self, page: &PageSession, bytes: usize) -> Result<(), BudgetExceeded> {
        let new_lease = || Box::new(page.hub.memory_lease(page.realm));
        let lease = self.0.get_or_insert_with(new_lease);
        let resized = lease.resize_counted(bytes);
        if lease.bytes() == 0 {
            self.0 = None;
        }
        resized
    }
}

/// The lease on the memory of the messages of one connection.
#[derive(Default)]
pub(super) struct MessageMemory(PageLease);

impl MessageMemory {
    /// Sets the number of bytes that the connection uses. If there is no memory for them, it must
    /// be closed with the frame. The page connects again later, and sends what was not received
    /// again.
    pub(super) fn set_used(&mut self, page: &PageSession, bytes: usize) -> Result<(), CloseFrame> {
        if bytes < MIN_COUNTED_MESSAGE_BYTES {
            self.0 = PageLease::default();
            return Ok(());
        }
        self.0
            .resize(page, bytes)
            .map_err(|exceeded| no_memory_frame(&format!("no memory for this message: {exceeded}")))
    }
}

/// The lease on the memory of the definitions of an open page.
#[derive(Default)]
pub(super) struct DefinitionMemory(PageLease);

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
        let bytes = registered_bytes(page) + added;
        self.0.resize(page, bytes).map_err(|exceeded| {
            no_memory_frame(&format!("no memory for these definitions: {exceeded}"))
        })
    }

    /// Gives back what the page has not used: definitions that replace others, or are refused.
    pub(super) fn settle(&mut self, page: &PageSession) {
        if self.0.0.is_some() {
            // Cannot fail, because the lease does not grow.
            let _ = self.0.resize(page, registered_bytes(page));
        }
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
