//! The state of this node of the cluster, which all parts share.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bridge_auth::RealmId;
use bridge_cluster::{ClusterKeys, Directory, NodeId, Peers, RealmKey};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::claim_table::ClaimTable;
use super::cluster_counters::ClusterCounters;
use super::denial_exchange::DenialExchange;
use super::held_realms::HeldRealms;
use super::link::Links;
use super::log_limits::LogLimits;
use super::membership::Membership;
use super::owner_cache::OwnerCache;
use super::peer_reach::PeerReach;
use crate::hub::Hub;

/// This node of the cluster.
pub(crate) struct ClusterNode {
    pub(super) own: NodeId,
    pub(super) keys: ClusterKeys,
    pub(super) hub: Weak<Hub>,
    pub(super) directory: Arc<dyn Directory>,
    pub(super) claims: ClaimTable,
    pub(super) denials: DenialExchange,
    pub(super) peers: Mutex<Peers>,
    pub(super) membership: Membership,
    pub(super) reach: PeerReach,
    pub(super) owners: OwnerCache,
    pub(super) held: HeldRealms,
    pub(super) links: Links,
    /// Notifies one tunnel of a page here that it ends, as this node drains.
    pub(super) tunnel_drain: Arc<Notify>,
    pub(crate) counters: Arc<ClusterCounters>,
    pub(super) log_limits: LogLimits,
    /// The renewal of the lease, and the operations on the directory that claims have begun.
    pub(super) tasks: TaskTracker,
    /// Cancelled when the bridge stops.
    pub(super) stopping: CancellationToken,
}

impl fmt::Debug for ClusterNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cluster").field(&self.own).finish()
    }
}

impl ClusterNode {
    /// The id of this node.
    pub(crate) fn id(&self) -> NodeId {
        self.own
    }

    /// Runs a task until it ends, or the bridge stops.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let stopping = self.stopping.clone();
        self.tasks.spawn(async move {
            stopping.run_until_cancelled(task).await;
        });
    }

    /// The name of a realm in the directory.
    pub(super) fn key_of(&self, realm: RealmId) -> RealmKey {
        self.keys.realm_key(realm.as_bytes())
    }

    pub(super) fn peers(&self) -> MutexGuard<'_, Peers> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
