//! Apps are added to the catalogue when their last page leaves, and removed from it when they
//! reconnect or their time has passed.

use bridge_protocol::SessionId;

use super::app_key::AppKey;
use super::catalogue::CatalogueEntry;
use super::deadlines::Deadline;
use super::registration_events::list_changed_effects;
use super::session::{ListHashes, hash_lists};
use super::{Effects, Now, Realm};

impl Realm {
    /// Adds the definitions of a session that ends to the catalogue, if it was the last one of its
    /// app. Returns whether the definitions stay listed.
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
        if let Some(oldest) = self.catalogue.app_to_evict().cloned() {
            self.remove_from_catalogue(&oldest);
        }
        let until = now.instant + ttl;
        self.deadlines
            .insert(until, Deadline::Catalogue(app.clone()));
        let entry = CatalogueEntry { definitions, until };
        self.catalogue.insert(app, entry);
        true
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

    /// The time of an app in the catalogue has passed, so its definitions are no longer listed.
    pub(super) fn catalogue_expired(&mut self, app: &AppKey) -> Effects {
        let had = self.remove_from_catalogue(app).unwrap_or_default();
        list_changed_effects(had.into_keys().collect())
    }
}
