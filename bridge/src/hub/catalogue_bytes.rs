//! The limit on the bytes of the definitions that stay listed after their apps were closed.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bridge_auth::RealmId;
use bridge_service::ClientAddress;

use crate::budget::{Holdings, Party};

/// The bytes of the catalogue of each realm.
#[derive(Debug)]
pub(super) struct CatalogueBytes {
    max_bytes: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    holdings: Holdings<RealmId>,
    /// What each realm with a catalogue is recorded with.
    recorded: HashMap<RealmId, (ClientAddress, usize)>,
}

impl CatalogueBytes {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            state: Mutex::default(),
        }
    }

    /// Records the bytes of a realm's catalogue, which count for this address.
    pub(super) fn record(&self, realm: RealmId, address: ClientAddress, bytes: usize) {
        let mut state = self.lock();
        let former = if bytes == 0 {
            state.recorded.remove(&realm)
        } else {
            state.recorded.insert(realm, (address, bytes))
        };
        if let Some((address, bytes)) = former {
            let party = Party::new(address, realm);
            state.holdings.remove(&party, bytes);
        }
        state.holdings.add(&Party::new(address, realm), bytes);
    }

    /// Returns the realm whose oldest app makes room, if the limit is exceeded: the one with the
    /// most bytes at the address with the most.
    pub(super) fn realm_over_limit(&self) -> Option<RealmId> {
        let state = self.lock();
        if state.holdings.total() <= self.max_bytes {
            return None;
        }
        let largest = state.holdings.largest_first().next()?;
        Some(largest.member)
    }

    /// The bytes of all catalogues.
    pub(super) fn total(&self) -> usize {
        self.lock().holdings.total()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    #[test]
    fn the_realm_with_the_most_bytes_at_the_largest_address_makes_room() {
        let [one, two, three] = ["one", "two", "three"].map(RealmId::from_token);
        let address = |last: u8| ClientAddress::from(IpAddr::from([192, 0, 2, last]));
        let bytes = CatalogueBytes::new(100);
        bytes.record(one, address(1), 45);
        bytes.record(two, address(2), 20);
        bytes.record(three, address(2), 35);
        assert_eq!(bytes.realm_over_limit(), None);
        bytes.record(two, address(2), 21);
        assert_eq!(bytes.realm_over_limit(), Some(three));
        bytes.record(three, address(2), 5);
        assert_eq!(bytes.realm_over_limit(), None);
        for realm in [one, two, three] {
            bytes.record(realm, address(3), 0);
        }
        let state = bytes.lock();
        assert!(state.recorded.is_empty() && state.holdings.total() == 0);
    }
}
