//! Limits on the number of tokens that a bridge serves: tokens with pages, tokens with waiting
//! clients, and tokens whose apps are only remembered. Each kind has its own limit, so that none
//! displaces the others.

use std::sync::Arc;

use bridge_realm::realm::Realm;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::Config;

/// The class of a realm by its content. The most demanding content counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RealmClass {
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
    /// Returns the class of a realm by its current content.
    pub(super) fn for_realm(realm: &Realm) -> Self {
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
pub(super) struct RealmSlots {
    former_sessions: Arc<Semaphore>,
    catalogue_only: Arc<Semaphore>,
    clients: Arc<Semaphore>,
    pages: Arc<Semaphore>,
}

/// The permit of one realm, released when dropped.
#[derive(Debug)]
pub(super) struct RealmPermit {
    class: RealmClass,
    _permit: OwnedSemaphorePermit,
}

impl RealmSlots {
    pub(super) fn new(config: &Config) -> Self {
        let slots = |max| Arc::new(Semaphore::new(max));
        Self {
            former_sessions: slots(config.tabs.max_catalogues),
            catalogue_only: slots(config.tabs.max_catalogues),
            clients: slots(config.max_realms),
            pages: slots(config.max_realms),
        }
    }

    /// Acquires a permit for a realm of this class. Returns `None` when the limit of the class is
    /// reached.
    pub(super) fn try_acquire(&self, occupancy: RealmClass) -> Option<RealmPermit> {
        let places = match occupancy {
            RealmClass::FormerSessions => &self.former_sessions,
            RealmClass::CatalogueOnly => &self.catalogue_only,
            RealmClass::Clients => &self.clients,
            RealmClass::Pages => &self.pages,
        };
        let _permit = Arc::clone(places).try_acquire_owned().ok()?;
        Some(RealmPermit {
            class: occupancy,
            _permit,
        })
    }
}

impl RealmPermit {
    /// Returns the class that the permit is for.
    pub(super) fn class(&self) -> RealmClass {
        self.class
    }
}
