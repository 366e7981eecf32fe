//! Which other nodes answer this one, what waits for each of them, and whether this one is cut off.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bridge_cluster::{Isolation, NodeId, Reachability};
use bridge_realm::fast_hash::FastHash;
use tokio_util::sync::CancellationToken;

/// Results of the pings of this node.
#[derive(Debug)]
pub(super) struct PeerReach {
    state: Mutex<ReachState>,
    /// Cancelled when the bridge stops, and with it whatever waits for another node.
    stopping: CancellationToken,
}

#[derive(Debug)]
pub(super) struct ReachState {
    pub(super) pings: Reachability,
    pub(super) isolation: Isolation,
    /// Cancelled when the node becomes unreachable.
    waits: HashMap<NodeId, CancellationToken, FastHash>,
}

impl PeerReach {
    pub(super) fn new(own: NodeId, stopping: CancellationToken) -> Self {
        let state = ReachState {
            pings: Reachability::default(),
            isolation: Isolation::new(own),
            waits: HashMap::default(),
        };
        Self {
            state: Mutex::new(state),
            stopping,
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, ReachState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the token that is cancelled when a node becomes unreachable or the bridge stops, or none if
    /// the node is unreachable already.
    pub(super) fn wait_for(&self, id: &NodeId) -> Option<CancellationToken> {
        let ReachState { pings, waits, .. } = &mut *self.state();
        if pings.is_unreachable(id) {
            return None;
        }
        let wait = waits.entry(*id);
        Some(wait.or_insert_with(|| self.stopping.child_token()).clone())
    }

    /// Returns whether requests to a node would wait in vain.
    pub(super) fn is_unreachable(&self, id: &NodeId) -> bool {
        self.state().pings.is_unreachable(id)
    }

    /// Returns whether a node has answered the last ping.
    pub(super) fn answers(&self, id: &NodeId) -> bool {
        self.state().pings.last_answer(id).is_some()
    }

    pub(super) fn is_isolated(&self) -> bool {
        self.state().isolation.is_isolated()
    }

    /// This node may have missed the answers of others.
    pub(super) fn restart(&self, now: Instant) {
        let mut state = self.state();
        state.pings.restart();
        state.isolation.restart(now);
    }

    /// Forgets all other nodes than these.
    pub(super) fn retain(&self, is_known: impl Fn(&NodeId) -> bool) {
        let mut state = self.state();
        state.pings.retain(&is_known);
        // It is not pinged any more.
        let forgotten = state.waits.extract_if(|id, _| !is_known(id));
        forgotten.for_each(|(_, wait)| wait.cancel());
    }
}

impl ReachState {
    /// Ends whatever waits for a node.
    pub(super) fn end_waits(&mut self, id: &NodeId) {
        if let Some(wait) = self.waits.remove(id) {
            wait.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use bridge_cluster::{MAX_MISSED_PINGS, PingAnswer};

    use super::*;

    const OWN: NodeId = NodeId::from_bytes([0; 16]);
    const OTHER: NodeId = NodeId::from_bytes([1; 16]);

    #[test]
    fn what_waits_for_a_node_ends_when_it_is_unreachable_or_the_bridge_stops() {
        let stopping = CancellationToken::new();
        let reach = PeerReach::new(OWN, stopping.clone());
        let wait = reach.wait_for(&OTHER).unwrap();
        for _ in 0..MAX_MISSED_PINGS {
            reach.state().pings.missed(OTHER);
        }
        reach.state().end_waits(&OTHER);
        assert!(wait.is_cancelled());
        assert!(reach.wait_for(&OTHER).is_none() && reach.is_unreachable(&OTHER));
        let answer = PingAnswer { is_reached: true };
        reach.state().pings.answered(OTHER, answer);
        let wait = reach.wait_for(&OTHER).unwrap();
        assert!(!wait.is_cancelled() && reach.answers(&OTHER));
        stopping.cancel();
        assert!(wait.is_cancelled());
    }

    #[test]
    fn a_node_that_is_gone_leaves_nothing_behind() {
        let reach = PeerReach::new(OWN, CancellationToken::new());
        reach.wait_for(&OTHER);
        reach.state().pings.missed(OTHER);
        reach.retain(|_| false);
        assert!(reach.state().waits.is_empty());
        assert_eq!(reach.state().pings.reached().count(), 0);
    }
}
