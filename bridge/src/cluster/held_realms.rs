//! The realms whose requests are held, each with the task that looks for its owner.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bridge_auth::RealmId;
use bridge_cluster::RealmKey;
use bridge_realm::fast_hash::FastHash;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio_util::task::AbortOnDropHandle;

use super::route::Route;
use crate::budget::{Party, PoolPermit, SharedPool};

/// The maximum number of requests of one realm that are held. The others are refused at once.
pub(super) const MAX_HELD_PER_REALM: usize = 256;

/// The maximum number of requests that are held. An address may use up three quarters.
const MAX_HELD: usize = 8_192;

/// How many look-ups for held requests run at the same time. When a node of many realms ends, these must
/// not delay the pages that claim them.
const MAX_LOOKUPS: usize = 16;

/// The realms whose requests are held.
#[derive(Debug)]
pub(super) struct HeldRealms {
    realms: Arc<Mutex<RealmsByKey>>,
    permits: SharedPool<RealmId, ()>,
    lookups: Semaphore,
}

type RealmsByKey = HashMap<RealmKey, HeldRealm, FastHash>;

#[derive(Debug)]
struct HeldRealm {
    /// The number of its requests.
    requests: usize,
    found: watch::Receiver<Option<Route>>,
    _poll: AbortOnDropHandle<()>,
}

/// A request that is held. The last one of a realm ends the task that looks for its owner.
#[derive(Debug)]
pub(super) struct HeldRequest {
    /// Where the realm is served, once that is known.
    pub(super) found: watch::Receiver<Option<Route>>,
    key: RealmKey,
    realms: Arc<Mutex<RealmsByKey>>,
    _permit: PoolPermit<RealmId, ()>,
}

impl Default for HeldRealms {
    fn default() -> Self {
        Self {
            realms: Arc::default(),
            permits: SharedPool::with_reserve(MAX_HELD),
            lookups: Semaphore::new(MAX_LOOKUPS),
        }
    }
}

impl HeldRealms {
    /// Holds a request. The first one of a realm spawns the task that looks for its owner. Returns `None`
    /// if too many are held.
    pub(super) fn begin(
        &self,
        key: RealmKey,
        party: &Party<RealmId>,
        spawn: impl FnOnce(watch::Sender<Option<Route>>) -> JoinHandle<()>,
    ) -> Option<HeldRequest> {
        let permit = self.permits.try_acquire(party, ())?;
        let mut realms = lock(&self.realms);
        let realm = realms.entry(key).or_insert_with(|| {
            let (sender, found) = watch::channel(None);
            HeldRealm {
                requests: 0,
                found,
                _poll: AbortOnDropHandle::new(spawn(sender)),
            }
        });
        if realm.requests == MAX_HELD_PER_REALM {
            return None;
        }
        realm.requests += 1;
        Some(HeldRequest {
            found: realm.found.clone(),
            key,
            realms: Arc::clone(&self.realms),
            _permit: permit,
        })
    }

    /// Waits for its turn, and looks up the owner of a realm.
    pub(super) async fn look_up<T>(&self, lookup: impl Future<Output = T>) -> T {
        // It is never closed.
        let _turn = self.lookups.acquire().await;
        lookup.await
    }

    /// The number of requests that are held.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        lock(&self.realms)
            .values()
            .map(|realm| realm.requests)
            .sum()
    }
}

impl Drop for HeldRequest {
    fn drop(&mut self) {
        let mut realms = lock(&self.realms);
        if let Some(realm) = realms.get_mut(&self.key) {
            realm.requests -= 1;
            if realm.requests == 0 {
                realms.remove(&self.key);
            }
        }
    }
}

fn lock(realms: &Mutex<RealmsByKey>) -> MutexGuard<'_, RealmsByKey> {
    realms.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    /// Holds a request of a token at an address.
    fn hold(realms: &HeldRealms, number: u8, address: [u8; 4]) -> Option<HeldRequest> {
        let realm = RealmId::from_token(&number.to_string());
        let party = Party::new(IpAddr::from(address).into(), realm);
        let key = RealmKey::from_bytes([number; 20]);
        realms.begin(key, &party, |_found| tokio::spawn(std::future::pending()))
    }

    #[tokio::test]
    async fn the_number_of_held_requests_is_limited_for_each_realm_and_address() {
        let realms = HeldRealms::default();
        let (one, other) = ([192, 0, 2, 1], [192, 0, 2, 2]);
        let mut requests = Vec::new();
        for number in 0..u8::MAX {
            requests.extend((0..=MAX_HELD_PER_REALM).map_while(|_| hold(&realms, number, one)));
            assert!(requests.len() <= MAX_HELD_PER_REALM * (usize::from(number) + 1));
        }
        assert_eq!(realms.count(), MAX_HELD / 4 * 3);
        assert!(hold(&realms, u8::MAX, one).is_none());
        assert!(hold(&realms, u8::MAX, other).is_some());
        requests.clear();
        assert!(lock(&realms.realms).is_empty());
        assert_eq!(realms.permits.count(), 0);
    }
}
