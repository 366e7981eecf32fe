//! The denials that a node sends to the others, and receives from them.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bridge_auth::RealmId;
use bridge_cluster::{DenialRecord, UnwrittenDenials};
use tokio::sync::Notify;

use crate::hub::Hub;

/// The denials that this node sends to the others, and receives from them.
#[derive(Debug, Default)]
pub(super) struct DenialExchange {
    unwritten: Mutex<UnwrittenDenials>,
    /// Notified when denials can be written.
    pub(super) writable: Notify,
    /// The realms about which other nodes have decided, until the bridge has applied that.
    changed: Mutex<BTreeSet<RealmId>>,
    /// Notified when there are such realms.
    pub(super) received: Notify,
}

impl DenialExchange {
    /// Starts with the denials that the bridge has loaded.
    pub(super) fn new(hub: &Hub) -> Self {
        let this = Self::default();
        this.unwritten().disconnected(own_denials(hub));
        this
    }

    pub(super) fn unwritten(&self) -> MutexGuard<'_, UnwrittenDenials> {
        self.unwritten
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn changed(&self) -> MutexGuard<'_, BTreeSet<RealmId>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All denials that were in the directory have been received.
    pub(super) fn connected(&self) {
        self.unwritten().connected();
        self.writable.notify_one();
    }
}

/// The denials that are in force at this node.
pub(super) fn own_denials(hub: &Hub) -> impl Iterator<Item = DenialRecord> {
    let denials = hub.denied.denials().into_iter();
    denials.map(|(realm, denial)| DenialRecord {
        realm: *realm.as_bytes(),
        version: denial.version,
        until: denial.until,
    })
}
