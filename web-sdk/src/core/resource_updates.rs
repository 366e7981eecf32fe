//! Resources whose content changed, as long as the bridge has not been told.

use super::effect::Effects;
use super::messages::PageToBridge;

/// The most URIs that are remembered without a connection: as many as a bridge lets one client
/// subscribe to unless configured otherwise. Beyond that the oldest are forgotten.
pub(super) const MAX_PENDING: usize = 256;

#[derive(Debug, Default)]
pub(super) struct PendingResourceUpdates {
    uris: Vec<String>,
}

impl PendingResourceUpdates {
    /// The content changed. Several changes of one resource in one task are one.
    pub(super) fn add(&mut self, uri: String, connected: bool) {
        if self.uris.contains(&uri) {
            return;
        }
        self.uris.push(uri);
        if !connected && self.uris.len() > MAX_PENDING {
            self.uris.remove(0);
        }
    }

    pub(super) fn flush<V>(&mut self, effects: &mut Effects<V>) {
        for uri in std::mem::take(&mut self.uris) {
            effects.send(PageToBridge::ResourceUpdated { uri });
        }
    }

    /// Another life of the bridge, where nobody has read anything yet.
    pub(super) fn bridge_changed(&mut self) {
        self.uris.clear();
    }
}
