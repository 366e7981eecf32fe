//! How much each party holds of a shared limit.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use bridge_edge::ClientAddress;

use super::party::Party;

/// Where nothing makes room, an address gets no more when it holds this many times what is free:
/// alone it gets three quarters, and something is left for an address that has nothing yet.
pub(super) const ADDRESS_FREE_FACTOR: usize = 3;

/// How much each party holds, in entries or in bytes, ordered by amount.
#[derive(Debug)]
pub(crate) struct Holdings<M> {
    total: usize,
    addresses: Ranking<ClientAddress>,
    members: HashMap<ClientAddress, Ranking<M>>,
}

impl<M> Default for Holdings<M> {
    fn default() -> Self {
        Self {
            total: 0,
            addresses: Ranking::default(),
            members: HashMap::new(),
        }
    }
}

impl<M: Clone + Ord + Hash> Holdings<M> {
    /// The amount of all parties together.
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// The amount of all members of an address together.
    pub(crate) fn of_address(&self, address: ClientAddress) -> usize {
        self.addresses.get(&address)
    }

    /// The amount of one party.
    pub(crate) fn of_party(&self, party: &Party<M>) -> usize {
        let members = self.members.get(&party.address);
        members.map_or(0, |members| members.get(&party.member))
    }

    /// Adds to the amount of a party.
    pub(crate) fn add(&mut self, party: &Party<M>, amount: usize) {
        self.total += amount;
        let address = self.of_address(party.address) + amount;
        self.set(party, address, self.of_party(party) + amount);
    }

    /// Subtracts from the amount of a party, which holds at least as much.
    pub(crate) fn remove(&mut self, party: &Party<M>, amount: usize) {
        self.total -= amount;
        let address = self.of_address(party.address) - amount;
        self.set(party, address, self.of_party(party) - amount);
    }

    fn set(&mut self, party: &Party<M>, of_address: usize, of_member: usize) {
        self.addresses.set(&party.address, of_address);
        let members = self.members.entry(party.address).or_default();
        members.set(&party.member, of_member);
        if of_address == 0 {
            self.members.remove(&party.address);
        }
    }

    /// Finds what makes room while all parties together hold more than `max`: the first thing that
    /// `find` returns for one of the parties, the largest first.
    pub(crate) fn find_over<T>(
        &self,
        max: usize,
        find: impl FnMut(Party<M>) -> Option<T>,
    ) -> Option<T> {
        let is_over = self.total > max;
        is_over.then(|| self.largest_first().find_map(find))?
    }

    /// All parties with an amount: those of the address with the most first, and of these the party
    /// with the most first.
    pub(crate) fn largest_first(&self) -> impl Iterator<Item = Party<M>> {
        self.addresses.largest_first().flat_map(|address| {
            let members = self.members.get(address).into_iter();
            members
                .flat_map(Ranking::largest_first)
                .map(|member| Party::new(*address, member.clone()))
        })
    }
}

/// Amounts by key, and the keys in the order of their amounts. Keys without an amount are left out.
#[derive(Debug)]
struct Ranking<K> {
    amounts: HashMap<K, usize>,
    order: BTreeSet<(usize, K)>,
}

impl<K> Default for Ranking<K> {
    fn default() -> Self {
        Self {
            amounts: HashMap::new(),
            order: BTreeSet::new(),
        }
    }
}

impl<K: Clone + Ord + Hash> Ranking<K> {
    fn get(&self, key: &K) -> usize {
        self.amounts.get(key).copied().unwrap_or(0)
    }

    fn set(&mut self, key: &K, amount: usize) {
        if let Some(former) = self.amounts.remove(key) {
            self.order.remove(&(former, key.clone()));
        }
        if amount > 0 {
            self.amounts.insert(key.clone(), amount);
            self.order.insert((amount, key.clone()));
        }
    }

    fn largest_first(&self) -> impl Iterator<Item = &K> {
        self.order.iter().rev().map(|(_, key)| key)
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn party(address: u8, member: char) -> Party<char> {
        Party::new(IpAddr::from([127, 0, 0, address]).into(), member)
    }

    #[test]
    fn parties_are_ordered_by_address_and_then_by_member() {
        let mut holdings = Holdings::default();
        for (address, member, amount) in [(1, 'a', 5), (2, 'a', 3), (2, 'b', 4), (3, 'a', 1)] {
            holdings.add(&party(address, member), amount);
        }
        let order: Vec<_> = holdings.largest_first().collect();
        let expected = [(2, 'b'), (2, 'a'), (1, 'a'), (3, 'a')];
        assert_eq!(
            order,
            expected.map(|(address, member)| party(address, member))
        );
        assert_eq!(holdings.total(), 13);
        assert_eq!(holdings.of_address(party(2, 'a').address), 7);

        holdings.remove(&party(2, 'b'), 4);
        let order: Vec<_> = holdings.largest_first().collect();
        let expected = [(1, 'a'), (2, 'a'), (3, 'a')];
        assert_eq!(
            order,
            expected.map(|(address, member)| party(address, member))
        );
    }

    #[test]
    fn parties_without_an_amount_take_no_memory() {
        let mut holdings = Holdings::default();
        for address in 0..100 {
            holdings.add(&party(address, 'a'), 2);
            holdings.add(&party(address, 'b'), 0);
            holdings.remove(&party(address, 'a'), 1);
            holdings.remove(&party(address, 'a'), 1);
        }
        assert_eq!(holdings.total(), 0);
        assert!(holdings.members.is_empty() && holdings.addresses.order.is_empty());
        assert!(holdings.addresses.amounts.is_empty());
    }
}
