//! Which queries have ended, as far as it is remembered.

use std::collections::{HashSet, VecDeque};

use bridge_protocol::QueryId;

/// So many ended queries are remembered: asked again, they are refused.
const MAX_RECENT_QUERIES: usize = 4096;

/// The last queries that have ended.
#[derive(Debug, Default)]
pub(super) struct RecentQueries {
    ids: HashSet<QueryId>,
    /// Oldest first.
    order: VecDeque<QueryId>,
}

impl RecentQueries {
    pub(super) fn contains(&self, id: &QueryId) -> bool {
        self.ids.contains(id)
    }

    pub(super) fn insert(&mut self, id: QueryId) {
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
        let mut ended = RecentQueries::default();
        let id = |n: usize| QueryId(n.to_string());
        for n in 0..=MAX_RECENT_QUERIES {
            ended.insert(id(n));
        }
        assert!(!ended.contains(&id(0)) && ended.contains(&id(1)));
        assert!(ended.contains(&id(MAX_RECENT_QUERIES)));
        assert_eq!(
            (ended.ids.len(), ended.order.len()),
            (MAX_RECENT_QUERIES, MAX_RECENT_QUERIES)
        );
    }
}
