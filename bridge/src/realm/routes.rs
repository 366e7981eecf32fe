//! Which sessions have a tool: looked for once, not with each call.

use std::collections::HashMap;

use bridge_protocol::{Kind, SessionId};

use super::routing::Sessions;
use crate::definition::Definition;

/// So many names are remembered. With more than that in use, some are looked for again.
const NAMES: usize = 16 * 1024;

/// A name that more sessions have than this is looked for each time: who calls it hears of them all.
const SESSIONS: usize = 16;

/// Sessions that had a tool of a name when it was called last. Those that have lost it since are
/// still named; none is missing, as a registration has its names looked for anew.
#[derive(Debug, Default)]
pub(super) struct Routes(HashMap<String, Vec<SessionId>>);

impl Routes {
    /// A page registers this.
    pub(super) fn forget(&mut self, registered: &Definition) {
        self.0.remove(registered.name());
        self.0.remove(registered.published_name());
    }

    /// Where to look for a tool, in order of connection. `None`: everywhere.
    pub(super) fn to(&mut self, name: &str, sessions: &Sessions) -> Option<&[SessionId]> {
        if !self.0.contains_key(name) {
            let having = sessions
                .iter()
                .filter(|(_, session)| session.item(Kind::Tool, name).is_some())
                .map(|(id, _)| id.clone());
            let having: Vec<_> = having.take(SESSIONS + 1).collect();
            if having.is_empty() || having.len() > SESSIONS {
                return None;
            }
            if self.0.len() >= NAMES {
                self.0.clear();
            }
            self.0.insert(name.to_owned(), having);
        }
        self.0.get(name).map(Vec::as_slice)
    }

    /// Panics when a session is missing.
    #[cfg(any(test, feature = "simulation"))]
    pub(super) fn check(&self, sessions: &Sessions) {
        assert!(self.0.len() <= NAMES);
        for (name, known) in &self.0 {
            for (id, session) in sessions {
                let has = session.item(Kind::Tool, name).is_some();
                assert!(!has || known.contains(id), "{id} is missing for `{name}`");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{LIMITS, hello, tool};
    use super::super::{ConnectionId, Now, Realm, RealmLimits};
    use super::*;

    /// A realm with so many pages that have the tool `t`.
    fn realm(pages: usize) -> Realm {
        let mut realm = Realm::new(RealmLimits {
            sessions: pages,
            ..LIMITS
        });
        let now = Now {
            instant: std::time::Instant::now(),
            unix_ms: 0,
        };
        for page in 1..=pages {
            let session = format!("tab-{page}");
            let connection = ConnectionId(page as u64);
            let connected = realm.page_connected(connection, hello(&session), now);
            assert!(connected.is_ok());
            let session = SessionId::from(session.as_str());
            realm.items_registered(&session, connection, "r".into(), vec![Ok(tool("t"))]);
        }
        realm
    }

    #[test]
    fn a_name_of_many_sessions_is_looked_for_each_time() {
        let mut few = realm(SESSIONS);
        let found = few.routes.to("t", &few.sessions).unwrap();
        assert_eq!(found.len(), SESSIONS);
        assert_eq!(few.routes.0.len(), 1);
        let mut many = realm(SESSIONS + 1);
        assert!(many.routes.to("t", &many.sessions).is_none());
        assert!(many.routes.0.is_empty());
    }

    #[test]
    fn so_many_names_are_remembered() {
        let mut realm = realm(1);
        let names = (0..NAMES).map(|n| (n.to_string(), Vec::new()));
        realm.routes = Routes(names.collect());
        assert!(realm.routes.to("t", &realm.sessions).is_some());
        assert_eq!(realm.routes.0.len(), 1);
    }
}
