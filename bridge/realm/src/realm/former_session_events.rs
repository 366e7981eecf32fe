//! Records the ids and names of ended sessions, and looks them up.

use bridge_protocol::SessionId;
use indexmap::IndexSet;

use super::deadlines::Deadline;
use super::expiry::FORMER_SESSIONS_TTL;
use super::former_sessions::{FormerSessions, MAX_FORMER_SESSION_BYTES, MAX_FORMER_SESSIONS};
use super::{Now, Realm, Session};
use crate::fast_hash::FastHash;

impl Realm {
    /// Whether this is the id or the name of a session, or of one that has ended recently.
    pub fn knows_session(&mut self, id_or_name: &SessionId) -> bool {
        self.knows_session_id(id_or_name)
            || self
                .route_index
                .resolve_id(id_or_name, &self.sessions)
                .is_some()
    }

    /// Whether this is the id of a session, or the id or the name of one that has ended recently.
    pub fn knows_session_id(&self, id: &SessionId) -> bool {
        let former = self.former_sessions.as_ref();
        self.sessions.contains_key(id) || former.is_some_and(|former| former.ids.contains(id))
    }

    /// Records the id and the name of a session that has ended.
    pub(super) fn record_former_session(&mut self, id: SessionId, session: &Session, now: Now) {
        let until = now.instant + FORMER_SESSIONS_TTL;
        let mut called = self.take_former_sessions().unwrap_or_default();
        let name = session.name.as_deref().map(SessionId::from);
        for ended in [Some(id), name].into_iter().flatten() {
            // An entry that already exists moves to the end.
            called.shift_remove(&ended);
            if called.len() == MAX_FORMER_SESSIONS {
                called.shift_remove_index(0);
            }
            called.insert(ended);
        }
        let mut bytes: usize = called.iter().map(|id| id.0.len()).sum();
        while bytes > MAX_FORMER_SESSION_BYTES
            && let Some(oldest) = called.shift_remove_index(0)
        {
            bytes -= oldest.0.len();
        }
        self.deadlines.insert(until, Deadline::FormerSessions);
        self.former_sessions = Some(Box::new(FormerSessions { ids: called, until }));
    }

    /// Removes all former sessions.
    pub(super) fn clear_former_sessions(&mut self) {
        self.take_former_sessions();
    }

    fn take_former_sessions(&mut self) -> Option<IndexSet<SessionId, FastHash>> {
        let former = self.former_sessions.take()?;
        self.deadlines
            .remove((former.until, Deadline::FormerSessions));
        Some(former.ids)
    }
}
