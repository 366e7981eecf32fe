//! Changes of resources that have not been sent to the bridge.

use super::effect::Effects;
use super::messages::PageToBridge;

/// The maximum number of URIs that are stored without a connection; the oldest are dropped first.
/// It is the bridge's default limit of subscriptions per client.
pub(super) const MAX_PENDING: usize = 256;

/// The URIs of resources whose content changed since the last flush.
#[derive(Debug, Default)]
pub(super) struct PendingResourceUpdates {
    uris: Vec<String>,
}

impl PendingResourceUpdates {
    /// Adds a resource whose content changed. Several changes of one resource in one task are sent
    /// once.
    pub(super) fn add(&mut self, uri: String, connected: bool) {
        if self.uris.contains(&uri) {
            return;
        }
        self.uris.push(uri);
        if !connected && self.uris.len() > MAX_PENDING {
            self.uris.remove(0);
        }
    }

    pub(super) fn flush<J>(&mut self, effects: &mut Effects<J>) {
        for uri in std::mem::take(&mut self.uris) {
            effects.send(PageToBridge::ResourceUpdated { uri });
        }
    }

    /// The bridge was restarted, and no client of it has read the resources.
    pub(super) fn bridge_changed(&mut self) {
        self.uris.clear();
    }
}
