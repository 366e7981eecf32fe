//! A bounded set of the call ids that were seen recently.

use bridge_protocol::CallId;

/// The minimum number of ids that are remembered; the maximum is twice as many. A bridge repeats only calls
/// that it has no answer to, so the newest ids are the ones that matter.
const MIN_REMEMBERED: usize = 4096;

/// The number of slots of a generation, a power of two. Half of them stay free, so that searches are short.
const SLOTS: usize = 2 * MIN_REMEMBERED;

/// The ids of recent calls, as 64-bit hashes. Among 8,000 ids, the probability of a collision is one in
/// 10^12. In that case a call fails that could have run; no call ever runs twice.
#[derive(Debug, Default)]
pub(super) struct SeenCallIds {
    recent: Generation,
    older: Generation,
}

impl SeenCallIds {
    /// Adds an id. Returns whether it is new.
    pub(super) fn insert(&mut self, id: &CallId) -> bool {
        let hash = hash(id.as_str());
        if self.older.contains(hash) || self.recent.contains(hash) {
            return false;
        }
        self.recent.insert(hash);
        if self.recent.used >= MIN_REMEMBERED {
            self.older = std::mem::take(&mut self.recent);
        }
        true
    }
}

/// A hash table without removal. A free slot is 0.
#[derive(Debug, Default)]
struct Generation {
    slots: Vec<u64>,
    used: usize,
}

impl Generation {
    fn contains(&self, hash: u64) -> bool {
        !self.slots.is_empty() && self.slots[self.slot_of(hash)] == hash
    }

    fn insert(&mut self, hash: u64) {
        if self.slots.is_empty() {
            self.slots = vec![0; SLOTS];
        }
        let slot = self.slot_of(hash);
        self.slots[slot] = hash;
        self.used += 1;
    }

    /// Returns the slot of the hash, or the free slot where it belongs.
    fn slot_of(&self, hash: u64) -> usize {
        let mut slot = hash as usize % SLOTS;
        while self.slots[slot] != 0 && self.slots[slot] != hash {
            slot = (slot + 1) % SLOTS;
        }
        slot
    }
}

/// FNV-1a. The ids come from the bridge, which the page trusts, so nobody crafts collisions.
fn hash(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_ids_are_remembered_in_bounded_memory() {
        let mut seen = SeenCallIds::default();
        for number in 0..50_000 {
            assert!(seen.insert(&CallId(format!("c{number}"))));
            assert!(seen.recent.slots.len() + seen.older.slots.len() <= 2 * SLOTS);
        }
        for number in 50_000 - MIN_REMEMBERED..50_000 {
            assert!(!seen.insert(&CallId(format!("c{number}"))));
        }
    }
}
