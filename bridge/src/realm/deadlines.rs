//! Which session or call is due when: an index over facts that sessions and calls hold.

use std::collections::BTreeSet;
use std::time::Instant;

use bridge_protocol::{CallId, QueryId, SessionId};

use super::catalogue::AppKey;

/// Something that becomes due.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Deadline {
    /// A heartbeat, or the end of the grace, of the token, of the session.
    Session(SessionId),
    /// The end of what is remembered of an app.
    Catalogue(AppKey),
    /// The receipt, or the end, of a call.
    Call(CallId),
    /// The end of a query's time, or of its page's, or of its memory.
    Query(QueryId),
}

#[derive(Debug, Default)]
pub(super) struct Deadlines(BTreeSet<(Instant, Deadline)>);

impl Deadlines {
    pub(super) fn first(&self) -> Option<Instant> {
        self.0.first().map(|(at, _)| *at)
    }

    /// The earliest deadline that has passed. It stays until its owner moves or removes it.
    pub(super) fn due(&self, now: Instant) -> Option<Deadline> {
        self.0
            .first()
            .filter(|(at, _)| *at <= now)
            .map(|(_, deadline)| deadline.clone())
    }

    pub(super) fn insert(&mut self, at: Instant, deadline: Deadline) {
        self.0.insert((at, deadline));
    }

    pub(super) fn remove(&mut self, entry: (Instant, Deadline)) {
        self.0.remove(&entry);
    }

    #[cfg(any(test, feature = "simulation"))]
    pub(super) fn all(&self) -> &BTreeSet<(Instant, Deadline)> {
        &self.0
    }
}
