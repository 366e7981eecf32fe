//! How a node begins and leaves.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bridge_cluster::{
    ClusterKeys, Directory, NatsDirectory, NatsSettings, NodeId, Peers, SettingsFingerprint,
};
use bridge_edge::connections::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::claim_table::ClaimTable;
use super::denial_exchange::DenialExchange;
use super::denials;
use super::directory_events::DirectoryEvents;
use super::held_realms::HeldRealms;
use super::lease;
use super::link::Links;
use super::log_limits::LogLimits;
use super::membership::Membership;
use super::node::ClusterNode;
use super::owner_cache::OwnerCache;
use super::peer_reach::PeerReach;
use super::peer_watch;
use crate::config;
use crate::hub::Hub;

/// How a node reaches the others, and is reached by them.
pub(crate) struct NodeSettings {
    /// The address at which the others reach it.
    pub(crate) address: SocketAddr,
    pub(crate) tls: Option<(TlsAcceptor, String)>,
    /// The settings that all nodes must share.
    pub(crate) fingerprint: SettingsFingerprint,
}

impl ClusterNode {
    /// Starts this node with NATS as the directory. It may not be reachable yet.
    ///
    /// # Errors
    ///
    /// Describes the setting that cannot be used.
    pub(crate) fn start(
        config: &config::Cluster,
        nats: NatsSettings,
        hub: &Arc<Hub>,
        node: NodeSettings,
        stopping: CancellationToken,
    ) -> Result<Arc<Self>, String> {
        let own = NodeId::from_bytes(uuid::Uuid::new_v4().into_bytes());
        let events = DirectoryEvents::default();
        let directory = NatsDirectory::start(nats, own, Arc::new(events.clone()))?;
        Ok(Self::start_with(
            config, hub, node, stopping, own, directory, &events,
        ))
    }

    /// Starts this node with a directory whose events are sent to `events`.
    pub(crate) fn start_with(
        config: &config::Cluster,
        hub: &Arc<Hub>,
        node: NodeSettings,
        stopping: CancellationToken,
        own: NodeId,
        directory: Arc<dyn Directory>,
        events: &DirectoryEvents,
    ) -> Arc<Self> {
        let keys = ClusterKeys::new(&config.cluster_secret, config.cluster_realm_secret.as_ref());
        let cluster = Arc::new(Self {
            own,
            keys,
            hub: Arc::downgrade(hub),
            directory,
            claims: ClaimTable::default(),
            denials: DenialExchange::new(hub),
            peers: Mutex::new(Peers::new(own, config.cluster_lease)),
            membership: Membership::new(node.address, node.fingerprint, config.cluster_lease),
            reach: PeerReach::new(own, stopping.clone()),
            owners: OwnerCache::default(),
            held: HeldRealms::default(),
            links: Links::new(node.tls),
            tunnel_drain: Arc::default(),
            counters: Arc::default(),
            log_limits: LogLimits::default(),
            tasks: TaskTracker::new(),
            stopping,
        });
        events.connect(&cluster);
        cluster.spawn(lease::run(Arc::clone(&cluster)));
        cluster.spawn(denials::run(Arc::clone(&cluster)));
        cluster.spawn(peer_watch::run(Arc::clone(&cluster)));
        let ownership = Arc::downgrade(&cluster);
        hub.ownership.set(ownership);
        cluster
    }

    /// Ends the lease of this node at once, after the bridge has begun to stop. Other nodes take its realms
    /// over as their pages connect.
    pub(crate) async fn leave(&self) {
        self.tasks.close();
        // Otherwise the record of this node could be written again.
        self.tasks.wait().await;
        self.withdraw().await;
    }
}
