//! An index from the names of tools to the sessions that have them, and from the names of sessions
//! to their ids.

use std::collections::HashMap;

use bridge_protocol::{Kind, SessionId};

use super::Session;
use super::routing::{self, SessionMap};
use crate::definition::SharedDefinition;
use crate::definition::tool::SharedTool;
use crate::fast_hash::FastHash;

/// The number of sessions up to which every call searches all of them, because an index would not
/// be faster.
const MAX_UNINDEXED_SESSIONS: usize = 2;

/// The index is rebuilt without outdated entries when it has more entries than twice the number
/// after the last rebuild plus this number.
const ENTRY_HEADROOM: usize = 1024;

/// An index of the sessions by tool name and by session name.
///
/// The first call in a realm builds it, so that realms without calls need no memory for it. After
/// that, registrations update it.
#[derive(Debug, Default)]
pub(super) struct RouteIndex {
    /// The sessions by each name under which a tool is or was registered or published.
    holders_by_tool: HashMap<Box<str>, Holders, FastHash>,
    entries: usize,
    max_entries: usize,
    /// The sessions that callers have addressed by name.
    sessions_by_name: HashMap<String, SessionId>,
}

/// The sessions that have a tool of a name. The list may contain sessions that no longer have the
/// tool, but it never lacks one that has it.
#[derive(Debug, Default)]
struct Holders {
    ids: Vec<SessionId>,
    /// Whether the ids are in order of connection and without duplicates.
    is_sorted: bool,
}

impl RouteIndex {
    /// Records that a session registers an item.
    pub(super) fn insert_registered(&mut self, id: &SessionId, item: &SharedDefinition) {
        if self.entries > self.max_entries {
            self.clear();
        }
        if !self.holders_by_tool.is_empty() && item.kind() == Kind::Tool {
            self.insert(id, item);
        }
    }

    fn insert(&mut self, id: &SessionId, item: &SharedDefinition) {
        let (name, published) = (item.name(), item.published_name());
        self.insert_name(id, name);
        if published != name {
            self.insert_name(id, published);
        }
    }

    fn insert_name(&mut self, id: &SessionId, name: &str) {
        let holders = match self.holders_by_tool.get_mut(name) {
            Some(holders) => holders,
            None => self.holders_by_tool.entry(name.into()).or_default(),
        };
        if holders.ids.last() != Some(id) {
            holders.ids.push(id.clone());
            holders.is_sorted = false;
            self.entries += 1;
        }
    }

    fn clear(&mut self) {
        self.holders_by_tool = HashMap::default();
        self.entries = 0;
    }

    fn rebuild(&mut self, sessions: &SessionMap) {
        self.clear();
        for (id, session) in sessions {
            for item in session.definitions(Kind::Tool) {
                self.insert(id, item);
            }
        }
        self.max_entries = 2 * self.entries + ENTRY_HEADROOM;
    }

    /// The sessions that may have a tool, in order of connection. `None` means all sessions.
    pub(super) fn candidates(&mut self, name: &str, sessions: &SessionMap) -> Option<&[SessionId]> {
        if sessions.len() <= MAX_UNINDEXED_SESSIONS {
            self.clear();
            return None;
        }
        if self.holders_by_tool.is_empty() {
            self.rebuild(sessions);
        }
        let Some(holders) = self.holders_by_tool.get_mut(name) else {
            return Some(&[]);
        };
        if !holders.is_sorted {
            let before = holders.ids.len();
            holders.sort(name, sessions);
            self.entries -= before - holders.ids.len();
        }
        Some(&holders.ids)
    }

    /// Whether the predicate holds for at least one tool that clients can call by this name.
    pub(super) fn any_candidate(
        &mut self,
        name: &str,
        sessions: &SessionMap,
        predicate: impl Fn(&SharedTool) -> bool,
    ) -> bool {
        let predicate = |session: &Session| match session.item(Kind::Tool, name) {
            Some(SharedDefinition::Tool(tool)) => predicate(tool),
            _ => false,
        };
        match self.candidates(name, sessions) {
            Some(ids) => ids.iter().filter_map(|id| sessions.get(id)).any(predicate),
            None => sessions.values().any(predicate),
        }
    }

