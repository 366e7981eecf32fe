//! Apps are added to the catalogue when their last page leaves, and removed from it when a page
//! registers their items again. The module `expiry` removes them when their time has passed.

use std::time::Duration;

use bridge_protocol::SessionId;

use super::app_key::AppKey;
use super::catalogue::CatalogueEntry;
use super::deadlines::Deadline;
use super::registration_events::list_changed_effects;
use super::session::{ListHashes, hash_lists};
use super::{Effects, Now, Realm};
use crate::definition::SharedDefinition;

/// An app in the catalogue, as another bridge gets it that serves the realm from now on.
#[derive(Clone, Debug)]
pub struct ClosedApp {
    pub name: String,
    pub origin: Option<String>,
    pub definitions: Vec<SharedDefinition>,
    /// How long its definitions are still listed.
    pub listed_for: Duration,
}

impl Realm {
    /// Adds the definitions of a session that ends to the catalogue, if it was the last one of its
    /// app and they are not too large. The oldest apps make room. Returns the definitions that are
    /// no longer listed.
    pub(super) fn add_to_catalogue(&mut self, id: &SessionId, now: Now) -> ListHashes {
        let Some(session) = self.sessions.get(id) else {
            return ListHashes::new();
        };
        let ttl = self.limits.catalogue_ttl;
        let (lists, bytes) = (session.list_hashes(), session.definition_bytes());
        let max_bytes = self.limits.catalogue_bytes;
        let Some(app) = session.app() else {
            return lists;
        };
        let mut others = self.sessions.iter().filter(|(other, _)| *other != id);
        let has_other_page = others.any(|(_, session)| session.app().as_ref() == Some(&app));
        if ttl.is_zero() || has_other_page || session.items.is_empty() || bytes > max_bytes {
            return lists;
        }
        let items = session.items.iter();
        let definitions = items.map(|item| item.definition.clone()).collect();
        self.remove_from_catalogue(&app);
        let entry = CatalogueEntry {
            definitions,
            bytes,
            until: now.instant + ttl,
        };
        self.insert_in_catalogue(app, entry)
    }

    /// Adds an app that is not in the catalogue and not too large. The oldest apps make room. Returns the
    /// definitions that are no longer listed.
    fn insert_in_catalogue(&mut self, app: AppKey, entry: CatalogueEntry) -> ListHashes {
        let max_bytes = self.limits.catalogue_bytes;
        let mut removed = ListHashes::new();
        while let Some(oldest) = self.catalogue.app_to_evict(entry.bytes, max_bytes).cloned() {
            removed.extend(self.remove_from_catalogue(&oldest).unwrap_or_default());
        }
        self.deadlines
            .insert(entry.until, Deadline::Catalogue(app.clone()));
        self.catalogue.insert(app, entry);
        removed
    }

    /// The size of the definitions in the catalogue as registered, in bytes.
    pub fn catalogue_bytes(&self) -> usize {
        self.catalogue.bytes()
    }

    /// The apps in the catalogue, the oldest first.
    pub fn closed_apps(&self, now: Now) -> Vec<ClosedApp> {
        let apps = self.catalogue.entries();
        apps.map(|(key, entry)| ClosedApp {
            name: key.name.clone(),
            origin: key.origin.clone(),
            definitions: entry.definitions.clone(),
            listed_for: entry.until.saturating_duration_since(now.instant),
        })
        .collect()
    }

    /// The bridge that served this realm before has handed an app over. It is added to the catalogue within
    /// the limits of this bridge, unless the app is known here.
    pub fn closed_app_handed_over(&mut self, app: ClosedApp, now: Now) -> Effects {
        let ClosedApp {
            name,
            origin,
            definitions,
            listed_for,
        } = app;
        let app = AppKey { name, origin };
        let ttl = listed_for.min(self.limits.catalogue_ttl);
        let bytes = definitions.iter().map(SharedDefinition::bytes).sum();
        let mut sessions = self.sessions.values();
        let is_known = self.catalogue.has(&app)
            || sessions.any(|session| session.app().as_ref() == Some(&app));
        if is_known
            || ttl.is_zero()
            || definitions.is_empty()
            || definitions.len() > self.limits.definitions_per_session
            || bytes > self.limits.catalogue_bytes
        {
            return Effects::new();
        }
        let entry = CatalogueEntry {
            definitions,
            bytes,
            until: now.instant + ttl,
        };
        let listed = hash_lists(entry.definitions.iter());
        let removed = self.insert_in_catalogue(app, entry);
        list_changed_effects(listed.into_keys().chain(removed.into_keys()).collect())
    }

    /// The bridge needs memory for the catalogues of other realms, so the oldest app is removed.
    pub fn oldest_app_evicted(&mut self) -> Effects {
        match self.catalogue.oldest_app().cloned() {
            Some(oldest) => self.catalogue_expired(&oldest),
            None => Effects::new(),
        }
    }

    /// Removes an app from the catalogue and returns the hashes of its definitions.
    pub(super) fn remove_from_catalogue(&mut self, app: &AppKey) -> Option<ListHashes> {
        let remembered = self.catalogue.remove(app)?;
        let due = (remembered.until, Deadline::Catalogue(app.clone()));
        self.deadlines.remove(due);
        Some(hash_lists(remembered.definitions.iter()))
    }

    /// Clears the catalogue and the former sessions.
    pub fn clear_history(&mut self) {
        self.clear_former_sessions();
        let apps: Vec<_> = self.catalogue.apps().cloned().collect();
        for app in apps {
            self.remove_from_catalogue(&app);
        }
    }
}
