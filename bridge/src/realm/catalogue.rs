//! The last-known catalogue: what an app offered when its last page left stays listed for a while,
//! so that a client that asks before the page is open learns what there will be.

use std::time::Instant;

use bridge_protocol::{Kind, SessionId};
use indexmap::IndexMap;

use super::deadlines::Deadline;
use super::registration::lists_changed;
use super::session::{Lists, lists_of};
use super::{Effects, Now, Realm};
use crate::definition::Definition;

/// Of so many apps a token's catalogue is kept. One more, and the one that left first goes.
pub(super) const MAX_APPS: usize = 8;

/// Tells the apps of a token apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct AppKey {
    pub(super) name: String,
    pub(super) origin: Option<String>,
}

/// What an app offered when its last page left.
#[derive(Debug)]
pub(super) struct Remembered {
    definitions: Vec<Definition>,
    until: Instant,
}

#[derive(Debug, Default)]
pub(super) struct Catalogue(IndexMap<AppKey, Remembered>);

/// An app that has what a caller wants, and no page open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClosedApp {
    pub(crate) name: String,
    pub(crate) origin: Option<String>,
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
    pub(super) fn app_of(&self, kind: Kind, name: &str) -> Option<ClosedApp> {
        let has = |app: &Remembered| {
            let mut definitions = app.definitions.iter();
            definitions
                .any(|it| it.kind() == kind && (it.published_name() == name || it.name() == name))
        };
        self.closed(has)
    }

    /// The app that served a URI.
    pub(super) fn app_serving(&self, uri: &str) -> Option<ClosedApp> {
        self.closed(|app| app.definitions.iter().any(|it| it.serves(uri)))
    }

    fn closed(&self, wanted: impl Fn(&Remembered) -> bool) -> Option<ClosedApp> {
        let (key, _) = self.0.iter().rev().find(|(_, app)| wanted(app))?;
        Some(ClosedApp {
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
    pub(super) fn remember(&mut self, id: &SessionId, now: Now) -> bool {
        let ttl = self.limits.catalogue_ttl;
        let Some(session) = self.sessions.get(id) else {
            return false;
        };
        let Some(app) = session.app() else {
            return false;
        };
        let mut others = self.sessions.iter().filter(|(other, _)| *other != id);
        let is_open = others.any(|(_, session)| session.app().as_ref() == Some(&app));
        if ttl.is_zero() || is_open || session.items.is_empty() {
            return false;
        }
        let items = session.items.iter();
        let definitions = items.map(|item| item.definition.clone()).collect();
        self.forget_app(&app);
        if self.catalogue.0.len() >= MAX_APPS
            && let Some(first) = self.catalogue.0.keys().next().cloned()
        {
            self.forget_app(&first);
        }
        let until = now.instant + ttl;
        self.deadlines
            .insert(until, Deadline::Catalogue(app.clone()));
        let remembered = Remembered { definitions, until };
        self.catalogue.0.insert(app, remembered);
        true
    }

    /// A page of the app has registered, or its time is over: what was listed of it.
    pub(super) fn forget_app(&mut self, app: &AppKey) -> Option<Lists> {
        let remembered = self.catalogue.0.shift_remove(app)?;
        let due = (remembered.until, Deadline::Catalogue(app.clone()));
        self.deadlines.remove(due);
        Some(lists_of(remembered.definitions.iter()))
    }

    /// Nobody remembers what a token's apps offered, and which sessions it had.
    pub(crate) fn forget_remembered(&mut self) {
        self.forget_former_sessions();
        let apps: Vec<_> = self.catalogue.0.keys().cloned().collect();
        for app in apps {
            self.forget_app(&app);
        }
    }

    pub(super) fn catalogue_due(&mut self, app: &AppKey) -> Effects {
        let had = self.forget_app(app).unwrap_or_default();
        lists_changed(had.into_keys().collect())
    }
}
