//! The other nodes, as one node knows them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::names::{NodeId, RealmKey};
use crate::record::{NodeRecord, NodeState, SettingsFingerprint};

/// How much longer than a lease a node may be silent: its renewal is on the way.
const LEASE_GRACE: Duration = Duration::from_millis(500);

/// How long nodes whose reloadable settings differ still pass requests to each other. A reload reaches one
/// node after another.
const RELOAD_TIME: Duration = Duration::from_mins(10);

/// Where another node is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    pub id: NodeId,
    pub address: String,
}

impl From<&NodeRecord> for Peer {
    fn from(record: &NodeRecord) -> Self {
        Self {
            id: record.id,
            address: record.address.clone(),
        }
    }
}

/// Another node, for an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPeer {
    pub record: NodeRecord,
    /// How long ago the record was written, by this node's own clock.
    pub age: Duration,
    pub is_alive: bool,
}

impl KnownPeer {
    /// The name of its state.
    pub fn state(&self) -> &'static str {
        if self.is_alive {
            self.record.state.as_str()
        } else {
            "dead"
        }
    }
}

/// The other nodes. A node lives for this one if its record was written within the last lease by this
/// node's own clock.
///
/// While this node is not connected, no lease ends for it. After a time in which it may have missed records,
/// all clocks start anew: it was not connected, or its process has stalled. Also a node that it has never
/// seen counts as alive until one lease after that.
#[derive(Debug)]
pub struct Peers {
    own: NodeId,
    lease: Duration,
    /// Since when this node has received all records, if it receives them now.
    watching_since: Option<Instant>,
    nodes: BTreeMap<NodeId, KnownNode>,
    /// When each node has withdrawn its record, which a node that was never seen has not.
    withdrawn: BTreeMap<NodeId, Instant>,
    /// When a connection to a node has failed that has not answered since.
    unreached: BTreeMap<NodeId, Instant>,
}

#[derive(Debug)]
struct KnownNode {
    record: NodeRecord,
    announced: Instant,
    differs_since: Option<Instant>,
}

/// Whether the settings of another node allow passing requests to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerCompatibility {
    Same,
    /// Its reloadable settings have differed for this time, which is accepted for ten minutes.
    DiffersFor(Duration),
    /// Requests are not passed to it.
    Different(SettingsDifference),
}

/// Which settings of two nodes differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsDifference {
    #[error(
        "the bridges differ in `public_url`, `cluster_realm_secret`, `state_key` or how they read tokens: set \
         both alike and restart"
    )]
    Strict,
    #[error(
        "the bridges have differed in tokens, keys or allow lists for ten minutes: reload both"
    )]
    Reloadable,
}

/// Number of other nodes in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerCounts {
    pub serving: usize,
    pub draining: usize,
    pub dead: usize,
}

impl Peers {
    /// Knows no other node. `lease` is how long a record of a node lasts.
    pub fn new(own: NodeId, lease: Duration) -> Self {
        Self {
            own,
            lease,
            watching_since: None,
            nodes: BTreeMap::new(),
            withdrawn: BTreeMap::new(),
            unreached: BTreeMap::new(),
        }
    }

    /// A node has written its record.
    pub fn node_announced(&mut self, record: NodeRecord, now: Instant) {
        let id = record.id;
        if id == self.own {
            return;
        }
        self.withdrawn.remove(&id);
        let differs_since = self.nodes.get(&id).and_then(|node| node.differs_since);
        let node = KnownNode {
            record,
            announced: now,
            differs_since,
        };
        self.nodes.insert(id, node);
    }

    /// A connection to a node has failed.
    pub fn connection_failed(&mut self, id: NodeId, now: Instant) {
        self.unreached.insert(id, now);
    }

    /// A node has answered a request of this one.
    pub fn node_answered(&mut self, id: &NodeId) {
        self.unreached.remove(id);
    }

    /// Returns whether a connection to a node has failed within this time, and it has not answered since.
    pub fn has_failed_within(&self, time: Duration, id: &NodeId, now: Instant) -> bool {
        let failed = self.unreached.get(id);
        failed.is_some_and(|at| now.saturating_duration_since(*at) < time)
    }

    /// A node has removed its record. It is dead at once, unless it writes another one.
    pub fn node_withdrawn(&mut self, id: NodeId, now: Instant) {
        self.nodes.remove(&id);
        self.withdrawn.insert(id, now);
    }

    /// This node is connected to the directory, perhaps again.
    pub fn connected(&mut self, now: Instant) {
        self.watching_since = Some(now);
        for node in self.nodes.values_mut() {
            node.announced = now;
        }
    }

    /// This node does not receive records for now.
    pub fn disconnected(&mut self) {
        self.watching_since = None;
    }

    /// Returns whether this node receives records.
    pub fn is_connected(&self) -> bool {
        self.watching_since.is_some()
    }

    /// The process of this node has not run for a while.
    pub fn stalled(&mut self, now: Instant) {
        self.unreached.clear();
        if self.watching_since.is_some() {
            self.connected(now);
        }
    }

