//! The lease of this node: its record in the directory.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bridge_cluster::{
    KnownPeer, NodeId, NodeState, NotWritten, PeerCounts, Revision, SettingsFingerprint,
};
use bridge_edge::connections::TlsError;
use tokio::time::{MissedTickBehavior, interval, interval_at};

use super::claim_table::RealmCounts;
use super::node::ClusterNode;

/// The record is written again after this part of the lease.
const RENEWALS_PER_LEASE: u32 = 5;

/// How often claims are compared with what is there.
const OCCUPANCY_INTERVAL: Duration = Duration::from_secs(5);

/// How often claims are checked against the directory without a reason.
const CHECK_INTERVAL: Duration = Duration::from_secs(10 * 60);

/// How often the log says that this node has no lease.
const NO_LEASE_INTERVAL: Duration = Duration::from_secs(10);

/// The state of a node, for its operator.
#[derive(Clone, Debug)]
pub(crate) struct ClusterStatus {
    /// The start of its id.
    pub(crate) node: String,
    /// The other nodes.
    pub(crate) peers: PeerCounts,
    /// The starts of their ids, and whether each of them can be reached.
    pub(crate) reachable_peers: Vec<(String, bool)>,
    pub(crate) realms: RealmCounts,
    pub(crate) lease_left: Duration,
    pub(crate) is_connected: bool,
}

impl ClusterNode {
    /// Whether this node has a lease.
    pub(crate) fn has_lease(&self) -> bool {
        self.membership.lease_left().is_some()
    }

    /// Whether this node is known to the others, or was: it serves also while the directory is away.
    pub(super) fn was_announced(&self) -> bool {
        self.membership.was_announced()
    }

    /// Why this node is not ready, if it is not. Once it was found ready, others that differ from it do not
    /// end that: it serves already.
    pub(crate) fn unready_reason(&self) -> Option<&'static str> {
        if !self.was_announced() {
            return Some(
                "the bridge is not known to the others yet: its log says why, check `cluster`",
            );
        }
        if self.is_isolated() {
            return Some(
                "the bridge is cut off from the others: its log says why, send requests to them",
            );
        }
        if !self.membership.was_ready() {
            if let Some(difference) = self.difference_from_all() {
                return Some(difference);
            }
            self.membership.set_ready();
        }
        None
    }

    /// Whether the bridge is about to stop.
    pub(super) fn is_draining(&self) -> bool {
        self.hub.upgrade().is_none_or(|hub| hub.is_draining())
    }

    /// The state of this node, as its record shows it.
    pub(crate) fn node_state(&self) -> NodeState {
        if self.is_draining() || self.is_isolated() {
            NodeState::Draining
        } else {
            NodeState::Serving
        }
    }

    /// Writes the record of this node, and has the claims checked if the lease had lapsed before.
    async fn renew(self: &Arc<Self>) {
        if self.announce().await {
            self.check_claims();
        }
    }

    /// Writes the record of this node. Returns whether the lease had lapsed before, so that claims have to
    /// be checked.
    async fn announce(&self) -> bool {
        let last = self
            .membership
            .state()
            .announced
            .map(|(revision, _)| revision);
        let state = self.node_state();
        let record = self.membership.record(self.own, state, self.reaches());
        let record = record.encode(&self.keys);
        let begun = Instant::now();
        let renewed = self
            .directory
            .announce(&self.own, record.clone(), last)
            .await;
        let written = match (renewed, last) {
            // Its answer was lost, or the record has expired.
            (Err(_), Some(_)) => self.directory.announce(&self.own, record, None).await,
            (renewed, _) => renewed,
        };
        self.announced(written, begun);
        written.is_ok() && renewed.is_err() && last.is_some()
    }

    fn announced(&self, written: Result<Revision, NotWritten>, begun: Instant) {
        match written {
            Ok(revision) => {
                self.membership.announced(revision, begun);
                let is_connected = self.membership.state().connected_since.is_some();
                let mut peers = self.peers();
                if is_connected && !peers.is_connected() {
                    peers.connected(Instant::now());
                }
            }
            // As long as the directory does not take this record, it may not have that of others.
            Err(_) => self.peers().disconnected(),
        }
    }

    /// Announces that a reload has changed settings that all nodes share.
    pub(crate) fn settings_changed(&self, settings: SettingsFingerprint) {
        let former = std::mem::replace(&mut self.membership.state().settings, settings);
        if former != settings {
            self.membership.changed.notify_one();
        }
    }

    /// Ends the lease of this node at once.
    pub(super) async fn withdraw(&self) {
        // A lease that cannot be removed ends by itself.
        let _ = self.directory.withdraw(&self.own).await;
    }

    /// Returns the state of this node, for its operator.
    pub(crate) fn status(&self) -> ClusterStatus {
        let reachable = |id: &NodeId| (id.short(), !self.reach.is_unreachable(id));
        let (peers, reachable_peers) = {
            let peers = self.peers();
            let known = peers.known().map(|peer| reachable(&peer.id));
            (peers.counts(Instant::now()), known.collect())
        };
        ClusterStatus {
            node: self.own.short(),
            peers,
            reachable_peers,
            realms: self.claims.counts(),
            lease_left: self.membership.lease_left().unwrap_or_default(),
            is_connected: self.membership.state().connected_since.is_some(),
        }
    }

    /// The address at which other nodes reach this one.
    pub(crate) fn address(&self) -> SocketAddr {
        self.membership.address()
    }

    /// Returns the other nodes, for the operator of this one.
    pub(crate) fn known_nodes(&self) -> Vec<KnownPeer> {
        self.peers().overview(Instant::now()).collect()
    }

    /// When the certificate for other nodes expires.
    pub(crate) fn certificate_expires(&self) -> Option<SystemTime> {
        self.links.certificate_expires()
    }

    /// Loads the certificate for other nodes again. Returns whether it is another one.
    ///
    /// # Errors
    ///
    /// When it cannot be used. Then the former one is still used.
    pub(crate) fn reload_certificate(&self) -> Result<bool, TlsError> {
        self.links.reload()
    }
}

