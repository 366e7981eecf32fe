//! Which results are stored, for which owner and until when: plain state, without a clock.
//!
//! The number of calls and results and their bytes are limited per owner, and the bytes of all
//! results together. When a limit of an owner is exceeded, its oldest result is evicted. When the
//! limit of all is exceeded, the oldest result of the largest owner at the largest address is
//! evicted. A running call is never evicted.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::Hash;
use std::time::{Duration, Instant};

use bridge_edge::ClientAddress;
use bridge_realm::definition::reserved::RESULT_URI_PREFIX;
use indexmap::IndexMap;

use crate::budget::{Holdings, Party};

/// The id of a stored result. It cannot be guessed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ResultHandle(String);

impl ResultHandle {
    /// The URI of the resource with the stored result.
    pub(crate) fn uri(&self) -> String {
        format!("{RESULT_URI_PREFIX}{self}")
    }

    /// A new handle with 122 random bits.
    pub(crate) fn random() -> Self {
        Self(uuid::Uuid::new_v4().simple().to_string())
    }

    /// A handle as a client sent it.
    pub(crate) fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The first 64 bytes, for error messages: clients can send a handle of any length.
    pub(crate) fn excerpt(&self) -> &str {
        let end = self.0.floor_char_boundary(64);
        &self.0[..end]
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ResultHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::borrow::Borrow<str> for ResultHandle {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// How much is stored, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetentionLimits {
    /// The maximum number of calls and results of one owner.
    pub(crate) per_owner: usize,
    /// The maximum bytes of all results together.
    pub(crate) bytes: usize,
    pub(crate) ttl: Duration,
}

/// An owner may store this fraction of the bytes of all results.
const OWNER_BYTES_DIVISOR: usize = 2;

impl RetentionLimits {
    /// The maximum bytes of the results of one owner.
    pub(crate) fn bytes_per_owner(&self) -> usize {
        (self.bytes / OWNER_BYTES_DIVISOR).max(1)
    }
}

/// Why a result is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreFull {
    /// The owner has as many running calls as it may store.
    TooMany,
    /// The result alone is larger than all results of its owner may be.
    TooLarge,
}

/// The stored calls and results of each owner.
#[derive(Debug)]
pub(super) struct RetentionState<Owner, T> {
    limits: RetentionLimits,
    owners: HashMap<Owner, IndexMap<ResultHandle, Entry<T>>>,
    /// The results in the order in which they completed. The first one is the oldest and expires
    /// first.
    completed: BTreeMap<u64, (Owner, ResultHandle)>,
    completions: u64,
    /// The bytes of the results of each owner.
    holdings: Holdings<Owner>,
}

#[derive(Debug)]
struct Entry<T> {
    value: T,
    /// The address that the bytes of the result count for.
    address: ClientAddress,
    completed: Option<CompletedEntry>,
}

#[derive(Debug)]
struct CompletedEntry {
    sequence: u64,
    bytes: usize,
    expires_at: Instant,
}

impl<Owner: Copy + Ord + Hash, T> RetentionState<Owner, T> {
    pub(super) fn new(limits: RetentionLimits) -> Self {
        Self {
            limits,
            owners: HashMap::new(),
            completed: BTreeMap::new(),
            completions: 0,
            holdings: Holdings::default(),
        }
    }

    /// Adds a call that runs in the background. The member of the party is its owner.
    pub(super) fn insert_pending(
        &mut self,
        party: Party<Owner>,
        handle: ResultHandle,
        value: T,
        now: Instant,
    ) -> Result<(), StoreFull> {
        self.expire(now);
        self.evict_for_owner(party.member)?;
        let entry = Entry {
            value,
            address: party.address,
            completed: None,
        };
        let entries = self.owners.entry(party.member).or_default();
        entries.insert(handle, entry);
        Ok(())
    }

