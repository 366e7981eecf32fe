//! The lease of this node: its record in the directory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bridge_cluster::{NodeState, PeerCounts, SettingsFingerprint};
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
    pub(crate) realms: RealmCounts,
    pub(crate) lease_left: Duration,
    pub(crate) is_connected: bool,
}

impl ClusterNode {
    /// Whether this node has a lease.
    pub(crate) fn has_lease(&self) -> bool {
        self.membership.lease_left().is_some()
    }

    /// Writes the record of this node. Returns whether the lease had lapsed before, so that claims have to
    /// be checked.
    async fn announce(&self) -> bool {
        let last = self
            .membership
            .state()
            .announced
            .map(|(revision, _)| revision);
        let is_draining = self.hub.upgrade().is_none_or(|hub| hub.is_draining());
        let state = if is_draining {
            NodeState::Draining
        } else {
            NodeState::Serving
        };
        let record = self.membership.record(self.own, state).encode(&self.keys);
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
        if let Ok(revision) = written {
            self.membership.state().announced = Some((revision, begun));
        }
        written.is_ok() && renewed.is_err() && last.is_some()
    }

    /// Announces that a reload has changed settings that all nodes share.
    pub(crate) async fn settings_changed(&self, settings: SettingsFingerprint) {
        let former = std::mem::replace(&mut self.membership.state().settings, settings);
        if former != settings {
            self.announce().await;
        }
    }

    /// Ends the lease of this node at once.
    pub(super) async fn withdraw(&self) {
        // A lease that cannot be removed ends by itself.
        let _ = self.directory.withdraw(&self.own).await;
    }

    /// Returns the state of this node, for its operator.
    pub(crate) fn status(&self) -> ClusterStatus {
        ClusterStatus {
            node: self.own.short(),
            peers: self.peers().counts(Instant::now()),
            realms: self.claims.counts(),
            lease_left: self.membership.lease_left().unwrap_or_default(),
            is_connected: self.membership.state().connected_since.is_some(),
        }
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
            _ = renewal.tick() => {
                if cluster.announce().await {
                    cluster.check_claims();
                }
                let dead = cluster.peers().forget_dead(Instant::now());
                for node in dead {
                    tracing::warn!(node = node.short(), "another bridge of the cluster is gone");
                    cluster.forget_node(&node);
                }
                let peers = cluster.peers();
                cluster.links.retain(|id| peers.peer(id).is_some());
                drop(peers);
                cluster.log_limits.log_suppressed();
            }
            _ = occupancy.tick() => cluster.report_occupancy(),
            _ = checks.tick() => cluster.check_claims(),
            _ = reminder.tick() => {
                if !cluster.has_lease() {
                    tracing::warn!(
                        "the bridge has no record in NATS, and is not ready before it has: check \
                         `cluster` and its credentials"
                    );
                }
            }
        }
    }
}
