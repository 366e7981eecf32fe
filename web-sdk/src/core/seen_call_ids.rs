//! Remembers which call ids have been seen, within bounds.

use bridge_protocol::CallId;

/// A bridge repeats only calls it has no answer to, so the newest ids are the ones that matter.
/// At least this many are remembered, at most twice as many.
const MIN_REMEMBERED: usize = 4096;

/// Half of the slots stay free, so that a search is short. A power of two.
const SLOTS: usize = 2 * MIN_REMEMBERED;

/// The ids of a page's recent calls, as 64-bit hashes: two of 8,000 ids are taken for one with a
/// probability of one in 10^12, and then a call fails that could have run. It never runs twice.
#[derive(Debug, Default)]
pub(super) struct SeenCallIds {
    recent: Generation,
    older: Generation,
}

impl SeenCallIds {
    /// Whether the id is new; it is not from now on.
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

/// A hash table without removal. 0 is a free slot.
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
        let place = self.slot_of(hash);
        self.slots[place] = hash;
        self.used += 1;
    }

    /// Where the hash is, or would be.
    fn slot_of(&self, hash: u64) -> usize {
        let mut place = hash as usize % SLOTS;
        while self.slots[place] != 0 && self.slots[place] != hash {
            place = (place + 1) % SLOTS;
        }
        place
    }
}

/// FNV-1a. The ids come from the bridge the page trusts: nobody is there to craft collisions.
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