/// Keeps the lease of this node, and its claims.
pub(super) async fn run(cluster: Arc<ClusterNode>) {
    let mut renewal = interval(cluster.membership.lease / RENEWALS_PER_LEASE);
    renewal.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut occupancy = interval(OCCUPANCY_INTERVAL);
    occupancy.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut checks = interval(CHECK_INTERVAL);
    let mut reminder = interval_at(
        tokio::time::Instant::now() + NO_LEASE_INTERVAL,
        NO_LEASE_INTERVAL,
    );
    loop {
        tokio::select! {
            () = cluster.membership.connected.notified() => {
                cluster.announce().await;
                cluster.check_claims();
            }
            () = cluster.membership.changed.notified() => cluster.renew().await,
            _ = renewal.tick() => {
                cluster.renew().await;
                let may_answer = |id: &NodeId| cluster.reach.state().pings.may_answer(id);
                let dead = cluster.peers().forget_dead(may_answer, Instant::now());
                for node in dead {
                    tracing::warn!(node = node.short(), "another bridge of the cluster is gone");
                    cluster.forget_node(&node);
                }
                let peers = cluster.peers();
                cluster.links.retain(|id| peers.peer(id).is_some());
                cluster.reach.retain(|id| peers.peer(id).is_some());
                drop(peers);
                cluster.log_limits.log_suppressed();
            }
            _ = occupancy.tick() => cluster.report_occupancy(),
            _ = checks.tick() => cluster.check_claims(),
            _ = reminder.tick() => {
                if !cluster.was_announced() {
                    tracing::warn!(
                        "the bridge has no record in NATS, and is not ready before it has: check \
                         `cluster` and its credentials"
                    );
                } else if !cluster.has_lease() {
                    tracing::warn!(
                        "the bridge has lost its record in NATS, and serves without it: users of other \
                         bridges that are new here wait"
                    );
                }
            }
        }
    }
}
