//! The ids and names of sessions that have ended recently.
//!
//! Some clients put their own id into `_meta.sessionId`, so an id that matches no session is
//! ignored. The id of a former session is not ignored: its call was meant for a closed tab and must
//! not run in another one.

use web_time::Instant;

use bridge_protocol::SessionId;
use indexmap::IndexSet;

#[cfg(any(test, feature = "in-memory"))]
use super::deadlines::Deadline;
use crate::fast_hash::FastHash;

/// The number of ids and names that are remembered in a realm. When one more is added, the oldest
/// is removed. A session adds its id and, if it has one, its name.
pub(crate) const MAX_FORMER_SESSIONS: usize = 512;

/// The size of these ids and names in bytes, which is much more than 512 of the SDK have. When it is
/// exceeded, the oldest are removed.
pub(crate) const MAX_FORMER_SESSION_BYTES: usize = 65_536;

/// The ids and names of ended sessions, in the order in which the sessions ended.
#[derive(Debug)]
pub(super) struct FormerSessions {
    pub(super) ids: IndexSet<SessionId, FastHash>,
    pub(super) until: Instant,
}

impl FormerSessions {
    /// The time at which all ids and names are removed.
    #[cfg(any(test, feature = "in-memory"))]
    pub(super) fn deadline(&self) -> (Instant, Deadline) {
        (self.until, Deadline::FormerSessions)
    }

    #[cfg(any(test, feature = "in-memory"))]
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }
}
