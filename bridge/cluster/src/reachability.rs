//! Which other nodes this one reaches, and which of them reach it, as pings show.

use std::collections::BTreeMap;

use crate::names::NodeId;

/// How many pings in a row a node may leave without an answer. They are sent every second.
pub const MAX_MISSED_PINGS: u32 = 5;

/// The pings of this node to all others.
///
/// Whatever waits for a node ends when the node has missed [`MAX_MISSED_PINGS`] in a row: it is unreachable
/// until it answers again.
#[derive(Debug, Default)]
pub struct Reachability {
    nodes: BTreeMap<NodeId, PingedNode>,
}

#[derive(Debug, Default)]
struct PingedNode {
    /// How many pings it has missed since its last answer.
    missed: u32,
    is_unreachable: bool,
    /// Whether it has answered the last ping, and said then that this node has answered its own last one.
    last_answer: Option<PingAnswer>,
}

/// The answer to a ping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PingAnswer {
    /// Whether this node has answered the last ping of the other one.
    pub is_reached: bool,
}

/// A change of whether a node can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReachChange {
    /// The node has become unreachable.
    Lost,
    /// The node answers again.
    Back,
}

impl Reachability {
    /// A node has answered a ping.
    pub fn answered(&mut self, id: NodeId, answer: PingAnswer) -> Option<ReachChange> {
        let node = self.nodes.entry(id).or_default();
        node.missed = 0;
        node.last_answer = Some(answer);
        std::mem::take(&mut node.is_unreachable).then_some(ReachChange::Back)
    }

    /// A node has not answered a ping.
    pub fn missed(&mut self, id: NodeId) -> Option<ReachChange> {
        let node = self.nodes.entry(id).or_default();
        node.missed += 1;
        node.last_answer = None;
        let is_lost = node.missed >= MAX_MISSED_PINGS && !node.is_unreachable;
        node.is_unreachable |= is_lost;
        is_lost.then_some(ReachChange::Lost)
    }

    /// This node may have missed the answers itself: its process has stalled, or its network was away.
    pub fn restart(&mut self) {
        for node in self.nodes.values_mut() {
            node.missed = 0;
        }
    }

    /// Forgets all other nodes than these.
    pub fn retain(&mut self, is_known: impl Fn(&NodeId) -> bool) {
        self.nodes.retain(|id, _| is_known(id));
    }

    /// Returns the answer of a node to the last ping, if it has answered it.
    pub fn last_answer(&self, id: &NodeId) -> Option<PingAnswer> {
        self.nodes.get(id)?.last_answer
    }

    /// Returns whether requests to a node would wait in vain.
    pub fn is_unreachable(&self, id: &NodeId) -> bool {
        self.nodes.get(id).is_some_and(|node| node.is_unreachable)
    }

    /// Returns whether a node was pinged before, and may still answer.
    pub fn may_answer(&self, id: &NodeId) -> bool {
        (self.nodes.get(id)).is_some_and(|node| !node.is_unreachable)
    }

    /// The nodes that have answered the last ping.
    pub fn reached(&self) -> impl Iterator<Item = NodeId> {
        let nodes = self.nodes.iter();
        nodes
            .filter(|(_, node)| node.last_answer.is_some())
            .map(|(id, _)| *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER: NodeId = NodeId::from_bytes([1; 16]);
    const YES: PingAnswer = PingAnswer { is_reached: true };

    #[test]
    fn a_node_is_unreachable_from_the_fifth_miss_in_a_row_until_its_next_answer() {
        let mut pings = Reachability::default();
        for _ in 0..3 {
            assert_eq!(pings.answered(OTHER, YES), None);
            for _ in 0..4 {
                assert_eq!(pings.missed(OTHER), None);
            }
        }
        assert!(pings.may_answer(&OTHER) && !pings.is_unreachable(&OTHER));
        assert_eq!(pings.missed(OTHER), Some(ReachChange::Lost));
        assert_eq!(pings.missed(OTHER), None);
        assert!(!pings.may_answer(&OTHER) && pings.is_unreachable(&OTHER));
        assert_eq!(pings.answered(OTHER, YES), Some(ReachChange::Back));
        assert!(!pings.is_unreachable(&OTHER));
    }

    #[test]
    fn one_miss_suffices_for_a_node_not_to_be_reached() {
        let mut pings = Reachability::default();
        assert_eq!(pings.last_answer(&OTHER), None);
        pings.answered(OTHER, YES);
        assert_eq!(pings.last_answer(&OTHER), Some(YES));
        assert_eq!(pings.reached().collect::<Vec<_>>(), [OTHER]);
        pings.missed(OTHER);
        assert_eq!(pings.last_answer(&OTHER), None);
        assert_eq!(pings.reached().count(), 0);
    }

    #[test]
    fn a_stall_of_this_node_restarts_the_count() {
        let mut pings = Reachability::default();
        for _ in 0..4 {
            pings.missed(OTHER);
        }
        pings.restart();
        for _ in 0..4 {
            assert_eq!(pings.missed(OTHER), None);
        }
        assert_eq!(pings.missed(OTHER), Some(ReachChange::Lost));
        // It does not bring an unreachable node back, which only an answer does.
        pings.restart();
        assert!(pings.is_unreachable(&OTHER));
    }

    #[test]
    fn a_node_that_is_forgotten_begins_anew() {
        let mut pings = Reachability::default();
        for _ in 0..MAX_MISSED_PINGS {
            pings.missed(OTHER);
        }
        pings.retain(|_| true);
        assert!(pings.is_unreachable(&OTHER));
        pings.retain(|_| false);
        assert!(!pings.is_unreachable(&OTHER) && !pings.may_answer(&OTHER));
        assert_eq!(pings.missed(OTHER), None);
    }
}
