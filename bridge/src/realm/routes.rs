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
