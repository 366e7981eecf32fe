//! The ids of the queries that ended last.

use std::collections::{HashSet, VecDeque};

use bridge_protocol::QueryId;

use crate::bridge::BridgeId;

/// The number of ended queries whose ids are stored. A query with one of these ids is refused.
const MAX_RECENT_QUERIES: usize = 4096;

/// A query by its bridge and its id.
type RecentId = (BridgeId, QueryId);

/// The ids of the queries that ended last.
#[derive(Debug, Default)]
pub(super) struct RecentQueries {
    ids: HashSet<RecentId>,
    /// Oldest first.
    order: VecDeque<RecentId>,
}

impl RecentQueries {
    pub(super) fn contains(&self, id: &RecentId) -> bool {
        self.ids.contains(id)
    }

    pub(super) fn insert(&mut self, id: RecentId) {
        if !self.ids.insert(id.clone()) {
            return;
        }
        self.order.push_back(id);
        if self.order.len() > MAX_RECENT_QUERIES
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evicts_the_oldest_query() {
        let mut recent = RecentQueries::default();
        let id = |n: usize| (BridgeId::default(), QueryId(n.to_string()));
        for n in 0..=MAX_RECENT_QUERIES {
            recent.insert(id(n));
        }
        assert!(!recent.contains(&id(0)) && recent.contains(&id(1)));
        assert!(recent.contains(&id(MAX_RECENT_QUERIES)));
        assert_eq!(
            (recent.ids.len(), recent.order.len()),
            (MAX_RECENT_QUERIES, MAX_RECENT_QUERIES)
        );
    }
}
