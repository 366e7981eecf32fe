//! How many tokens a bridge serves: those with pages, those that clients wait with, and those whose
//! apps are only remembered, each counted on its own, so that none crowds out the others.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::Config;
use crate::realm::Realm;

/// What is in a realm: the most demanding of it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Occupancy {
    /// Nobody, and nothing is listed: which sessions it had is known for a while.
    Former,
    /// Nobody: what its apps offered stays listed for a while.
    Remembered,
    /// Clients that wait for a page.
    Clients,
    Pages,
}

impl Occupancy {
    pub(super) fn of(realm: &Realm) -> Self {
        // Queries that wait for their page are as demanding as the page.
        let pages = realm.session_count() + realm.query_count();
        match (pages, realm.client_count()) {
            (0, 0) if realm.lists_closed_apps() => Occupancy::Remembered,
            (0, 0) => Occupancy::Former,
            (0, _) => Occupancy::Clients,
            _ => Occupancy::Pages,
        }
    }
}

#[derive(Debug)]
pub(super) struct Places {
    former: Arc<Semaphore>,
    remembered: Arc<Semaphore>,
    clients: Arc<Semaphore>,
    pages: Arc<Semaphore>,
}

/// The place of one realm, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    occupancy: Occupancy,
    _permit: OwnedSemaphorePermit,
}

impl Places {
    pub(super) fn new(config: &Config) -> Self {
        let places = |most| Arc::new(Semaphore::new(most));
        Self {
            former: places(config.tabs.max_catalogues),
            remembered: places(config.tabs.max_catalogues),
            clients: places(config.max_realms),
            pages: places(config.max_realms),
        }
    }

    /// `None` when there are as many as may be.
    pub(super) fn take(&self, occupancy: Occupancy) -> Option<Place> {
        let places = match occupancy {
            Occupancy::Former => &self.former,
            Occupancy::Remembered => &self.remembered,
            Occupancy::Clients => &self.clients,
            Occupancy::Pages => &self.pages,
        };
        let _permit = Arc::clone(places).try_acquire_owned().ok()?;
        Some(Place { occupancy, _permit })
    }
}

impl Place {
    pub(super) fn occupancy(&self) -> Occupancy {
        self.occupancy
    }
}
