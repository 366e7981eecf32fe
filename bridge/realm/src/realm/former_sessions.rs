//! The sessions that a realm had until recently.
//!
//! Clients put ids of their own into `_meta.sessionId`, so that an id which names no session may
//! mean nothing to this bridge. An id that named one must not be taken for such: the call was meant
//! for a tab that is gone, and must not run in another.

use std::time::{Duration, Instant};

use bridge_protocol::SessionId;
use indexmap::IndexSet;

#[cfg(any(test, feature = "simulation"))]
use super::deadlines::Deadline;
use crate::fast_hash::FastHash;

/// The ids and names that are remembered for a token; with one more, the oldest is forgotten. A
/// session has one or two of them.
pub(crate) const MAX_FORMER_SESSIONS: usize = 512;

/// How long they are remembered, counted from the end of the session that ended last.
pub(crate) const FORMER_SESSIONS_TTL: Duration = Duration::from_secs(3600);

/// Ids and names of ended sessions, in the order in which these ended.
#[derive(Debug)]
pub(super) struct FormerSessions {
    pub(super) ids: IndexSet<SessionId, FastHash>,
    pub(super) until: Instant,
}

impl FormerSessions {
    /// When they are forgotten.
    #[cfg(any(test, feature = "simulation"))]
    pub(super) fn deadline(&self) -> (Instant, Deadline) {
        (self.until, Deadline::FormerSessions)
    }

    #[cfg(any(test, feature = "simulation"))]
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }
}
