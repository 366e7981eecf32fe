//! The memory of the messages that a page is sending, and of those that are being decoded.

use bridge_protocol::CloseCode;
use bridge_realm::page_messages::CloseFrame;

use super::page_session::PageSession;
use crate::budget::{BudgetExceeded, ByteLease};

/// Fewer bytes than this are not counted.
const MIN_COUNTED_BYTES: usize = 64 * 1024;

/// The lease on the memory of one connection, which exists only while it is needed.
#[derive(Default)]
pub(super) struct MessageMemory(Option<Box<ByteLease>>);

impl MessageMemory {
    /// Sets the number of bytes that the connection uses. If there is no memory for them, it must
    /// be closed with the frame.
    pub(super) fn set_used(&mut self, page: &PageSession, bytes: usize) -> Result<(), CloseFrame> {
        if bytes < MIN_COUNTED_BYTES {
            self.0 = None;
            return Ok(());
        }
        let hub = &page.hub;
        let lease = self
            .0
            .get_or_insert_with(|| Box::new(hub.memory_lease(page.realm)));
        lease.resize_counted(bytes).map_err(no_memory)
    }
}

/// Closes the socket of a page whose messages have no room. The page connects again later, and sends
/// what was not received again. The text is short enough for a close frame.
fn no_memory(exceeded: BudgetExceeded) -> CloseFrame {
    let reason = format!(
        "no memory for this message: its token uses {} bytes and its address {} of {}: send less \
         at once",
        exceeded.of_token, exceeded.of_address, exceeded.max_bytes
    );
    CloseFrame::new(CloseCode::TryAgainLater, reason)
}