    /// The id of the session with this id or name.
    pub(super) fn resolve_id(
        &mut self,
        called: &SessionId,
        sessions: &SessionMap,
    ) -> Option<SessionId> {
        if sessions.contains_key(called) {
            return Some(called.clone());
        }
        let name = called.as_str();
        let known = self.sessions_by_name.get(name);
        let still = |id: &&SessionId| sessions.get(*id).is_some_and(|it| it.is_named(name));
        if let Some(id) = known.filter(still) {
            return Some(id.clone());
        }
        let (id, _) = routing::find_session(sessions, called)?;
        if self.sessions_by_name.len() >= sessions.len() {
            self.sessions_by_name.clear();
        }
        self.sessions_by_name.insert(name.to_owned(), id.clone());
        Some(id.clone())
    }

    /// Panics when the index lacks a session.
    #[cfg(any(test, feature = "in-memory"))]
    pub(super) fn check_invariants(&self, sessions: &SessionMap) {
        let counted: usize = self.holders_by_tool.values().map(|it| it.ids.len()).sum();
        assert_eq!(self.entries, counted);
        if self.holders_by_tool.is_empty() {
            return;
        }
        for (id, session) in sessions {
            for tool in session.definitions(Kind::Tool) {
                for name in [tool.name(), tool.published_name()] {
                    let holders = self.holders_by_tool.get(name);
                    let is_known = holders.is_some_and(|it| it.ids.contains(id));
                    assert!(is_known, "{id} is missing for `{name}`");
                }
            }
        }
    }
}

impl Holders {
    fn sort(&mut self, name: &str, sessions: &SessionMap) {
        let has = |session: &Session| session.item(Kind::Tool, name).is_some();
        self.ids.retain(|id| sessions.get(id).is_some_and(has));
        self.ids.sort_by_cached_key(|id| sessions.get_index_of(id));
        self.ids.dedup();
        self.is_sorted = true;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{TEST_LIMITS, page_hello, tool};
    use super::super::{ConnectionId, Now, Realm, RealmLimits};
    use super::*;

    /// A realm with this number of pages, each of which has the tool `t`.
    fn realm_with_pages(pages: usize) -> Realm {
        let mut realm = Realm::new(RealmLimits {
            sessions: pages,
            ..TEST_LIMITS
        });
        let now = Now {
            instant: web_time::Instant::now(),
            unix_ms: 0,
        };
        for page in 1..=pages {
            let session = format!("tab-{page}");
            let connection = ConnectionId(page as u64);
            let connected = realm.page_connected(connection, page_hello(&session), now);
            assert!(connected.is_ok());
            let session = SessionId::from(session.as_str());
            realm.items_registered(&session, connection, "r".into(), vec![Ok(tool("t"))], now);
        }
        realm
    }

    #[test]
    fn an_index_is_built_only_for_more_than_a_few_sessions() {
        let mut few = realm_with_pages(MAX_UNINDEXED_SESSIONS);
        assert!(few.route_index.candidates("t", &few.sessions).is_none());
        assert!(few.route_index.holders_by_tool.is_empty());
        let mut more = realm_with_pages(MAX_UNINDEXED_SESSIONS + 1);
        let found = more.route_index.candidates("t", &more.sessions).unwrap();
        assert_eq!(found.len(), MAX_UNINDEXED_SESSIONS + 1);
        assert!(!more.any_candidate_tool("t", SharedTool::has_header_arguments));
        assert!(more.any_candidate_tool("t", |tool| tool.name() == "t"));
    }

    #[test]
    fn an_index_that_has_grown_is_rebuilt() {
        let mut realm = realm_with_pages(MAX_UNINDEXED_SESSIONS + 1);
        assert!(realm.route_index.candidates("t", &realm.sessions).is_some());
        let max_entries = realm.route_index.max_entries;
        assert_eq!(
            max_entries,
            2 * (MAX_UNINDEXED_SESSIONS + 1) + ENTRY_HEADROOM
        );
        let id = SessionId::from("tab-1");
        let mut registered = 0;
        while !realm.route_index.holders_by_tool.is_empty() {
            assert!(realm.route_index.entries <= max_entries + 1);
            let another = tool(&registered.to_string());
            realm.route_index.insert_registered(&id, &another);
            registered += 1;
        }
        assert!(registered > ENTRY_HEADROOM);
        let found = realm.route_index.candidates("t", &realm.sessions);
        assert_eq!(found.map(<[_]>::len), Some(MAX_UNINDEXED_SESSIONS + 1));
    }
}
