//! The realms whose requests are held, each with the task that looks for its owner.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bridge_cluster::RealmKey;
use bridge_realm::fast_hash::FastHash;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinHandle;
use tokio_util::task::AbortOnDropHandle;

use super::route::Route;

/// The maximum number of requests of one realm that are held. The others are refused at once.
pub(super) const MAX_HELD_PER_REALM: usize = 256;

/// The maximum number of requests that are held.
const MAX_HELD: usize = 8_192;

/// How many look-ups for held requests run at the same time. When a node of many realms ends, these must
/// not delay the pages that claim them.
const MAX_LOOKUPS: usize = 16;

/// The realms whose requests are held.
#[derive(Debug)]
pub(super) struct HeldRealms {
    realms: Arc<Mutex<RealmsByKey>>,
    permits: Arc<Semaphore>,
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
    _permit: OwnedSemaphorePermit,
}

impl Default for HeldRealms {
    fn default() -> Self {
        Self {
            realms: Arc::default(),
            permits: Arc::new(Semaphore::new(MAX_HELD)),
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
        spawn: impl FnOnce(watch::Sender<Option<Route>>) -> JoinHandle<()>,
    ) -> Option<HeldRequest> {
        let permit = Arc::clone(&self.permits).try_acquire_owned().ok()?;
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
    use super::*;

    fn hold(realms: &HeldRealms, number: usize) -> Option<HeldRequest> {
        let key = RealmKey::from_bytes([u8::try_from(number).unwrap(); 20]);
        realms.begin(key, |_found| tokio::spawn(std::future::pending()))
    }

    #[tokio::test]
    async fn the_number_of_held_requests_is_limited_for_each_realm_and_in_all() {
        const REALMS: usize = MAX_HELD / MAX_HELD_PER_REALM;
        let realms = HeldRealms::default();
        let mut requests = Vec::new();
        for number in 0..REALMS {
            requests.extend((0..MAX_HELD_PER_REALM).map(|_| hold(&realms, number).unwrap()));
            assert!(hold(&realms, number).is_none());
        }
        assert_eq!(realms.count(), MAX_HELD);
        assert!(hold(&realms, REALMS).is_none());
        requests.pop();
        assert!(hold(&realms, REALMS).is_some());
        requests.clear();
        assert!(lock(&realms.realms).is_empty());
    }
}
