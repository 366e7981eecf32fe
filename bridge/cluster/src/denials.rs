//! The decisions of an operator that the directory does not have yet.

use std::collections::BTreeMap;

use crate::record::DenialRecord;

/// The decisions about denials of one node that the directory does not have, as far as the node knows.
///
/// A decision is written until the directory sends it back. Whenever the directory may have lost records,
/// which is at the start and while the connection is lost, all denials of the node count as unwritten: so an
/// empty directory gets them again from any node.
#[derive(Debug, Default)]
pub struct UnwrittenDenials {
    by_realm: BTreeMap<[u8; 32], DenialRecord>,
    /// The latest decision about each realm that was received. A write may arrive after a later one.
    latest: BTreeMap<[u8; 32], DenialRecord>,
    /// Whether all records that were in the directory have been received.
    is_connected: bool,
}

impl UnwrittenDenials {
    /// The connection is lost, or was not opened yet, and these are the denials of this node.
    pub fn disconnected(&mut self, own: impl IntoIterator<Item = DenialRecord>) {
        self.is_connected = false;
        for record in own {
            // A decision that was not written is later.
            self.by_realm.entry(record.realm).or_insert(record);
        }
    }

    /// The connection is open, and all records that were in the directory have been received.
    pub fn connected(&mut self) {
        self.is_connected = true;
    }

    /// The operator has decided at this node.
    pub fn decided(&mut self, record: DenialRecord) {
        let latest = self.latest.get(&record.realm);
        if latest.is_some_and(|latest| latest.version > record.version) {
            return;
        }
        self.by_realm.insert(record.realm, record);
    }

    /// The directory has sent a record. Returns whether it is in force, which it is not if a later decision
    /// is known. That one is written again then. `is_current` is whether the record is signed as this node signs.
    pub fn received(&mut self, record: DenialRecord, is_current: bool) -> bool {
        let own = self.by_realm.get(&record.realm);
        if own.is_some_and(|own| own.version > record.version) {
            return false;
        }
        if let Some(latest) = self.latest.get(&record.realm)
            && latest.version > record.version
        {
            self.by_realm.insert(record.realm, *latest);
            return false;
        }
        self.latest.insert(record.realm, record);
        if self.is_connected || is_current {
            self.by_realm.remove(&record.realm);
        } else {
            // Written again with the present secret, before the former one is not accepted any more. Only
            // at the start: two nodes with different secrets would overwrite each other forever.
            self.by_realm.insert(record.realm, record);
        }
        true
    }

    /// Whether decisions can be written.
    pub fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// Returns what has to be written now.
    pub fn to_write(&self) -> Vec<DenialRecord> {
        let records = self.by_realm.values().copied();
        records.filter(|_| self.is_connected).collect()
    }

    /// Whether a decision still has to be written.
    pub fn contains(&self, record: &DenialRecord) -> bool {
        self.by_realm.get(&record.realm) == Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(version: u64, until: u64) -> DenialRecord {
        DenialRecord {
            realm: [1; 32],
            version,
            until,
        }
    }

    #[test]
    fn a_decision_is_written_until_the_directory_sends_it_back() {
        let mut unwritten = UnwrittenDenials::default();
        unwritten.disconnected([]);
        unwritten.decided(record(1, 100));
        assert_eq!(unwritten.to_write(), []);
        unwritten.connected();
        assert_eq!(unwritten.to_write(), [record(1, 100)]);
        assert!(unwritten.received(record(1, 100), true));
        assert_eq!(unwritten.to_write(), []);
    }

    #[test]
    fn the_later_of_two_decisions_counts() {
        let mut unwritten = UnwrittenDenials::default();
        unwritten.connected();
        unwritten.decided(record(2, 100));
        assert!(!unwritten.received(record(1, 0), true));
        assert_eq!(unwritten.to_write(), [record(2, 100)]);
        assert!(unwritten.received(record(3, 0), true));
        assert_eq!(unwritten.to_write(), []);
        assert!(unwritten.received(record(4, 200), true));
    }

    #[test]
    fn a_write_that_arrives_after_a_later_one_changes_nothing() {
        let mut unwritten = UnwrittenDenials::default();
        unwritten.connected();
        assert!(unwritten.received(record(6, 0), true));
        assert!(!unwritten.received(record(5, 100), true));
        assert_eq!(unwritten.to_write(), [record(6, 0)]);
        assert!(unwritten.received(record(6, 0), true));
        unwritten.decided(record(4, 200));
        assert_eq!(unwritten.to_write(), []);
    }

    #[test]
    fn what_the_directory_has_lost_is_written_again() {
        let mut unwritten = UnwrittenDenials::default();
        let other = DenialRecord {
            realm: [2; 32],
            ..record(5, 100)
        };
        unwritten.disconnected([record(1, 100), other]);
        assert!(unwritten.received(other, true));
        unwritten.connected();
        assert_eq!(unwritten.to_write(), [record(1, 100)]);
    }

    #[test]
    fn a_denial_that_was_ended_while_a_node_was_away_is_not_written_again() {
        let mut unwritten = UnwrittenDenials::default();
        unwritten.disconnected([record(1, 100)]);
        assert!(unwritten.received(record(2, 0), true));
        unwritten.connected();
        assert_eq!(unwritten.to_write(), []);
    }

    #[test]
    fn a_decision_while_the_connection_is_lost_replaces_the_denial() {
        let mut unwritten = UnwrittenDenials::default();
        unwritten.connected();
        unwritten.disconnected([record(1, 100)]);
        unwritten.decided(record(2, 0));
        assert!(!unwritten.received(record(1, 100), true));
        unwritten.disconnected([]);
        unwritten.connected();
        assert_eq!(unwritten.to_write(), [record(2, 0)]);
    }

    #[test]
    fn a_record_of_a_former_secret_is_written_again_once() {
        let mut unwritten = UnwrittenDenials::default();
        assert!(unwritten.received(record(1, 100), false));
        unwritten.connected();
        assert_eq!(unwritten.to_write(), [record(1, 100)]);
        assert!(unwritten.received(record(1, 100), true));
        // Of a node that still signs with the former secret.
        assert!(unwritten.received(record(1, 100), false));
        assert_eq!(unwritten.to_write(), []);
    }
}
