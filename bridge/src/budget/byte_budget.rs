//! A limit in bytes that all parties share, from which they get leases.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bridge_auth::RealmId;
use bytes::Bytes;

use super::holdings::{ADDRESS_FREE_FACTOR, Holdings};
use super::party::Party;

/// Fewer bytes than this are not counted: each connection needs about as many.
const MIN_COUNTED_BYTES: usize = 8 * 1024;

/// A token gets no further bytes when it has this many times what is free: alone it gets half.
const TOKEN_FREE_FACTOR: usize = 1;

/// When less than this part of the limit is free, there is nothing for newcomers.
const SCARCE_DIVISOR: usize = 8;

/// A limit in bytes. Whatever a token and an address hold, something is left for others.
#[derive(Clone, Debug)]
pub(crate) struct ByteBudget {
    max_bytes: usize,
    holdings: Arc<Mutex<Holdings<RealmId>>>,
}

/// Why a party gets no further bytes, with the bytes that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BudgetExceeded {
    pub(crate) of_token: usize,
    pub(crate) of_address: usize,
    pub(crate) max_bytes: usize,
}

impl fmt::Display for BudgetExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            of_token,
            of_address,
            max_bytes,
        } = self;
        write!(
            f,
            "token {of_token}, address {of_address} of {max_bytes} bytes"
        )
    }
}

/// The lease on some bytes, which ends when it is dropped.
#[derive(Debug)]
pub(crate) struct ByteLease {
    budget: ByteBudget,
    party: Party<RealmId>,
    bytes: usize,
}

impl ByteBudget {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            holdings: Arc::default(),
        }
    }

    /// Acquires a lease on this many bytes.
    ///
    /// # Errors
    ///
    /// When the token or the address holds too many already.
    pub(crate) fn acquire(
        &self,
        party: Party<RealmId>,
        bytes: usize,
    ) -> Result<ByteLease, BudgetExceeded> {
        let mut lease = self.lease(party);
        lease.grow_to(bytes, false)?;
        Ok(lease)
    }

    /// Acquires a lease as [`ByteBudget::acquire`] does. If no lease has any bytes, they may be
    /// more than the limit.
    pub(crate) fn acquire_one(
        &self,
        party: Party<RealmId>,
        bytes: usize,
    ) -> Result<ByteLease, BudgetExceeded> {
        let mut lease = self.lease(party);
        lease.grow_to(bytes, true)?;
        Ok(lease)
    }

    /// Returns a lease without any bytes.
    pub(crate) fn lease(&self, party: Party<RealmId>) -> ByteLease {
        ByteLease {
            budget: self.clone(),
            party,
            bytes: 0,
        }
    }

    /// The bytes of all leases.
    pub(crate) fn used_bytes(&self) -> usize {
        self.lock().total()
    }

    /// The bytes that all leases may have together.
    pub(crate) fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Whether so little is free that there is nothing for another party.
    pub(crate) fn is_scarce(&self) -> bool {
        self.max_bytes.saturating_sub(self.used_bytes()) < self.max_bytes / SCARCE_DIVISOR
    }

    /// Returns the party that makes room while the leases have more than the limit: the token with
    /// the most bytes at the address with the most.
    pub(crate) fn largest_over_limit(&self) -> Option<Party<RealmId>> {
        self.lock().find_over(self.max_bytes, Some)
    }

    fn lock(&self) -> MutexGuard<'_, Holdings<RealmId>> {
        self.holdings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ByteLease {
    /// Changes the lease to this many bytes. Fewer than [`MIN_COUNTED_BYTES`] are not counted.
    ///
    /// # Errors
    ///
    /// When the lease would grow, and its token or address holds too many bytes already. It then
    /// stays unchanged.
    pub(crate) fn resize_counted(&mut self, bytes: usize) -> Result<(), BudgetExceeded> {
        if bytes < MIN_COUNTED_BYTES {
            self.shrink_to(0);
            Ok(())
        } else if bytes > self.bytes {
            self.grow_to(bytes, false)
        } else {
            self.shrink_to(bytes);
            Ok(())
        }
    }

    /// Changes the lease to this many bytes of a party, even if that exceeds the limit: then
    /// [`ByteBudget::largest_over_limit`] returns the party that makes room.
    pub(crate) fn set(&mut self, party: Party<RealmId>, bytes: usize) {
        let mut holdings = self.budget.lock();
        holdings.remove(&self.party, self.bytes);
        holdings.add(&party, bytes);
        (self.party, self.bytes) = (party, bytes);
    }

    /// The bytes of the lease.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// `may_exceed_alone`: whether a lease that is the only one may exceed the limit.
    fn grow_to(&mut self, bytes: usize, may_exceed_alone: bool) -> Result<(), BudgetExceeded> {
        let added = bytes - self.bytes;
        let mut holdings = self.budget.lock();
        let free = self.budget.max_bytes.saturating_sub(holdings.total());
        let free = free.checked_sub(added);
        let of_token = holdings.of_party(&self.party);
        let of_address = holdings.of_address(self.party.address);
        let is_within_share = |free: usize| {
            of_token + added <= free.saturating_mul(TOKEN_FREE_FACTOR)
                && of_address + added <= free.saturating_mul(ADDRESS_FREE_FACTOR)
        };
        let is_alone = may_exceed_alone && holdings.total() == 0;
        let fits = is_alone || free.is_some_and(is_within_share);
        if !fits {
            return Err(BudgetExceeded {
                of_token,
                of_address,
                max_bytes: self.budget.max_bytes,
            });
        }
        holdings.add(&self.party, added);
        self.bytes = bytes;
        Ok(())
    }

    fn shrink_to(&mut self, bytes: usize) {
        if bytes < self.bytes {
            self.budget.lock().remove(&self.party, self.bytes - bytes);
            self.bytes = bytes;
        }
    }

    /// Attaches the lease to its bytes, for as long as any part of them exists.
    pub(crate) fn attach_to(self, bytes: Bytes) -> Bytes {
        if self.bytes == 0 {
            return bytes;
        }
        LeasedBytes::attach(bytes, self)
    }
}

