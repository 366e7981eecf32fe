//! Which sessions have a tool, and which one has a name: an index, so that a call looks at none that
//! has not.

use std::collections::HashMap;

use bridge_protocol::{Kind, SessionId};

use super::Session;
use super::routing::{self, Sessions};
use crate::definition::Definition;
use crate::hashing::Quick;
use crate::tool::Tool;

/// Fewer sessions are looked through with each call: an index of so few finds nothing sooner.
const FEW: usize = 2;

/// So many entries may come to an index, beside as many as it had, before it is made anew without
/// those that are no longer true.
const NEW_ENTRIES: usize = 1024;

/// Made with the first call in a realm, and kept up as pages register: what pages are never called
/// for takes no memory.
#[derive(Debug, Default)]
pub(super) struct Routes {
    /// By each name that a tool has or had.
    by_tool: HashMap<Box<str>, Having, Quick>,
    entries: usize,
    most: usize,
    /// Those that were called by their own name.
    by_name: HashMap<String, SessionId>,
}

/// Sessions that have a tool of a name. Some may have lost it since; none is missing.
#[derive(Debug, Default)]
struct Having {
    ids: Vec<SessionId>,
    /// In order of connection, each once.
    is_in_order: bool,
}

impl Routes {
    /// A session registers this.
    pub(super) fn registers(&mut self, id: &SessionId, item: &Definition) {
        if self.entries > self.most {
            self.forget();
        }
        if !self.by_tool.is_empty() && item.kind() == Kind::Tool {
            self.add(id, item);
        }
    }

    fn add(&mut self, id: &SessionId, item: &Definition) {
        let (name, published) = (item.name(), item.published_name());
        self.add_name(id, name);
        if published != name {
            self.add_name(id, published);
        }
    }

    fn add_name(&mut self, id: &SessionId, name: &str) {
        let having = match self.by_tool.get_mut(name) {
            Some(having) => having,
            None => self.by_tool.entry(name.into()).or_default(),
        };
        if having.ids.last() != Some(id) {
            having.ids.push(id.clone());
            having.is_in_order = false;
            self.entries += 1;
        }
    }

    fn forget(&mut self) {
        self.by_tool = HashMap::default();
        self.entries = 0;
    }

    fn make(&mut self, sessions: &Sessions) {
        self.forget();
        for (id, session) in sessions {
            for item in session.definitions(Kind::Tool) {
                self.add(id, item);
            }
        }
        self.most = 2 * self.entries + NEW_ENTRIES;
    }

    /// Where to look for a tool, in order of connection. `None`: everywhere.
    pub(super) fn to(&mut self, name: &str, sessions: &Sessions) -> Option<&[SessionId]> {
        if sessions.len() <= FEW {
            self.forget();
            return None;
        }
        if self.by_tool.is_empty() {
            self.make(sessions);
        }
        let Some(having) = self.by_tool.get_mut(name) else {
            return Some(&[]);
        };
        if !having.is_in_order {
            let before = having.ids.len();
            having.put_in_order(name, sessions);
            self.entries -= before - having.ids.len();
        }
        Some(&having.ids)
    }

    /// Whether this is true of one of the tools that a client could mean with a name.
    pub(super) fn any(
        &mut self,
        name: &str,
        sessions: &Sessions,
        is_so: impl Fn(&Tool) -> bool,
    ) -> bool {
        let is_so = |session: &Session| match session.item(Kind::Tool, name) {
            Some(Definition::Tool(tool)) => is_so(tool),
            _ => false,
        };
        match self.to(name, sessions) {
            Some(ids) => ids.iter().filter_map(|id| sessions.get(id)).any(is_so),
            None => sessions.values().any(is_so),
        }
    }

    /// The id of the session that is called by its id or by its name.
    pub(super) fn id_of(&mut self, called: &SessionId, sessions: &Sessions) -> Option<SessionId> {
        if sessions.contains_key(called) {
            return Some(called.clone());
        }
        let name = called.as_str();
        let known = self.by_name.get(name);
        let still = |id: &&SessionId| sessions.get(*id).is_some_and(|it| it.is_named(name));
        if let Some(id) = known.filter(still) {
            return Some(id.clone());
        }
        let (id, _) = routing::named(sessions, called)?;
        if self.by_name.len() >= sessions.len() {
            self.by_name.clear();
        }
        self.by_name.insert(name.to_owned(), id.clone());
        Some(id.clone())
    }

    /// Panics when a session is missing.
    #[cfg(any(test, feature = "simulation"))]
    pub(super) fn check(&self, sessions: &Sessions) {
        let counted: usize = self.by_tool.values().map(|it| it.ids.len()).sum();
        assert_eq!(self.entries, counted);
        if self.by_tool.is_empty() {
            return;
        }
        for (id, session) in sessions {
            for tool in session.definitions(Kind::Tool) {
                for name in [tool.name(), tool.published_name()] {
                    let having = self.by_tool.get(name);
                    let is_known = having.is_some_and(|it| it.ids.contains(id));
                    assert!(is_known, "{id} is missing for `{name}`");
                }
            }
        }
    }
}

impl Having {
    fn put_in_order(&mut self, name: &str, sessions: &Sessions) {
        let has = |session: &Session| session.item(Kind::Tool, name).is_some();
        self.ids.retain(|id| sessions.get(id).is_some_and(has));
        self.ids.sort_by_cached_key(|id| sessions.get_index_of(id));
        self.ids.dedup();
        self.is_in_order = true;
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
    fn few_sessions_have_no_index() {
        let mut few = realm(FEW);
        assert!(few.routes.to("t", &few.sessions).is_none());
        assert!(few.routes.by_tool.is_empty());
        let mut more = realm(FEW + 1);
        let found = more.routes.to("t", &more.sessions).unwrap();
        assert_eq!(found.len(), FEW + 1);
        assert!(!more.any_tool("t", |tool| !tool.asks_client));
        assert!(more.any_tool("t", |tool| tool.asks_client));
    }

    #[test]
    fn an_index_that_has_grown_is_made_anew() {
        let mut realm = realm(FEW + 1);
        assert!(realm.routes.to("t", &realm.sessions).is_some());
        let most = realm.routes.most;
        assert_eq!(most, 2 * (FEW + 1) + NEW_ENTRIES);
        let id = SessionId::from("tab-1");
        let mut registered = 0;
        while !realm.routes.by_tool.is_empty() {
            assert!(realm.routes.entries <= most + 1);
            let another = tool(&registered.to_string());
            realm.routes.registers(&id, &another);
            registered += 1;
        }
        assert!(registered > NEW_ENTRIES);
        let found = realm.routes.to("t", &realm.sessions);
        assert_eq!(found.map(<[_]>::len), Some(FEW + 1));
    }
}
