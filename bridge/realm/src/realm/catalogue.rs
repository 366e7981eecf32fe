//! The last-known catalogue: what an app offered when its last page left stays listed for a while,
//! so that a client that asks before the page is open learns what there will be.

use std::time::Instant;

use bridge_protocol::Kind;
use indexmap::IndexMap;

use super::app_key::AppKey;
#[cfg(any(test, feature = "simulation"))]
use super::deadlines::Deadline;
use crate::definition::Definition;

/// Of so many apps a token's catalogue is kept. One more, and the one that left first goes.
pub(super) const MAX_CATALOGUE_APPS: usize = 8;

/// What an app offered when its last page left.
#[derive(Debug)]
pub(super) struct CatalogueEntry {
    pub(super) definitions: Vec<Definition>,
    pub(super) until: Instant,
}

#[derive(Debug, Default)]
pub(super) struct Catalogue(IndexMap<AppKey, CatalogueEntry>);

/// An app that has what a caller wants, and no page open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfflineApp {
    pub name: String,
    pub origin: Option<String>,
}

impl Catalogue {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.0.values().flat_map(|app| &app.definitions)
    }

    pub(super) fn definitions_mut(&mut self) -> impl Iterator<Item = &mut Definition> {
        self.0.values_mut().flat_map(|app| &mut app.definitions)
    }

    pub(super) fn apps(&self) -> impl Iterator<Item = &AppKey> {
        self.0.keys()
    }

    /// The app to forget before another one is added: the one that left first, when there are as
    /// many as may be remembered.
    pub(super) fn app_to_evict(&self) -> Option<&AppKey> {
        self.apps()
            .next()
            .filter(|_| self.0.len() >= MAX_CATALOGUE_APPS)
    }

    pub(super) fn insert(&mut self, app: AppKey, entry: CatalogueEntry) {
        self.0.insert(app, entry);
    }

    pub(super) fn remove(&mut self, app: &AppKey) -> Option<CatalogueEntry> {
        self.0.shift_remove(app)
    }

    /// The app that had something of this name.
    pub(super) fn find_app_by_name(&self, kind: Kind, name: &str) -> Option<OfflineApp> {
        let has = |app: &CatalogueEntry| {
            let mut definitions = app.definitions.iter();
            definitions
                .any(|it| it.kind() == kind && (it.published_name() == name || it.name() == name))
        };
        self.find_app(has)
    }

    /// The app that served a URI.
    pub(super) fn find_app_by_uri(&self, uri: &str) -> Option<OfflineApp> {
        self.find_app(|app| app.definitions.iter().any(|it| it.serves(uri)))
    }

    fn find_app(&self, wanted: impl Fn(&CatalogueEntry) -> bool) -> Option<OfflineApp> {
        let (key, _) = self.0.iter().rev().find(|(_, app)| wanted(app))?;
        Some(OfflineApp {
            name: key.name.clone(),
            origin: key.origin.clone(),
        })
    }

    /// Each entry's deadline, for the check of invariants.
    #[cfg(any(test, feature = "simulation"))]
    pub(super) fn deadlines(&self) -> impl Iterator<Item = (Instant, Deadline)> {
        self.0
            .iter()
            .map(|(key, app)| (app.until, Deadline::Catalogue(key.clone())))
    }

    #[cfg(any(test, feature = "simulation"))]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
