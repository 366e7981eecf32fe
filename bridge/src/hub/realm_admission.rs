//! Which realms there are: a realm is created for its first page or client, counts for the share of
//! a party, makes room for the realms of others, and is removed when it has no content.

use std::sync::Arc;

use bridge_auth::RealmId;
use bridge_protocol::ErrorCode;
use bridge_realm::realm::{Effects, Now, Realm, Refusal};
use dashmap::mapref::entry::Entry as MapEntry;
use dashmap::mapref::one::RefMut;

use super::{Hub, RealmEntry};
use crate::budget::{PageParty, Party, RealmClass};

/// How many realms may be evicted for one. Several are needed only if others take their places.
const MAX_EVICTIONS: usize = 8;

impl Hub {
    /// Runs one event in a realm, which is created for this party if it does not exist. Returns
    /// `None` when the limit of realms of this class is reached, and no other realm makes room.
    pub(super) fn apply_or_create<T, E>(
        &self,
        id: RealmId,
        class: RealmClass,
        party: &PageParty,
        event: impl FnOnce(&mut RealmEntry, Now) -> Result<(T, Effects), E>,
    ) -> Option<Result<T, E>> {
        let mut entry = self.admit(id, class, party)?;
        let outcome = event(&mut entry, self.now()).map(|(outcome, effects)| {
            self.apply_effects(id, &mut entry, effects);
            outcome
        });
        drop(entry);
        match &outcome {
            Ok(_) if class == RealmClass::Pages => {
                self.budgets.realms.set_idle(id, false);
                // The page may have taken the place of another one.
                self.limit_catalogues();
            }
            Ok(_) => {}
            Err(_) => self.remove_if_empty(id),
        }
        Some(outcome)
    }

    /// Returns the entry of a realm with a permit of at least this class.
    fn admit(
        &self,
        id: RealmId,
        class: RealmClass,
        party: &PageParty,
    ) -> Option<RefMut<'_, RealmId, Box<RealmEntry>>> {
        for _ in 0..MAX_EVICTIONS {
            if let Some(entry) = self.try_admit(id, class, party) {
                return Some(entry);
            }
            if !self.evict_realm(class, party) {
                return None;
            }
        }
        self.try_admit(id, class, party)
    }

    fn try_admit(
        &self,
        id: RealmId,
        class: RealmClass,
        party: &PageParty,
    ) -> Option<RefMut<'_, RealmId, Box<RealmEntry>>> {
        match self.realms.entry(id) {
            MapEntry::Occupied(mut occupied) => {
                let entry = occupied.get_mut();
                if entry.permit.class() < class {
                    entry.permit = self.budgets.realms.try_acquire(class, party, id)?;
                }
                Some(occupied.into_ref())
            }
            MapEntry::Vacant(vacant) => {
                let permit = self.budgets.realms.try_acquire(class, party, id)?;
                let realm = Realm::new(Arc::clone(&self.realm_limits));
                let catalogue = self.budgets.catalogues.lease(Party::new(party.address, id));
                Some(vacant.insert(Box::new(RealmEntry::new(realm, permit, catalogue))))
            }
        }
    }

    /// Removes a realm that has no content. A realm with content gets the permit of the class that
    /// its content has now; if there is none, its remembered state is dropped. Other realms may
    /// lose closed apps, if this one has added some.
    pub(crate) fn remove_if_empty(&self, id: RealmId) {
        self.limit_catalogues();
        self.adjust_permit(id);
    }

    fn adjust_permit(&self, id: RealmId) {
        for _ in 0..MAX_EVICTIONS {
            let Some((class, party)) = self.try_remove_if_empty(id) else {
                return;
            };
            if !self.evict_realm(class, &party) {
                break;
            }
        }
        if self.try_remove_if_empty(id).is_some() {
            self.forget_history(id);
        }
    }

    /// Does what [`Self::adjust_permit`] does, if that needs no other realm's place. Otherwise
    /// returns the class and the party for which there is no permit.
    fn try_remove_if_empty(&self, id: RealmId) -> Option<(RealmClass, PageParty)> {
        let mut shortage = None;
        self.realms.remove_if_mut(&id, |_, entry| {
            let is_empty = entry.realm.is_empty();
            let class = RealmClass::for_realm(&entry.realm);
            if !is_empty && class < entry.permit.class() {
                let party = entry.permit.party().clone();
                match self.budgets.realms.try_acquire(class, &party, id) {
                    Some(permit) => entry.permit = permit,
                    // The limit of tokens with waiting clients is reached: this realm retains its
                    // higher permit.
                    None if class == RealmClass::Clients => {}
                    None => shortage = Some((class, party)),
                }
            }
            let is_idle = class == RealmClass::Pages && !entry.realm.is_in_use();
            self.budgets.realms.set_idle(id, is_idle);
            is_empty
        });
        shortage
    }

    /// Removes what a realm remembers of pages that are gone, and the realm if nothing is left.
    fn forget_history(&self, id: RealmId) {
        self.realms.remove_if_mut(&id, |_, entry| {
            entry.realm.clear_history();
            self.record_catalogue(id, entry);
            entry.realm.is_empty()
        });
    }

    /// Removes closed apps from the largest catalogues, until the limit of all is met.
    fn limit_catalogues(&self) {
        while let Some(largest) = self.budgets.catalogues.largest_over_limit() {
            let id = largest.member;
            let evicted = self.apply(id, |realm, _| ((), realm.oldest_app_evicted()));
            if evicted.is_none() {
                return;
            }
            self.adjust_permit(id);
        }
    }

    /// Records the bytes of a realm's catalogue, if they have changed.
    pub(super) fn record_catalogue(&self, id: RealmId, entry: &mut RealmEntry) {
        let bytes = entry.realm.catalogue_bytes();
        if entry.catalogue.bytes() != bytes {
            let address = entry.permit.party().address;
            entry.catalogue.set(Party::new(address, id), bytes);
        }
    }

    /// Takes the place of a realm of this class for one more of the party. Returns false when no
    /// realm makes room.
    fn evict_realm(&self, class: RealmClass, party: &PageParty) -> bool {
        let Some(id) = self.budgets.realms.realm_to_evict(class, party) else {
            return false;
        };
        // Otherwise the realm has left the class meanwhile.
        if let Some(mut entry) = self.realms.get_mut(&id)
            && entry.permit.class() == class
        {
            if class == RealmClass::Pages {
                // The lines about its pages have a limit.
                tracing::debug!(realm = ?id, "a realm made room for one of another party");
                let effects = entry.realm.evicted(self.now());
                self.apply_effects(id, &mut entry, effects);
            } else {
                entry.realm.clear_history();
                self.record_catalogue(id, &mut entry);
            }
        }
        self.adjust_permit(id);
        true
    }

    /// The refusal of a page when the limit of tokens with pages is reached.
    pub(super) fn too_many_realms(&self, party: &PageParty) -> Refusal {
        let used = self.budgets.realms.pages_of(party);
        Refusal {
            code: ErrorCode::RealmLimitExceeded,
            message: format!(
                "{} tokens have pages, {} of them from {}: raise `max_realms`",
                used.capacity, used.by_address, party.address
            ),
        }
    }
}
