//! The last-known catalogue: what an app offered when its last page left stays listed for a while,
//! so that a client that asks before the page is open learns what there will be.

use std::time::Instant;

use bridge_protocol::{Kind, SessionId};
use indexmap::IndexMap;

use super::app_key::AppKey;
use super::deadlines::Deadline;
use super::session::{ListHashes, hash_lists};
use super::{Effects, Now, Realm};
use crate::definition::Definition;
use crate::realm::registration_events::list_changed_effects;

/// Of so many apps a token's catalogue is kept. One more, and the one that left first goes.
pub(super) const MAX_CATALOGUE_APPS: usize = 8;

/// What an app offered when its last page left.
#[derive(Debug)]
pub(super) struct CatalogueEntry {
    definitions: Vec<Definition>,
    until: Instant,
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

impl Realm {
    /// The page of a session leaves. True when what it offered stays listed.
    pub(super) fn add_to_catalogue(&mut self, id: &SessionId, now: Now) -> bool {
        let ttl = self.limits.catalogue_ttl;
        let Some(session) = self.sessions.get(id) else {
            return false;
        };
        let Some(app) = session.app() else {
            return false;
        };
        let mut others = self.sessions.iter().filter(|(other, _)| *other != id);
        let has_other_page = others.any(|(_, session)| session.app().as_ref() == Some(&app));
        if ttl.is_zero() || has_other_page || session.items.is_empty() {
            return false;
        }
        let items = session.items.iter();
        let definitions = items.map(|item| item.definition.clone()).collect();
        self.remove_from_catalogue(&app);
        if self.catalogue.0.len() >= MAX_CATALOGUE_APPS
            && let Some(first) = self.catalogue.0.keys().next().cloned()
        {
            self.remove_from_catalogue(&first);
        }
        let until = now.instant + ttl;
        self.deadlines
            .insert(until, Deadline::Catalogue(app.clone()));
        let entry = CatalogueEntry { definitions, until };
        self.catalogue.0.insert(app, entry);
        true
    }

    /// A page of the app has registered, or its time is over: what was listed of it.
    pub(super) fn remove_from_catalogue(&mut self, app: &AppKey) -> Option<ListHashes> {
        let remembered = self.catalogue.0.shift_remove(app)?;
        let due = (remembered.until, Deadline::Catalogue(app.clone()));
        self.deadlines.remove(due);
        Some(hash_lists(remembered.definitions.iter()))
    }

    /// Nobody remembers what a token's apps offered, and which sessions it had.
    pub fn clear_history(&mut self) {
        self.clear_former_sessions();
        let apps: Vec<_> = self.catalogue.0.keys().cloned().collect();
        for app in apps {
            self.remove_from_catalogue(&app);
        }
    }

    pub(super) fn catalogue_expired(&mut self, app: &AppKey) -> Effects {
        let had = self.remove_from_catalogue(app).unwrap_or_default();
        list_changed_effects(had.into_keys().collect())
    }
}