impl Drop for ByteLease {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

/// Bytes with the lease on them, which is a [`ByteLease`] or shares one.
pub(super) struct LeasedBytes<L> {
    bytes: Bytes,
    _lease: L,
}

impl<L: Send + 'static> LeasedBytes<L> {
    pub(super) fn attach(bytes: Bytes, lease: L) -> Bytes {
        Bytes::from_owner(Self {
            bytes,
            _lease: lease,
        })
    }
}

impl<L> AsRef<[u8]> for LeasedBytes<L> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn party(address: u8, token: &str) -> Party<RealmId> {
        let address = IpAddr::from([192, 0, 2, address]).into();
        Party::new(address, RealmId::from_token(token))
    }

    /// As many leases on a hundred bytes as the party gets.
    fn fill(budget: &ByteBudget, party: Party<RealmId>) -> Vec<ByteLease> {
        std::iter::from_fn(|| budget.acquire(party, 100).ok()).collect()
    }

    #[test]
    fn one_token_and_one_address_leave_bytes_for_others() {
        let budget = ByteBudget::new(10_000);
        let greedy = fill(&budget, party(1, "a"));
        assert_eq!(greedy.len(), 50);
        let others: Vec<_> = ["b", "c", "d", "e", "f"]
            .into_iter()
            .flat_map(|token| fill(&budget, party(1, token)))
            .collect();
        assert_eq!(greedy.len() + others.len(), 75, "of the address");
        let exceeded = budget.acquire(party(1, "a"), 100).unwrap_err();
        assert_eq!((exceeded.of_token, exceeded.of_address), (5_000, 7_500));
        assert!(fill(&budget, party(2, "a")).len() >= 10);
        drop((greedy, others));
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn a_first_lease_may_exceed_the_limit_where_that_is_allowed() {
        let budget = ByteBudget::new(100);
        assert!(budget.acquire(party(1, "a"), 1_000).is_err());
        let lease = budget.acquire_one(party(1, "a"), 1_000).unwrap();
        assert!(budget.acquire_one(party(2, "b"), 1).is_err());
        drop(lease);
        assert!(budget.acquire_one(party(2, "b"), 1_000).is_ok());
    }

    #[test]
    fn the_token_with_the_most_bytes_at_the_largest_address_makes_room() {
        let budget = ByteBudget::new(100);
        let [mut one, mut two, mut three] =
            [party(1, "one"), party(2, "two"), party(2, "three")].map(|party| budget.lease(party));
        one.set(party(1, "one"), 45);
        two.set(party(2, "two"), 20);
        three.set(party(2, "three"), 35);
        assert_eq!(budget.largest_over_limit(), None);
        two.set(party(2, "two"), 21);
        assert_eq!(budget.largest_over_limit(), Some(party(2, "three")));
        three.set(party(2, "three"), 5);
        assert_eq!(budget.largest_over_limit(), None);
        // Its bytes may count for another address later.
        one.set(party(3, "one"), 80);
        assert_eq!(budget.largest_over_limit(), Some(party(3, "one")));
        for lease in [&mut one, &mut two, &mut three] {
            lease.set(party(3, "one"), 0);
        }
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn a_lease_grows_and_shrinks_and_small_amounts_are_not_counted() {
        let budget = ByteBudget::new(1_000_000);
        let mut lease = budget.lease(party(1, "a"));
        for (bytes, counted) in [(8_191, 0), (8_192, 8_192), (400_000, 400_000), (100, 0)] {
            lease.resize_counted(bytes).unwrap();
            assert_eq!(budget.used_bytes(), counted);
        }
        lease.resize_counted(500_000).unwrap();
        assert!(lease.resize_counted(500_001).is_err());
        assert_eq!(budget.used_bytes(), 500_000, "stays as it is");
    }

    #[test]
    fn a_part_of_leased_bytes_extends_the_lease() {
        let budget = ByteBudget::new(1_000_000);
        let lease = budget.acquire(party(1, "a"), 200_000).unwrap();
        let bytes = lease.attach_to(vec![7; 200_000].into());
        let slice = bytes.slice(5..10);
        drop(bytes);
        assert_eq!(budget.used_bytes(), 200_000);
        drop(slice);
        assert_eq!(budget.used_bytes(), 0);
    }
}
