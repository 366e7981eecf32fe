//! How many tokens may wait for newer keys at the same time, and how many of one address.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bridge_edge::ClientAddress;

/// The maximum number of tokens that wait for keys.
const MAX_KEY_WAITS: usize = 1024;

/// The maximum number of them from one address. Other tokens are refused for now: the fetch that
/// they need happens all the same.
const MAX_KEY_WAITS_OF_ADDRESS: usize = 128;

/// The tokens that wait for keys, by their addresses.
#[derive(Debug, Default)]
pub struct KeyWaits(Mutex<WaitCounts>);

#[derive(Debug, Default)]
struct WaitCounts {
    total: usize,
    by_address: HashMap<ClientAddress, usize>,
}

/// The place of a token that waits. Dropping it frees the place.
#[derive(Debug)]
pub struct KeyWaitPermit<'a> {
    waits: &'a KeyWaits,
    address: ClientAddress,
}

impl KeyWaits {
    /// Takes a place for a token from this address, if one is free.
    pub fn try_acquire(&self, address: ClientAddress) -> Option<KeyWaitPermit<'_>> {
        let mut counts = self.lock();
        let of_address = counts.by_address.get(&address).copied().unwrap_or(0);
        if counts.total >= MAX_KEY_WAITS || of_address >= MAX_KEY_WAITS_OF_ADDRESS {
            return None;
        }
        counts.total += 1;
        counts.by_address.insert(address, of_address + 1);
        Some(KeyWaitPermit {
            waits: self,
            address,
        })
    }

    fn lock(&self) -> MutexGuard<'_, WaitCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for KeyWaitPermit<'_> {
    fn drop(&mut self) {
        let mut counts = self.waits.lock();
        counts.total -= 1;
        if let Some(of_address) = counts.by_address.get_mut(&self.address) {
            *of_address -= 1;
            if *of_address == 0 {
                counts.by_address.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    #[test]
    fn an_address_has_a_part_of_the_places() {
        let waits = KeyWaits::default();
        let address = |number| ClientAddress::from(IpAddr::from(Ipv4Addr::from_bits(number)));
        let mut permits = Vec::new();
        for number in 0..20 {
            permits.extend((0..1000).map_while(|_| waits.try_acquire(address(number))));
            let expected = (number as usize + 1) * MAX_KEY_WAITS_OF_ADDRESS;
            assert_eq!(permits.len(), expected.min(MAX_KEY_WAITS));
        }
        permits.pop();
        assert!(waits.try_acquire(address(99)).is_some());
        permits.clear();
        assert_eq!(waits.lock().total, 0);
        assert!(waits.lock().by_address.is_empty());
    }
}
