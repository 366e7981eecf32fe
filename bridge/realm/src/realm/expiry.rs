//! Removes state whose time has passed: items that no page registers again, the catalogue, the ids of
//! former sessions, and the messages of ended queries. Each has its own deadline.

use std::time::Duration;
use web_time::Instant;

use bridge_protocol::{QueryId, SessionId};

use super::app_key::AppKey;
use super::registration_events::list_changed_effects;
use super::session::ListHashes;
use super::{Effects, Now, Phase, Realm, Session};

/// How long a page that has connected may take to register something. Until then, the items of its
/// session's earlier connections and those of its app in the catalogue stay listed.
pub(super) const FORMER_ITEMS_TTL: Duration = Duration::from_secs(25);

/// How long ids and names are remembered, counted from the end of the session that ended last.
pub(super) const FORMER_SESSIONS_TTL: Duration = Duration::from_secs(3600);

impl Realm {
    /// A page has connected: sets the deadline of the items that are listed for it and that it has
    /// not registered on this connection.
    pub(super) fn expect_registration(&mut self, id: &SessionId, now: Now) {
        let Some(session) = self.sessions.get(id) else {
            return;
        };
        let is_catalogued = || session.app().is_some_and(|app| self.catalogue.has(&app));
        if session.items_are_former() || is_catalogued() {
            self.update_session(id, |session| {
                if let Phase::Connected {
                    former_items_until, ..
                } = &mut session.phase
                {
                    *former_items_until = Some(now.instant + FORMER_ITEMS_TTL);
                }
            });
        }
    }

    /// A page has not registered anything in time.
    pub(super) fn former_items_expired(&mut self, id: &SessionId) -> Effects {
        let former = self.update_session(id, Session::take_former_items);
        let app = self.sessions.get(id).and_then(Session::app);
        // Another page of the app may have connected later.
        let app = app.filter(|app| !self.is_registration_expected(app));
        let catalogued = app.and_then(|app| self.remove_from_catalogue(&app));
        let lists = former.flatten().into_iter().chain(catalogued);
        list_changed_effects(lists.flat_map(ListHashes::into_keys).collect())
    }

    /// Returns whether a page of the app has connected and may still register something.
    fn is_registration_expected(&self, app: &AppKey) -> bool {
        self.sessions.values().any(|session| {
            let is_expected = matches!(
                session.phase,
                Phase::Connected {
                    former_items_until: Some(_),
                    ..
                }
            );
            is_expected && session.app().as_ref() == Some(app)
        })
    }

    /// The time of an app in the catalogue has passed, so its definitions are no longer listed.
    pub(super) fn catalogue_expired(&mut self, app: &AppKey) -> Effects {
        let had = self.remove_from_catalogue(app).unwrap_or_default();
        list_changed_effects(had.into_keys().collect())
    }

    /// The time of the ids and names of former sessions has passed.
    pub(super) fn former_sessions_expired(&mut self) -> Effects {
        self.clear_former_sessions();
        Effects::new()
    }

    /// A deadline of an ended query has passed: its page no longer receives its messages, or its id
    /// is released.
    pub(super) fn ended_query_expired(&mut self, id: &QueryId, now: Now) -> Effects {
        let passed = |at: Option<Instant>| at.is_some_and(|at| at <= now.instant);
        self.update_ended_query(id, |ended| {
            if passed(ended.attachable_until) {
                ended.attachable_until = None;
                if ended.must_attach {
                    ended.delivery.clear();
                } else {
                    ended.delivery.drop_delivered();
                }
            }
        });
        match self.ended_queries.get(id) {
            Some(ended) if passed(ended.state.until()) => self.release_query_id(id),
            _ => Effects::new(),
        }
    }
}
