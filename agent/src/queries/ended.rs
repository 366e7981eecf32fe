//! Which queries have ended, as far as it is remembered.

use std::collections::{HashSet, VecDeque};

use bridge_protocol::QueryId;

/// So many ended queries are remembered: asked again, they are refused.
const ENDED_KEPT: usize = 4096;

/// The last queries that have ended.
#[derive(Debug, Default)]
pub(super) struct Ended {
    known: HashSet<QueryId>,
    /// Oldest first.
    order: VecDeque<QueryId>,
}

impl Ended {
    pub(super) fn contains(&self, id: &QueryId) -> bool {
        self.known.contains(id)
    }

    pub(super) fn insert(&mut self, id: QueryId) {
        if !self.known.insert(id.clone()) {
            return;
        }
        self.order.push_back(id);
        if self.order.len() > ENDED_KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_for_the_newest() {
        let mut ended = Ended::default();
        let id = |n: usize| QueryId(n.to_string());
        for n in 0..=ENDED_KEPT {
            ended.insert(id(n));
        }
        assert!(!ended.contains(&id(0)) && ended.contains(&id(1)));
        assert!(ended.contains(&id(ENDED_KEPT)));
        assert_eq!(
            (ended.known.len(), ended.order.len()),
            (ENDED_KEPT, ENDED_KEPT)
        );
    }
}
