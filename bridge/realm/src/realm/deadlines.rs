//! An index of all deadlines, in order of time. The deadlines themselves are in the state of
//! sessions, calls, queries and the catalogue.

use std::collections::BTreeSet;
use web_time::Instant;

use bridge_protocol::{CallId, QueryId, SessionId};

use crate::realm::app_key::AppKey;

/// Identifies the owner of a deadline.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Deadline {
    /// The next heartbeat of a session, or the end of its grace period, its token, its former items
    /// or the session.
    Session(SessionId),
    /// The end of the time for which the definitions of an app stay listed.
    Catalogue(AppKey),
    /// The end of the time for which the ids of former sessions are remembered.
    FormerSessions,
    /// The receipt timeout or the timeout of a call.
    Call(CallId),
    /// The timeout of a query or of its detached page, or the time until an ended query is
    /// forgotten.
    Query(QueryId),
}

/// The number of deadlines up to which a sorted list stores them. Most realms have one page, and a
/// tree would allocate a node with room for eleven entries.
const MAX_INLINE_DEADLINES: usize = 8;

type DeadlineEntry = (Instant, Deadline);

/// The deadlines of a realm, in order of time.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    /// A sorted list, which is empty while `tree` is used.
    inline: Vec<DeadlineEntry>,
    tree: BTreeSet<DeadlineEntry>,
}

impl Deadlines {
    pub(super) fn first(&self) -> Option<Instant> {
        self.earliest().map(|(at, _)| *at)
    }

    /// The earliest deadline that has passed. It remains until its owner moves or removes it.
    pub(super) fn first_due(&self, now: Instant) -> Option<Deadline> {
        self.earliest()
            .filter(|(at, _)| *at <= now)
            .map(|(_, deadline)| deadline.clone())
    }

    fn earliest(&self) -> Option<&DeadlineEntry> {
        self.inline.first().or_else(|| self.tree.first())
    }

    pub(super) fn insert(&mut self, at: Instant, deadline: Deadline) {
        let entry = (at, deadline);
        if !self.tree.is_empty() || self.inline.len() == MAX_INLINE_DEADLINES {
            self.tree.extend(std::mem::take(&mut self.inline));
            self.tree.insert(entry);
            return;
        }
        if let Err(index) = self.inline.binary_search(&entry) {
            if self.inline.is_empty() {
                self.inline.reserve_exact(1);
            }
            self.inline.insert(index, entry);
        }
    }

    pub(super) fn remove(&mut self, entry: DeadlineEntry) {
        if let Ok(index) = self.inline.binary_search(&entry) {
            self.inline.remove(index);
        } else {
            self.tree.remove(&entry);
        }
    }

    #[cfg(any(test, feature = "in-memory"))]
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &DeadlineEntry> {
        let all: Vec<_> = self.inline.iter().chain(&self.tree).collect();
        all.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn deadlines_of_any_number_are_due_in_order_of_time() {
        let start = Instant::now();
        let at = |n: u64| start + Duration::from_secs(n);
        let deadline = |n: u64| Deadline::Call(CallId::from(n.to_string().as_str()));
        for most in [
            1,
            MAX_INLINE_DEADLINES as u64,
            3 * MAX_INLINE_DEADLINES as u64,
        ] {
            let mut deadlines = Deadlines::default();
            // The second pass checks that an emptied set uses the list again.
            for _ in 0..2 {
                for n in 0..most {
                    let n = n * 7 % most.max(1);
                    deadlines.insert(at(n), deadline(n));
                    deadlines.insert(at(n), deadline(n));
                }
                let mut expected: Vec<_> = (0..most).map(|n| n * 7 % most).collect();
                expected.sort_unstable();
                expected.dedup();
                assert_eq!(deadlines.iter().len(), expected.len());
                for n in expected {
                    assert_eq!(deadlines.first(), Some(at(n)));
                    assert_eq!(deadlines.first_due(at(n)), Some(deadline(n)));
                    deadlines.remove((at(n), deadline(n)));
                }
                assert_eq!(deadlines.first(), None);
            }
        }
    }
}