    /// Records that a call has ended with a result of this size, which is within the limit of an
    /// owner.
    pub(super) fn complete(
        &mut self,
        owner: Owner,
        handle: &ResultHandle,
        bytes: usize,
        now: Instant,
    ) {
        self.expire(now);
        let entries = self.owners.get(&owner);
        let Some(entry) = entries.and_then(|entries| entries.get(handle)) else {
            return;
        };
        let party = Party::new(entry.address, owner);
        self.evict_for_bytes(&party, bytes);
        self.completions += 1;
        let entries = self.owners.get_mut(&owner);
        let Some(entry) = entries.and_then(|entries| entries.get_mut(handle)) else {
            return;
        };
        entry.completed = Some(CompletedEntry {
            sequence: self.completions,
            bytes,
            expires_at: now + self.limits.ttl,
        });
        self.completed
            .insert(self.completions, (owner, handle.clone()));
    }

    /// Adds the result of a call that has already ended.
    pub(super) fn insert(
        &mut self,
        party: Party<Owner>,
        handle: ResultHandle,
        value: T,
        bytes: usize,
        now: Instant,
    ) -> Result<(), StoreFull> {
        if bytes > self.limits.bytes_per_owner() {
            return Err(StoreFull::TooLarge);
        }
        self.insert_pending(party, handle.clone(), value, now)?;
        self.complete(party.member, &handle, bytes, now);
        Ok(())
    }

    /// Finds an entry of an owner, after expired results were removed.
    pub(super) fn find(&mut self, owner: Owner, handle: &str, now: Instant) -> Option<&T> {
        self.expire(now);
        let entry = self.owners.get(&owner)?.get(handle)?;
        Some(&entry.value)
    }

    /// Whether an owner has entries.
    pub(super) fn has_owner(&self, owner: &Owner) -> bool {
        self.owners.contains_key(owner)
    }

    /// Removes all entries of an owner, also of calls that are running.
    pub(super) fn remove_owner(&mut self, owner: Owner) {
        let entries = self.owners.remove(&owner).unwrap_or_default();
        for entry in entries.into_values() {
            if let Some(completed) = entry.completed {
                self.completed.remove(&completed.sequence);
                let party = Party::new(entry.address, owner);
                self.holdings.remove(&party, completed.bytes);
            }
        }
    }

    /// The bytes of all results.
    pub(super) fn bytes(&self) -> usize {
        self.holdings.total()
    }

    /// When the next result expires.
    pub(super) fn next_expiry(&self) -> Option<Instant> {
        let (owner, handle) = self.completed.values().next()?;
        let completed = self.owners.get(owner)?.get(handle)?.completed.as_ref()?;
        Some(completed.expires_at)
    }

    /// Removes expired results.
    pub(super) fn expire(&mut self, now: Instant) {
        while self.next_expiry().is_some_and(|expires| expires <= now) {
            self.evict_oldest();
        }
    }

    /// Makes room for one more entry of an owner.
    fn evict_for_owner(&mut self, owner: Owner) -> Result<(), StoreFull> {
        let entries = self.owners.get(&owner);
        if entries.map_or(0, IndexMap::len) < self.limits.per_owner {
            return Ok(());
        }
        let completed = entries.into_iter().flat_map(IndexMap::values);
        let oldest = completed.filter_map(|entry| Some(entry.completed.as_ref()?.sequence));
        let oldest = oldest.min().ok_or(StoreFull::TooMany)?;
        self.evict(oldest);
        Ok(())
    }

    /// Adds the bytes of a result to those of its party, and evicts results until all limits are
    /// met again.
    fn evict_for_bytes(&mut self, party: &Party<Owner>, bytes: usize) {
        let max_bytes = self.limits.bytes_per_owner();
        while self.bytes_of(party.member) + bytes > max_bytes
            && let Some(oldest) = self.oldest_of(party.member, None)
        {
            self.evict(oldest);
        }
        self.holdings.add(party, bytes);
        let oldest = |state: &Self| {
            let oldest_of = |party: Party<_>| state.oldest_of(party.member, Some(party.address));
            state.holdings.find_over(state.limits.bytes, oldest_of)
        };
        while let Some(sequence) = oldest(self) {
            self.evict(sequence);
        }
    }

    /// The bytes of the results of an owner.
    fn bytes_of(&self, owner: Owner) -> usize {
        let entries = self.owners.get(&owner).into_iter();
        let completed = entries.flat_map(IndexMap::values);
        let completed = completed.filter_map(|entry| entry.completed.as_ref());
        completed.map(|completed| completed.bytes).sum()
    }

