//! The catalogue of a realm: the definitions of an app stay listed for a while after its last page
//! has left, so that a client sees them before a page is open again.

use web_time::Instant;

use bridge_protocol::Kind;
use indexmap::IndexMap;

use super::app_key::AppKey;
#[cfg(any(test, feature = "in-memory"))]
use super::deadlines::Deadline;
use crate::definition::SharedDefinition;

/// The number of apps in the catalogue of a realm. When one more is added, the oldest is removed.
pub(super) const MAX_CATALOGUE_APPS: usize = 8;

/// The definitions that an app had when its last page left.
#[derive(Debug)]
pub(super) struct CatalogueEntry {
    pub(super) definitions: Vec<SharedDefinition>,
    /// The size of the definitions as registered, in bytes.
    pub(super) bytes: usize,
    pub(super) until: Instant,
}

/// The entries of all apps, in the order in which their last pages left.
#[derive(Debug, Default)]
pub(super) struct Catalogue(IndexMap<AppKey, CatalogueEntry>);

/// An app that had the requested item and has no page open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfflineApp {
    pub name: String,
    pub origin: Option<String>,
}

impl Catalogue {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, app: &AppKey) -> bool {
        self.0.contains_key(app)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&AppKey, &CatalogueEntry)> {
        self.0.iter()
    }

    pub(super) fn definitions(&self) -> impl Iterator<Item = &SharedDefinition> {
        self.0.values().flat_map(|app| &app.definitions)
    }

    pub(super) fn definitions_mut(&mut self) -> impl Iterator<Item = &mut SharedDefinition> {
        self.0.values_mut().flat_map(|app| &mut app.definitions)
    }

    pub(super) fn apps(&self) -> impl Iterator<Item = &AppKey> {
        self.0.keys()
    }

    /// The size of all definitions as registered, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.0.values().map(|app| app.bytes).sum()
    }

    /// The app that was added first.
    pub(super) fn oldest_app(&self) -> Option<&AppKey> {
        self.apps().next()
    }

    /// The app to remove before one with definitions of this size is added: the oldest one if the
    /// catalogue is full.
    pub(super) fn app_to_evict(&self, bytes: usize, max_bytes: usize) -> Option<&AppKey> {
        let is_full = self.0.len() >= MAX_CATALOGUE_APPS || self.bytes() + bytes > max_bytes;
        self.oldest_app().filter(|_| is_full)
    }

    pub(super) fn insert(&mut self, app: AppKey, entry: CatalogueEntry) {
        self.0.insert(app, entry);
    }

    pub(super) fn remove(&mut self, app: &AppKey) -> Option<CatalogueEntry> {
        self.0.shift_remove(app)
    }

    /// The app that had an item of this kind and name.
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

    /// The deadline of each entry, for the check of invariants.
    #[cfg(any(test, feature = "in-memory"))]
    pub(super) fn deadlines(&self) -> impl Iterator<Item = (Instant, Deadline)> {
        self.0
            .iter()
            .map(|(key, app)| (app.until, Deadline::Catalogue(key.clone())))
    }

    #[cfg(any(test, feature = "in-memory"))]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
