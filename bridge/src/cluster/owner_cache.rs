//! The owners of realms that were found before.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bridge_cluster::{Peer, RealmKey};
use bridge_realm::fast_hash::FastHash;

/// The maximum number of owners. An entry has about 100 bytes.
const MAX_OWNERS: usize = 65_536;

/// The owners of realms. An entry has no age: the first request that reaches the wrong node, or none,
/// removes it.
#[derive(Debug, Default)]
pub(super) struct OwnerCache(Mutex<HashMap<RealmKey, Peer, FastHash>>);

impl OwnerCache {
    fn lock(&self) -> MutexGuard<'_, HashMap<RealmKey, Peer, FastHash>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, key: &RealmKey) -> Option<Peer> {
        self.lock().get(key).cloned()
    }

    /// Stores an owner. If there are too many, any other one makes room.
    pub(super) fn insert(&self, key: RealmKey, owner: Peer) {
        let mut owners = self.lock();
        if owners.len() >= MAX_OWNERS
            && !owners.contains_key(&key)
            && let Some(any) = owners.keys().next().copied()
        {
            owners.remove(&any);
        }
        owners.insert(key, owner);
    }

    /// Removes an owner, unless another one was found meanwhile.
    pub(super) fn remove(&self, key: &RealmKey, owner: &Peer) {
        let mut owners = self.lock();
        if owners.get(key) == Some(owner) {
            owners.remove(key);
        }
    }

    /// Removes the owner of a realm, whichever it is.
    pub(super) fn remove_any(&self, key: &RealmKey) {
        self.lock().remove(key);
    }

    /// Removes all realms of a node.
    pub(super) fn remove_node(&self, node: &bridge_cluster::NodeId) {
        self.lock().retain(|_, owner| owner.id != *node);
    }
}

#[cfg(test)]
mod tests {
    use bridge_cluster::NodeId;

    use super::*;

    fn key(number: usize) -> RealmKey {
        let mut bytes = [0; 20];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        RealmKey::from_bytes(bytes)
    }

    fn node(number: u8) -> Peer {
        Peer {
            id: NodeId::from_bytes([number; 16]),
            address: format!("127.0.0.1:{number}"),
        }
    }

    #[test]
    fn the_number_of_owners_is_limited() {
        let cache = OwnerCache::default();
        for number in 0..MAX_OWNERS + 10 {
            cache.insert(key(number), node(1));
        }
        assert_eq!(cache.lock().len(), MAX_OWNERS);
        cache.insert(key(MAX_OWNERS + 9), node(2));
        assert_eq!(cache.lock().len(), MAX_OWNERS);
        assert_eq!(cache.get(&key(MAX_OWNERS + 9)), Some(node(2)));
    }

    #[test]
    fn an_owner_is_removed_only_if_it_is_still_the_one() {
        let cache = OwnerCache::default();
        cache.insert(key(1), node(1));
        cache.insert(key(1), node(2));
        cache.remove(&key(1), &node(1));
        assert_eq!(cache.get(&key(1)), Some(node(2)));
        cache.remove_node(&node(2).id);
        assert_eq!(cache.get(&key(1)), None);
    }
}