    /// The oldest result of an owner that has any bytes, of those that count for this address.
    fn oldest_of(&self, owner: Owner, address: Option<ClientAddress>) -> Option<u64> {
        let entries = self.owners.get(&owner)?.values();
        let entries = entries.filter(|entry| address.is_none_or(|it| it == entry.address));
        let completed = entries.filter_map(|entry| entry.completed.as_ref());
        let completed = completed.filter(|completed| completed.bytes > 0);
        completed.map(|completed| completed.sequence).min()
    }

    fn evict_oldest(&mut self) {
        if let Some(sequence) = self.completed.keys().next().copied() {
            self.evict(sequence);
        }
    }

    fn evict(&mut self, sequence: u64) {
        let Some((owner, handle)) = self.completed.remove(&sequence) else {
            return;
        };
        let Some(entries) = self.owners.get_mut(&owner) else {
            return;
        };
        let dropped = entries.shift_remove(&handle);
        if entries.is_empty() {
            self.owners.remove(&owner);
        }
        if let Some(entry) = dropped {
            let bytes = entry.completed.map_or(0, |completed| completed.bytes);
            let party = Party::new(entry.address, owner);
            self.holdings.remove(&party, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: u8 = 1;
    const TWO: u8 = 2;

    /// An owner at its own address.
    fn party(owner: u8) -> Party<u8> {
        party_at(owner, owner)
    }

    fn party_at(address: u8, owner: u8) -> Party<u8> {
        Party::new(std::net::IpAddr::from([192, 0, 2, address]).into(), owner)
    }

    impl<T> RetentionState<u8, T> {
        fn check_invariants(&self) {
            let (mut listed, mut bytes) = (0, 0);
            for (owner, entries) in &self.owners {
                assert!(!entries.is_empty() && entries.len() <= self.limits.per_owner);
                for (handle, entry) in entries {
                    let Some(completed) = &entry.completed else {
                        continue;
                    };
                    listed += 1;
                    bytes += completed.bytes;
                    assert_eq!(
                        self.completed[&completed.sequence],
                        (*owner, handle.clone())
                    );
                }
            }
            assert_eq!(listed, self.completed.len());
            assert_eq!(bytes, self.holdings.total());
            assert!(bytes <= self.limits.bytes);
        }
    }

    fn handle(name: &str) -> ResultHandle {
        ResultHandle(name.to_owned())
    }

    fn retention_state(per_owner: usize, bytes: usize) -> (RetentionState<u8, ()>, Instant) {
        let ttl = Duration::from_secs(60);
        let limits = RetentionLimits {
            per_owner,
            bytes,
            ttl,
        };
        (RetentionState::new(limits), Instant::now())
    }

    #[test]
    fn the_oldest_result_of_an_owner_is_evicted_and_pending_calls_are_not() {
        let (mut retention, now) = retention_state(2, 100);
        retention
            .insert_pending(party(ONE), handle("call"), (), now)
            .unwrap();
        retention
            .insert(party(ONE), handle("old"), (), 1, now)
            .unwrap();
        retention
            .insert(party(TWO), handle("other"), (), 1, now)
            .unwrap();
        retention
            .insert(party(ONE), handle("new"), (), 1, now)
            .unwrap();
        retention.check_invariants();
        let found = ["call", "old", "new"].map(|name| retention.find(ONE, name, now).is_some());
        assert_eq!(found, [true, false, true]);
        retention
            .insert_pending(party(ONE), handle("second"), (), now)
            .unwrap();
        assert_eq!(
            retention.insert_pending(party(ONE), handle("third"), (), now),
            Err(StoreFull::TooMany)
        );
        retention.complete(ONE, &handle("call"), 1, now);
        retention
            .insert_pending(party(ONE), handle("third"), (), now)
            .unwrap();
        retention.check_invariants();
        assert!(retention.find(ONE, "call", now).is_none());
    }

    #[test]
    fn the_entries_of_an_owner_are_removed_together() {
        let (mut retention, now) = retention_state(10, 100);
        for (owner, name) in [(ONE, "a"), (TWO, "b"), (ONE, "c")] {
            let inserted = retention.insert(party(owner), handle(name), (), 5, now);
            inserted.unwrap();
        }
        let inserted = retention.insert_pending(party(ONE), handle("call"), (), now);
        inserted.unwrap();
        retention.remove_owner(ONE);
        retention.check_invariants();
        assert_eq!(retention.bytes(), 5);
        // The call ends later.
        retention.complete(ONE, &handle("call"), 5, now);
        retention.check_invariants();
        let found = [(ONE, "a"), (TWO, "b"), (ONE, "call")];
        let found = found.map(|(owner, name)| retention.find(owner, name, now).is_some());
        assert_eq!(found, [false, true, false]);
    }

    #[test]
    fn the_oldest_results_of_the_owner_with_the_most_bytes_are_evicted() {
        let (mut retention, now) = retention_state(10, 100);
        retention
            .insert(party(ONE), handle("a"), (), 20, now)
            .unwrap();
        for name in ["b", "c", "d", "e", "f"] {
            retention
                .insert(party(TWO), handle(name), (), 25, now)
                .unwrap();
            retention.check_invariants();
        }
        let mut there = |owner, name| retention.find(owner, name, now).is_some();
        assert!(there(ONE, "a"), "another owner has more");
        let found = ["b", "c", "d", "e", "f"].map(|name| there(TWO, name));
        assert_eq!(found, [false, false, false, true, true]);
        let huge = retention.insert(party(ONE), handle("g"), (), 51, now);
        assert_eq!(huge, Err(StoreFull::TooLarge));
        retention.check_invariants();
    }

    #[test]
    fn many_owners_of_one_address_do_not_displace_the_results_of_another() {
        let (mut retention, now) = retention_state(10, 100);
        retention
            .insert(party_at(1, ONE), handle("a"), (), 30, now)
            .unwrap();
        for owner in 10..40 {
            let name = owner.to_string();
            retention
                .insert(party_at(2, owner), handle(&name), (), 10, now)
                .unwrap();
            retention.check_invariants();
        }
        assert!(retention.find(ONE, "a", now).is_some());
        let stored = (10..40).filter(|owner| retention.owners.contains_key(owner));
        assert_eq!(stored.count(), 7);
        assert!(retention.find(39, "39", now).is_some(), "the newest");
        // An owner whose only result is the largest one also keeps it.
        retention
            .insert(party_at(3, TWO), handle("b"), (), 50, now)
            .unwrap();
        retention.check_invariants();
        assert!(retention.find(TWO, "b", now).is_some());
        assert!(retention.find(ONE, "a", now).is_some());
    }

    #[test]
    fn results_expire_and_pending_calls_do_not() {
        let (mut retention, now) = retention_state(10, 100);
        retention
            .insert_pending(party(ONE), handle("call"), (), now)
            .unwrap();
        assert_eq!(retention.next_expiry(), None);
        retention
            .insert(party(ONE), handle("a"), (), 1, now)
            .unwrap();
        let minute = Duration::from_secs(60);
        assert_eq!(retention.next_expiry(), Some(now + minute));
        let just = now + minute - Duration::from_millis(1);
        assert!(retention.find(ONE, "a", just).is_some());
        assert!(retention.find(ONE, "a", now + minute).is_none());
        assert!(retention.find(ONE, "call", now + 100 * minute).is_some());
        retention.complete(ONE, &handle("call"), 1, now + minute);
        retention.check_invariants();
        assert_eq!(retention.next_expiry(), Some(now + 2 * minute));
        retention.expire(now + 2 * minute);
        assert!(retention.owners.is_empty());
    }

    #[test]
    fn results_are_visible_to_their_owner_only() {
        let (mut retention, now) = retention_state(10, 100);
        retention
            .insert(party(ONE), handle("a"), (), 1, now)
            .unwrap();
        assert!(retention.find(TWO, "a", now).is_none());
        assert!(retention.find(ONE, "a", now).is_some());
        assert_ne!(ResultHandle::random(), ResultHandle::random());
    }
}
