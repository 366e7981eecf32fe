//! Sends a page the subscriptions to its resources.

use bridge_protocol::{BridgeToPage, Subscriptions};

use super::Session;
use crate::realm::{ConnectionId, Effect};

impl Session {
    /// The message with the current subscriptions; `None` if they were already sent to the page.
    pub(in crate::realm) fn subscriptions_update(
        &mut self,
        connection: ConnectionId,
    ) -> Option<Effect> {
        if self.subscribed_uris == self.sent_subscriptions {
            return None;
        }
        self.sent_subscriptions.clone_from(&self.subscribed_uris);
        let uris = self.subscribed_uris.iter().cloned().collect();
        Some(Effect::Send {
            connection,
            message: BridgeToPage::Subscriptions(Subscriptions { uris }),
        })
    }
}
