//! Limits on the number of tokens that a bridge serves: tokens with pages, tokens with waiting
//! clients, and tokens whose apps are only remembered. Each kind has its own limit, so that none
//! displaces the others, and every address its share of each.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bridge_auth::RealmId;
use bridge_realm::realm::Realm;
use tokio::time::Instant;

use super::party::{PageOrigin, PageParty};
use super::pool::{PoolPermit, PoolUse, SharedPool};
use crate::config::SharedLimits;

/// The class of a realm by its content. The most demanding content counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RealmClass {
    /// No pages or clients, and nothing is listed: only the ids of former sessions are remembered
    /// for a while.
    FormerSessions,
    /// No pages or clients: the items that the apps offered stay listed for a while.
    CatalogueOnly,
    /// Clients that wait for a page.
    Clients,
    Pages,
}

impl RealmClass {
    /// All classes.
    pub(crate) const ALL: [Self; 4] = [
        Self::FormerSessions,
        Self::CatalogueOnly,
        Self::Clients,
        Self::Pages,
    ];

    /// The name of the class in metrics.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::FormerSessions => "former",
            Self::CatalogueOnly => "listed",
            Self::Clients => "clients",
            Self::Pages => "pages",
        }
    }

    /// Returns the class of a realm by its current content.
    pub(crate) fn for_realm(realm: &Realm) -> Self {
        // Queries that wait for their page are as demanding as the page.
        let pages = realm.session_count() + realm.query_count();
        match (pages, realm.client_count()) {
            (0, 0) if realm.has_catalogue() => RealmClass::CatalogueOnly,
            (0, 0) => RealmClass::FormerSessions,
            (0, _) => RealmClass::Clients,
            _ => RealmClass::Pages,
        }
    }
}

/// The limits on the number of realms of each class.
#[derive(Debug)]
pub(crate) struct RealmSlots {
    former_sessions: Slots,
    catalogue_only: Slots,
    clients: Slots,
    pages: Slots,
    /// The realms of the class `Pages` that are not in use at the moment, and since when.
    idle: Mutex<HashMap<RealmId, Instant>>,
}

type Slots = SharedPool<PageOrigin, RealmSlot>;

#[derive(Clone, Copy, Debug)]
struct RealmSlot {
    realm: RealmId,
    acquired_at: Instant,
}

/// The permit of one realm, released when dropped.
#[derive(Debug)]
pub(crate) struct RealmPermit {
    class: RealmClass,
    permit: PoolPermit<PageOrigin, RealmSlot>,
}

impl RealmSlots {
    pub(crate) fn new(limits: &SharedLimits) -> Self {
        Self {
            former_sessions: SharedPool::new(limits.catalogues),
            catalogue_only: SharedPool::new(limits.catalogues),
            // A client over the limit is served, so no other one is disconnected for it.
            clients: SharedPool::with_reserve(limits.realms),
            pages: SharedPool::new(limits.realms),
            idle: Mutex::default(),
        }
    }

    fn slots(&self, class: RealmClass) -> &Slots {
        match class {
            RealmClass::FormerSessions => &self.former_sessions,
            RealmClass::CatalogueOnly => &self.catalogue_only,
            RealmClass::Clients => &self.clients,
            RealmClass::Pages => &self.pages,
        }
    }

    /// Acquires a permit of this class for a realm. Returns `None` when the limit of the class is
    /// reached.
    pub(crate) fn try_acquire(
        &self,
        class: RealmClass,
        party: &PageParty,
        realm: RealmId,
    ) -> Option<RealmPermit> {
        let slot = RealmSlot {
            realm,
            acquired_at: Instant::now(),
        };
        let permit = self.slots(class).try_acquire(party, slot)?;
        Some(RealmPermit { class, permit })
    }

    /// Records whether somebody uses a realm of the class `Pages`.
    pub(crate) fn set_idle(&self, realm: RealmId, is_idle: bool) {
        let mut idle = self.idle();
        if is_idle {
            idle.entry(realm).or_insert_with(Instant::now);
        } else {
            idle.remove(&realm);
        }
    }

    /// Returns the realm of this class that makes room for one more of the party. Returns `None`
    /// when no other party holds more, or when realms of the class make no room.
    pub(crate) fn realm_to_evict(&self, class: RealmClass, party: &PageParty) -> Option<RealmId> {
        let slot = match class {
            RealmClass::Clients => None,
            RealmClass::Pages => {
                let idle = self.idle();
                let idle_since = |slot: &RealmSlot| idle.get(&slot.realm).copied();
                self.pages.entry_to_evict(party, idle_since)
            }
            RealmClass::FormerSessions | RealmClass::CatalogueOnly => self
                .slots(class)
                .entry_to_evict(party, |slot| Some(slot.acquired_at)),
        };
        slot.map(|slot| slot.entry.realm)
    }

    /// Returns how many tokens with pages the party has.
    pub(crate) fn pages_of(&self, party: &PageParty) -> PoolUse {
        self.pages.used_by(party)
    }

    fn idle(&self) -> MutexGuard<'_, HashMap<RealmId, Instant>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RealmPermit {
    /// Returns the class that the permit is for.
    pub(crate) fn class(&self) -> RealmClass {
        self.class
    }

    /// Returns the party whose share the permit is part of.
    pub(crate) fn party(&self) -> &PageParty {
        self.permit.party()
    }
}
