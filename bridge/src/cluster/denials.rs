//! Denials of the operator: what is decided at one node reaches all others through the directory.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bridge_auth::{Denial, RealmId};
use bridge_cluster::{DenialKey, DenialRecord};
use tokio::time::timeout;

use super::denial_exchange::own_denials;
use super::node::ClusterNode;

/// How long until denials are written again that the directory has not sent back.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

impl ClusterNode {
    /// Publishes what the operator has decided about a realm at this node: to deny access until a time in
    /// seconds since the Unix epoch, or 0 to allow it again. Returns whether the directory has it. If not, it
    /// is written as soon as that is possible.
    pub(crate) async fn publish_denial(&self, realm: RealmId, version: u64, until: u64) -> bool {
        let record = DenialRecord {
            realm: *realm.as_bytes(),
            version,
            until,
        };
        let is_connected = {
            let mut unwritten = self.denials.unwritten();
            unwritten.decided(record);
            unwritten.is_connected()
        };
        is_connected && self.write_denial(&record).await
    }

    /// Waits until other nodes have denied principals or allowed them again, and returns their realms. The
    /// list of the hub has these decisions already.
    pub(crate) async fn changed_denials(&self) -> BTreeSet<RealmId> {
        loop {
            let changed = std::mem::take(&mut *self.denials.changed());
            if !changed.is_empty() {
                return changed;
            }
            self.denials.received.notified().await;
        }
    }

    /// The directory has sent a denial.
    pub(super) fn on_denial_written(&self, key: DenialKey, text: &str) {
        let record = match DenialRecord::decode(text, &self.keys, &key) {
            Ok(record) => record,
            Err(error) => return self.report_record(error),
        };
        let is_current = record.encode(&self.keys) == text;
        let is_applied = self.denials.unwritten().received(record, is_current);
        let Some(hub) = self.hub.upgrade().filter(|_| is_applied) else {
            return;
        };
        let realm = RealmId::from_bytes(record.realm);
        let denial = Denial {
            version: record.version,
            until: record.until,
            subject: None,
            reason: None,
        };
        match hub.denied.replace(realm, denial) {
            Ok(true) => {
                self.denials.changed().insert(realm);
                self.denials.received.notify_one();
            }
            Ok(false) => {}
            Err(full) => tracing::error!("a denial of another bridge is not in force here: {full}"),
        }
    }

    /// The connection to the directory was lost, which may lose its records.
    pub(super) fn expect_denials(&self) {
        if let Some(hub) = self.hub.upgrade() {
            self.denials.unwritten().disconnected(own_denials(&hub));
        }
    }

    async fn write_denial(&self, record: &DenialRecord) -> bool {
        let key = self.keys.denial_key(&record.realm);
        let written = self.directory.deny(&key, record.encode(&self.keys)).await;
        written.is_ok()
    }

    /// Writes what the directory does not have.
    async fn write_denials(&self) {
        let records = self.denials.unwritten().to_write();
        for record in records {
            // Another node may have written the same one meanwhile.
            let is_written = !self.denials.unwritten().contains(&record);
            if !is_written && !self.write_denial(&record).await {
                return;
            }
        }
    }
}

/// Writes the denials of this node until the bridge stops.
pub(super) async fn run(cluster: Arc<ClusterNode>) {
    loop {
        cluster.write_denials().await;
        // The end of the time is the reason to look again.
        let _ = timeout(RETRY_INTERVAL, cluster.denials.writable.notified()).await;
    }
}
