//! The events of the directory: other nodes come and go, and the connection is lost.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Instant;

use bridge_cluster::{
    DirectoryEvent, DirectoryObserver, InvalidRecord, NodeId, NodeRecord, NodeState,
    PeerCompatibility,
};

use super::node::ClusterNode;

/// Passes the events of the directory to the cluster. Those that come before it exists wait.
#[derive(Clone, Default)]
pub(crate) struct DirectoryEvents(Arc<EventReceiver>);

#[derive(Default)]
struct EventReceiver {
    cluster: OnceLock<Weak<ClusterNode>>,
    early: Mutex<Vec<DirectoryEvent>>,
}

impl DirectoryEvents {
    /// Passes the events to this cluster from now on.
    pub(super) fn connect(&self, cluster: &Arc<ClusterNode>) {
        let mut early = self.early();
        let _ = self.0.cluster.set(Arc::downgrade(cluster));
        for event in early.drain(..) {
            cluster.on_directory_event(event);
        }
    }

    fn early(&self) -> MutexGuard<'_, Vec<DirectoryEvent>> {
        self.0.early.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DirectoryObserver for DirectoryEvents {
    fn on_event(&self, event: DirectoryEvent) {
        let mut early = self.early();
        match self.0.cluster.get() {
            None => early.push(event),
            Some(cluster) => {
                drop(early);
                if let Some(cluster) = cluster.upgrade() {
                    cluster.on_directory_event(event);
                }
            }
        }
    }
}

impl ClusterNode {
    fn on_directory_event(&self, event: DirectoryEvent) {
        match event {
            DirectoryEvent::NodeAnnounced(id, _) if id == self.own => {}
            DirectoryEvent::NodeAnnounced(id, record) => self.on_node_announced(id, &record),
            DirectoryEvent::NodeWithdrawn(id) => {
                self.peers().node_withdrawn(id, Instant::now());
                self.forget_node(&id);
            }
            DirectoryEvent::DenialWritten(key, record) => self.on_denial_written(key, &record),
            DirectoryEvent::Connected => {
                self.denials.connected();
                let now = Instant::now();
                self.membership.state().connected_since = Some(now);
                self.peers().connected(now);
                self.reach.restart(now);
                self.membership.connected.notify_one();
                tracing::info!("the bridge is connected to NATS");
            }
            DirectoryEvent::Away => {
                self.expect_denials();
                self.membership.state().connected_since = None;
                self.peers().disconnected();
                tracing::warn!(
                    "the bridge has lost NATS: users of other bridges that are new here wait"
                );
            }
            DirectoryEvent::Refused(reason) => tracing::error!("NATS: {reason}"),
        }
    }

    fn on_node_announced(&self, id: NodeId, record: &str) {
        let record = match NodeRecord::decode(record, &self.keys, id) {
            Ok(record) => record,
            Err(error) => return self.on_unreadable_node(id, error),
        };
        let (node, address) = (id.short(), record.address.clone());
        let now = Instant::now();
        let mut peers = self.peers();
        let known = peers.peer(&id).map(|known| known.settings);
        let is_new = known.is_none();
        let begins_drain = record.state == NodeState::Draining && !peers.takes_no_realms(&id);
        let has_changed = known != Some(record.settings);
        peers.node_announced(record, now);
        let compatibility = peers.compatibility(&id, &self.membership.state().settings, now);
        drop(peers);
        if begins_drain {
            self.owners.remove_node(&id);
        }
        if is_new {
            tracing::info!(node, address, "another bridge of the cluster is there");
        }
        match compatibility {
            PeerCompatibility::Same => {}
            PeerCompatibility::DiffersFor(_) if !has_changed => {}
            PeerCompatibility::DiffersFor(_) => tracing::warn!(
                node,
                address,
                "the bridge has other tokens, keys or allow lists: reload both within 10 minutes"
            ),
            PeerCompatibility::Different(difference) => {
                let is_new = self.membership.state().incompatible.insert(id);
                if is_new {
                    // Its realms may have been found before.
                    self.owners.remove_node(&id);
                    tracing::error!(node, address, "{difference}");
                }
                return;
            }
        }
        self.membership.state().incompatible.remove(&id);
    }

    /// A node with another secret is as one with other settings.
    fn on_unreadable_node(&self, id: NodeId, error: InvalidRecord) {
        self.report_record(error);
        if error == InvalidRecord::WrongMac {
            self.membership.state().incompatible.insert(id);
        }
    }

    /// Why this node must not serve beside the others, if its settings differ from those of all.
    pub(super) fn difference_from_all(&self) -> Option<&'static str> {
        let peers = self.peers();
        let state = self.membership.state();
        let differs = |peer: &NodeRecord| state.incompatible.contains(&peer.id);
        let differs_from_all = !state.incompatible.is_empty() && peers.known().all(differs);
        differs_from_all.then_some(
            "the settings of the bridge differ from those of all others: its log says which",
        )
    }

    /// Whether a node has renewed its lease in time, as far as this one can know, or still answers this one:
    /// it may be cut off from the directory only.
    pub(super) fn is_alive(&self, id: &NodeId) -> bool {
        let peers = self.peers();
        peers.is_alive(id, Instant::now()) || peers.peer(id).is_some() && self.reach.answers(id)
    }

    /// Whether requests may be passed to a node: it has the settings that all must share.
    pub(super) fn is_compatible(&self, id: &NodeId) -> bool {
        let mut peers = self.peers();
        let compatibility =
            peers.compatibility(id, &self.membership.state().settings, Instant::now());
        !matches!(compatibility, PeerCompatibility::Different(_))
    }

    pub(super) fn forget_node(&self, id: &NodeId) {
        self.owners.remove_node(id);
        self.links.remove(id);
        self.membership.state().incompatible.remove(id);
    }
}
