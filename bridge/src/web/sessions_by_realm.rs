//! Ids grouped by realm, so that a lookup does not scan the ids of other tokens.

use dashmap::DashMap;
use indexmap::IndexSet;

use bridge_auth::RealmId;

/// The ids of each realm, the oldest first.
#[derive(Debug)]
pub(super) struct IdsByRealm<Id>(DashMap<RealmId, IndexSet<Id>>);

impl<Id> Default for IdsByRealm<Id> {
    fn default() -> Self {
        Self(DashMap::new())
    }
}

impl<Id: Clone + Eq + std::hash::Hash> IdsByRealm<Id> {
    pub(super) fn insert(&self, realm: RealmId, id: Id) {
        self.0.entry(realm).or_default().insert(id);
    }

    pub(super) fn remove(&self, realm: RealmId, id: &Id) {
        if let Some(mut ids) = self.0.get_mut(&realm) {
            ids.shift_remove(id);
        }
        self.0.remove_if(&realm, |_, ids| ids.is_empty());
    }

    /// Returns the realms with ids.
    pub(super) fn realms(&self) -> Vec<RealmId> {
        self.0.iter().map(|entry| *entry.key()).collect()
    }

    /// Whether a realm has ids.
    pub(super) fn has_realm(&self, realm: RealmId) -> bool {
        self.0.contains_key(&realm)
    }

    /// Returns the ids of a realm.
    pub(super) fn ids(&self, realm: RealmId) -> Vec<Id> {
        let ids = self.0.get(&realm);
        ids.map_or_else(Vec::new, |ids| ids.iter().cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn realms_without_ids_are_removed() {
        let [one, two] = ["one", "two"].map(RealmId::from_token);
        let ids = IdsByRealm::default();
        ids.insert(one, 1);
        ids.insert(two, 2);
        ids.insert(one, 3);
        assert_eq!([ids.ids(one), ids.ids(two)], [vec![1, 3], vec![2]]);
        ids.remove(one, &1);
        ids.remove(one, &3);
        ids.remove(one, &3);
        assert_eq!(ids.ids(one), Vec::<i32>::new());
        assert_eq!(ids.0.len(), 1);
    }
}
