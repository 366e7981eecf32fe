//! A limited number of entries that all parties share.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::holdings::{ADDRESS_FREE_FACTOR, Holdings};
use super::party::Party;

/// An entry that has been idle for this time makes room for a party that holds only one less, so
/// that many parties with one idle entry each do not keep others out.
const LONG_IDLE: Duration = Duration::from_secs(60);

/// An entry in use makes room only if its party holds more than this fraction of a full pool.
const IN_USE_SHARE_DIVISOR: usize = 4;

/// A limited number of entries. Clones share them.
#[derive(Debug)]
pub(crate) struct SharedPool<M, T>(Arc<Mutex<PoolState<M, T>>>);

#[derive(Debug)]
struct PoolState<M, T> {
    capacity: usize,
    /// Whether an address may use only a part of the pool.
    has_reserve: bool,
    holdings: Holdings<M>,
    /// The entries of each party, the oldest first.
    entries: HashMap<Party<M>, BTreeMap<u64, T>>,
    last_number: u64,
}

/// The permit for one entry of a pool, which is removed when the permit is dropped.
#[derive(Debug)]
pub(crate) struct PoolPermit<M: Clone + Ord + Hash, T> {
    pool: SharedPool<M, T>,
    party: Party<M>,
    number: u64,
}

/// An entry that makes room for another.
#[derive(Debug)]
pub(crate) struct Evictable<T> {
    pub(crate) entry: T,
    /// Whether it was idle when it was chosen.
    pub(crate) is_idle: bool,
}

/// How many entries a pool has, and how many of them a party has, for error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolUse {
    pub(crate) capacity: usize,
    pub(crate) by_address: usize,
    pub(crate) by_party: usize,
}

impl<M, T> Clone for SharedPool<M, T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<M: Clone + Ord + Hash, T: Clone> SharedPool<M, T> {
    /// Creates a pool of which a party may use everything until another party needs a part.
    pub(crate) fn new(capacity: usize) -> Self {
        Self::new_with(capacity, false)
    }

    /// Creates a pool for entries that are not evicted. Something is always left for an address
    /// that has nothing yet.
    pub(crate) fn with_reserve(capacity: usize) -> Self {
        Self::new_with(capacity, true)
    }

    fn new_with(capacity: usize, has_reserve: bool) -> Self {
        Self(Arc::new(Mutex::new(PoolState {
            capacity,
            has_reserve,
            holdings: Holdings::default(),
            entries: HashMap::new(),
            last_number: 0,
        })))
    }

    /// Adds an entry of a party. Returns `None` when the pool is full.
    pub(crate) fn try_acquire(&self, party: &Party<M>, entry: T) -> Option<PoolPermit<M, T>> {
        let mut state = self.lock();
        let free = state.capacity.saturating_sub(state.holdings.total());
        let by_address = state.holdings.of_address(party.address);
        if free == 0 || state.has_reserve && by_address >= ADDRESS_FREE_FACTOR.saturating_mul(free)
        {
            return None;
        }
        state.last_number += 1;
        let number = state.last_number;
        state.holdings.add(party, 1);
        let entries = state.entries.entry(party.clone()).or_default();
        entries.insert(number, entry);
        Some(PoolPermit {
            pool: self.clone(),
            party: party.clone(),
            number,
        })
    }

    /// Returns the entry of a full pool that makes room for one more entry of a party: the one that
    /// has been idle for longest, of the party that holds the most and has any. If no entry is
    /// idle, it is the newest one of a party that holds a large part of the pool. Returns `None`
    /// when no party holds more than this one.
    ///
    /// `idle_since` returns since when an entry is idle, or `None` while it is in use.
    pub(crate) fn entry_to_evict(
        &self,
        newcomer: &Party<M>,
        idle_since: impl Fn(&T) -> Option<Instant>,
    ) -> Option<Evictable<T>> {
        let state = self.lock();
        let (party, number, is_idle) = state.find_evictable(newcomer, idle_since)?;
        let entry = state.entries.get(&party)?.get(&number)?.clone();
        Some(Evictable { entry, is_idle })
    }

    /// Removes the entry that [`Self::entry_to_evict`] returns.
    pub(crate) fn evict(
        &self,
        newcomer: &Party<M>,
        idle_since: impl Fn(&T) -> Option<Instant>,
    ) -> Option<T> {
        let mut state = self.lock();
        let (party, number, _) = state.find_evictable(newcomer, idle_since)?;
        state.remove(&party, number)
    }

    /// The number of entries.
    pub(crate) fn count(&self) -> usize {
        self.lock().holdings.total()
    }

    /// Returns how much of the pool a party uses.
    pub(crate) fn used_by(&self, party: &Party<M>) -> PoolUse {
        let state = self.lock();
        PoolUse {
            capacity: state.capacity,
            by_address: state.holdings.of_address(party.address),
            by_party: state.holdings.of_party(party),
        }
    }
}

