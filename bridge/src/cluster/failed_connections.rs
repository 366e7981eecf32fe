//! Remembers to which nodes no connection could be made.

use std::time::{Duration, Instant};

use bridge_cluster::NodeId;

use super::node::ClusterNode;

/// How long after a failed connection nothing is passed on to a node, unless it answers before. The pages of
/// a node that was killed connect again meanwhile, and the first of them finds out whether it is gone.
const UNREACHABLE_TIME: Duration = Duration::from_secs(5);

/// How long a node that could not be reached is not asked again. When a node is gone, all its realms ask.
const NOT_ASKED_TIME: Duration = Duration::from_millis(500);

impl ClusterNode {
    /// Whether requests may be sent to a node: it lives, has not missed five pings, and no connection to it
    /// has failed lately.
    pub(super) fn is_reachable(&self, id: &NodeId) -> bool {
        if self.reach.is_unreachable(id) {
            return false;
        }
        let now = Instant::now();
        self.is_alive(id) && !self.peers().has_failed_within(UNREACHABLE_TIME, id, now)
    }

    /// Whether a connection to a node has just failed, so that the next one would fail too.
    pub(super) fn has_just_failed(&self, id: &NodeId) -> bool {
        self.peers()
            .has_failed_within(NOT_ASKED_TIME, id, Instant::now())
    }

    /// A connection to a node has failed. The requests for its realms are held from now on.
    pub(super) fn connection_failed(&self, id: &NodeId) {
        let now = Instant::now();
        let mut peers = self.peers();
        let is_known = peers.has_failed_within(UNREACHABLE_TIME, id, now);
        peers.connection_failed(*id, now);
        drop(peers);
        if !is_known {
            self.owners.remove_node(id);
        }
    }
}