    /// Returns whether a node lives, as far as this node can know.
    pub fn is_alive(&self, id: &NodeId, now: Instant) -> bool {
        if *id == self.own {
            return true;
        }
        if self.withdrawn.contains_key(id) {
            return false;
        }
        let seen = self.nodes.get(id).map(|node| node.announced);
        // Without a connection this node knows nothing that would make another one dead.
        (seen.max(self.watching_since)).is_none_or(|seen| !self.is_over(seen, now))
    }

    /// Returns the last record of a node, which may be dead.
    pub fn peer(&self, id: &NodeId) -> Option<&NodeRecord> {
        self.nodes.get(id).map(|node| &node.record)
    }

    /// Returns the last records of all nodes, also of those whose lease is over and that may be reached.
    pub fn known(&self) -> impl Iterator<Item = &NodeRecord> {
        self.nodes.values().map(|node| &node.record)
    }

    /// Returns all nodes, with the state of each. Dead ones are among them until they are forgotten.
    pub fn overview(&self, now: Instant) -> impl Iterator<Item = KnownPeer> {
        self.nodes.values().map(move |node| KnownPeer {
            record: node.record.clone(),
            age: now.saturating_duration_since(node.announced),
            is_alive: !self.is_over(node.announced, now),
        })
    }

    /// Returns whether a node gives its realms away.
    pub fn takes_no_realms(&self, id: &NodeId) -> bool {
        (self.peer(id)).is_some_and(|record| record.state == NodeState::Draining)
    }

    /// Returns the nodes whose lease is not over.
    pub fn living(&self, now: Instant) -> impl Iterator<Item = Peer> {
        let living = self.nodes.values();
        living
            .filter(move |node| !self.is_over(node.announced, now))
            .map(|node| Peer::from(&node.record))
    }

    /// Returns the nodes to which a realm without an owner may go if this one takes none, the best one first:
    /// they serve and have the settings of this one. The order is that of rendezvous hashing, so that all
    /// nodes choose alike.
    pub fn successors(
        &mut self,
        realm: &RealmKey,
        own: &SettingsFingerprint,
        now: Instant,
    ) -> Vec<Peer> {
        let mut peers: Vec<_> = self
            .living(now)
            .filter(|peer| self.peer(&peer.id).map(|it| it.state) == Some(NodeState::Serving))
            .collect();
        peers.retain(|peer| {
            let compatibility = self.compatibility(&peer.id, own, now);
            !matches!(compatibility, PeerCompatibility::Different(_))
        });
        peers.sort_unstable_by_key(|peer| Reverse(realm.weight(&peer.id)));
        peers
    }

    /// Compares the settings of a node with those of this one, and remembers since when they differ.
    pub fn compatibility(
        &mut self,
        id: &NodeId,
        own: &SettingsFingerprint,
        now: Instant,
    ) -> PeerCompatibility {
        // Without its record, the owner itself has to refuse.
        let Some(node) = self.nodes.get_mut(id) else {
            return PeerCompatibility::Same;
        };
        let theirs = &node.record.settings;
        if theirs.strict != own.strict {
            return PeerCompatibility::Different(SettingsDifference::Strict);
        }
        if theirs.reloadable == own.reloadable {
            node.differs_since = None;
            return PeerCompatibility::Same;
        }
        let since = *node.differs_since.get_or_insert(now);
        let differs_for = now.saturating_duration_since(since);
        if differs_for < RELOAD_TIME {
            PeerCompatibility::DiffersFor(differs_for)
        } else {
            PeerCompatibility::Different(SettingsDifference::Reloadable)
        }
    }

    /// Removes the nodes that are dead, and returns them. A node is kept that may still answer this one: it
    /// may be cut off from the directory only.
    pub fn forget_dead(
        &mut self,
        may_answer: impl Fn(&NodeId) -> bool,
        now: Instant,
    ) -> Vec<NodeId> {
        let lease = self.lease + LEASE_GRACE;
        let is_over = |seen: Instant| now.saturating_duration_since(seen) > lease;
        self.unreached.retain(|_, at| !is_over(*at));
        let Some(since) = self.watching_since else {
            return Vec::new();
        };
        let is_dead =
            |id: &NodeId, node: &mut KnownNode| is_over(node.announced) && !may_answer(id);
        let dead = self.nodes.extract_if(.., is_dead);
        let dead = dead.map(|(id, _)| id).collect();
        // While a withdrawn node that is not remembered would count as alive, it is remembered.
        self.withdrawn
            .retain(|_, at| !is_over(*at) || !is_over(since));
        dead
    }

    /// Counts the other nodes by their states.
    pub fn counts(&self, now: Instant) -> PeerCounts {
        let mut counts = PeerCounts::default();
        for node in self.nodes.values() {
            match node.record.state {
                _ if self.is_over(node.announced, now) => counts.dead += 1,
                NodeState::Serving => counts.serving += 1,
                NodeState::Draining => counts.draining += 1,
            }
        }
        counts
    }

    fn is_over(&self, announced: Instant, now: Instant) -> bool {
        self.is_connected() && now.saturating_duration_since(announced) > self.lease + LEASE_GRACE
    }
}

#[cfg(test)]
mod tests;