impl<M, T> SharedPool<M, T> {
    fn lock(&self) -> MutexGuard<'_, PoolState<M, T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: Clone + Ord + Hash, T: Clone> PoolState<M, T> {
    /// Finds an entry, by its party and number, and whether it is idle.
    fn find_evictable(
        &self,
        newcomer: &Party<M>,
        idle_since: impl Fn(&T) -> Option<Instant>,
    ) -> Option<(Party<M>, u64, bool)> {
        let in_use = self.find_in_use(newcomer);
        // Where another party fills the pool, a party does not lose an entry that it has just used.
        let min_own_idle = match &in_use {
            Some((party, _)) if party.address != newcomer.address => LONG_IDLE,
            _ => Duration::ZERO,
        };
        let idle = self.find_idle(newcomer, min_own_idle, idle_since);
        let idle = idle.map(|(party, number)| (party, number, true));
        idle.or(in_use.map(|(party, number)| (party, number, false)))
    }

    fn find_idle(
        &self,
        newcomer: &Party<M>,
        min_own_idle: Duration,
        idle_since: impl Fn(&T) -> Option<Instant>,
    ) -> Option<(Party<M>, u64)> {
        let now = Instant::now();
        let own = self.holdings.of_address(newcomer.address);
        self.holdings
            .largest_first()
            .take_while(|party| self.holdings.of_address(party.address) >= own)
            .find_map(|party| {
                let min_idle = match self.surplus(&party, newcomer) {
                    _ if party == *newcomer => min_own_idle,
                    0 => return None,
                    1 => LONG_IDLE,
                    _ => Duration::ZERO,
                };
                let entries = self.entries.get(&party)?.iter();
                let idle =
                    entries.filter_map(|(number, entry)| Some((idle_since(entry)?, *number)));
                let (since, number) = idle.min()?;
                (now.saturating_duration_since(since) >= min_idle).then_some((party, number))
            })
    }

    fn find_in_use(&self, newcomer: &Party<M>) -> Option<(Party<M>, u64)> {
        let party = self.holdings.largest_first().next()?;
        let held = if party.address == newcomer.address {
            self.holdings.of_party(&party)
        } else {
            self.holdings.of_address(party.address)
        };
        let is_large = held.saturating_mul(IN_USE_SHARE_DIVISOR) > self.capacity;
        if !is_large || self.surplus(&party, newcomer) < 2 {
            return None;
        }
        let (newest, _) = self.entries.get(&party)?.last_key_value()?;
        Some((party, *newest))
    }

    /// How many entries more than the newcomer a party holds: its address, or the party itself if
    /// it shares the newcomer's address.
    fn surplus(&self, party: &Party<M>, newcomer: &Party<M>) -> usize {
        let held = |of: &Party<M>| {
            if party.address == newcomer.address {
                self.holdings.of_party(of)
            } else {
                self.holdings.of_address(of.address)
            }
        };
        held(party).saturating_sub(held(newcomer))
    }
}

impl<M: Clone + Ord + Hash, T> PoolState<M, T> {
    fn remove(&mut self, party: &Party<M>, number: u64) -> Option<T> {
        let entries = self.entries.get_mut(party)?;
        let entry = entries.remove(&number)?;
        if entries.is_empty() {
            self.entries.remove(party);
        }
        self.holdings.remove(party, 1);
        Some(entry)
    }
}

impl<M: Clone + Ord + Hash, T> PoolPermit<M, T> {
    /// The party that the entry counts for.
    pub(crate) fn party(&self) -> &Party<M> {
        &self.party
    }
}

impl<M: Clone + Ord + Hash, T> Drop for PoolPermit<M, T> {
    fn drop(&mut self) {
        let removed = self.pool.lock().remove(&self.party, self.number);
        // Dropped after the lock is released, because an entry may hold its own lock.
        drop(removed);
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    /// An entry: since when it is idle.
    type Entry = Option<Instant>;
    type Pool = SharedPool<char, Entry>;

    fn party(address: u8, member: char) -> Party<char> {
        Party::new(IpAddr::from([192, 0, 2, address]).into(), member)
    }

    /// Fills a pool with as many entries of this party as it gets.
    fn fill(pool: &Pool, party: &Party<char>, entry: Entry) -> Vec<PoolPermit<char, Entry>> {
        std::iter::from_fn(|| pool.try_acquire(party, entry)).collect()
    }

    fn evicted(pool: &Pool, newcomer: &Party<char>) -> Option<Entry> {
        let evictable = pool.entry_to_evict(newcomer, |since| *since)?;
        assert_eq!(evictable.is_idle, evictable.entry.is_some());
        Some(evictable.entry)
    }

    #[tokio::test(start_paused = true)]
    async fn the_longest_idle_entry_of_the_largest_party_makes_room() {
        let pool = Pool::new(10);
        let (old, young) = (Instant::now(), Instant::now() + Duration::from_secs(1));
        let _small = pool.try_acquire(&party(1, 'a'), Some(old)).unwrap();
        let _active = pool.try_acquire(&party(2, 'a'), None).unwrap();
        let _young = pool.try_acquire(&party(2, 'a'), Some(young)).unwrap();
        let oldest = pool.try_acquire(&party(2, 'a'), Some(young - Duration::from_millis(1)));
        let _rest = fill(&pool, &party(2, 'b'), None);
        for newcomer in [party(1, 'a'), party(3, 'a'), party(2, 'c')] {
            let expected = Some(Some(young - Duration::from_millis(1)));
            assert_eq!(evicted(&pool, &newcomer), expected, "{newcomer:?}");
        }
        drop(oldest);
        let permit = pool.try_acquire(&party(3, 'a'), None);
        assert!(permit.is_some() && pool.try_acquire(&party(3, 'a'), None).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn no_party_loses_an_entry_to_one_that_holds_as_much() {
        let pool = Pool::new(4);
        let idle = Some(Instant::now());
        let _one = [(); 2].map(|()| pool.try_acquire(&party(1, 'a'), None).unwrap());
        let _other = [(); 2].map(|()| pool.try_acquire(&party(2, 'a'), idle).unwrap());
        assert_eq!(evicted(&pool, &party(1, 'b')), None);
        assert_eq!(evicted(&pool, &party(2, 'a')), Some(idle), "its own");
        assert_eq!(evicted(&pool, &party(3, 'a')), Some(idle));
    }

    #[tokio::test(start_paused = true)]
    async fn a_last_entry_makes_room_only_after_it_was_idle_for_a_minute() {
        let pool = Pool::new(3);
        let idle = Some(Instant::now());
        let _held = [1, 2, 3].map(|address| pool.try_acquire(&party(address, 'a'), idle).unwrap());
        tokio::time::advance(LONG_IDLE - Duration::from_millis(1)).await;
        assert_eq!(evicted(&pool, &party(4, 'a')), None);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(evicted(&pool, &party(4, 'a')), Some(idle));
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_party_has_just_used_stays_where_somebody_else_fills_the_pool() {
        let pool = Pool::new(40);
        let idle = Some(Instant::now());
        let _own = pool.try_acquire(&party(1, 'a'), idle);
        let _others = fill(&pool, &party(2, 'a'), None);
        assert_eq!(
            evicted(&pool, &party(1, 'a')),
            Some(None),
            "the other's newest"
        );
        tokio::time::advance(LONG_IDLE).await;
        assert_eq!(evicted(&pool, &party(1, 'a')), Some(idle), "its own");
    }

    #[tokio::test(start_paused = true)]
    async fn entries_in_use_make_room_only_where_a_party_holds_over_a_quarter() {
        let pool = Pool::new(100);
        let _many: Vec<_> = (1..=4)
            .flat_map(|address| (0..25).map(move |_| party(address, 'a')))
            .map(|party| pool.try_acquire(&party, None).unwrap())
            .collect();
        assert_eq!(evicted(&pool, &party(9, 'a')), None);

        let pool = Pool::new(100);
        let _first = fill(&pool, &party(1, 'a'), None);
        assert_eq!(evicted(&pool, &party(9, 'a')), Some(None));
        assert_eq!(
            evicted(&pool, &party(1, 'b')),
            Some(None),
            "of another member"
        );
        assert_eq!(evicted(&pool, &party(1, 'a')), None, "its own are in use");
    }

    #[test]
    fn a_pool_with_a_reserve_leaves_something_for_each_newcomer() {
        let pool = Pool::with_reserve(1000);
        let first = fill(&pool, &party(1, 'a'), None);
        assert_eq!(first.len(), 750);
        let second = fill(&pool, &party(2, 'a'), None);
        assert_eq!(second.len(), 188);
        let third = fill(&pool, &party(3, 'a'), None);
        assert!(third.len() > 40, "{}", third.len());
        assert_eq!(fill(&Pool::with_reserve(1), &party(1, 'a'), None).len(), 1);
    }

    #[test]
    fn a_dropped_permit_frees_its_entry() {
        let pool = Pool::new(2);
        let (one, two) = (party(1, 'a'), party(1, 'b'));
        let permits = [&one, &two].map(|party| pool.try_acquire(party, None).unwrap());
        let expected = PoolUse {
            capacity: 2,
            by_address: 2,
            by_party: 1,
        };
        assert_eq!(pool.used_by(&one), expected);
        assert!(pool.try_acquire(&one, None).is_none());
        drop(permits);
        assert_eq!(pool.used_by(&one).by_address, 0);
        assert!(pool.lock().entries.is_empty());
    }
}
