//! Bridges of one cluster, and its directory as a test sees it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bridge::{Config, Secret, ServerHandle};
use bridge_auth::RealmId;
use bridge_cluster::{
    ClaimRecord, ClusterKeys, Directory, DirectoryEvent, DirectoryObserver, NatsDirectory,
    NatsServer, NatsSettings, NodeId, NodeRecord, RealmKey, StoredRecord,
};
use mcp_web_sdk::{Call, CallError, McpWeb, NoArguments, Token, Tool};

use crate::kit::*;
use crate::metrics::{config_with_metrics, scrape};

pub(super) const CLUSTER_SECRET: &str = "secret-of-the-cluster-0123456789abcdef";

/// The name of the cluster in NATS, which is the default.
const CLUSTER_NAME: &str = "mcp-web";

/// Bridges that serve as one. Requests of [`TOKEN`] belong to the first one that a page of it reaches.
pub(crate) struct Bridges {
    pub(crate) nodes: Vec<ServerHandle>,
    pub(super) nats: NatsServer,
}

impl Bridges {
    /// Starts this number of bridges that have found each other.
    pub(crate) async fn start(count: usize) -> Self {
        Self::start_with(count, |_, _| {}).await
    }

    /// Starts bridges whose configuration a test changes by their number.
    pub(super) async fn start_with(count: usize, change: impl Fn(usize, &mut Config)) -> Self {
        Self::start_at(NatsServer::start(), count, change).await
    }

    /// Starts bridges with this server.
    pub(super) async fn start_at(
        nats: NatsServer,
        count: usize,
        change: impl Fn(usize, &mut Config),
    ) -> Self {
        let mut nodes = Vec::new();
        for number in 0..count {
            let mut config = node_config(&nats);
            change(number, &mut config);
            nodes.push(start_bridge_with(config).await);
        }
        let bridges = Self { nodes, nats };
        bridges.wait_until_connected().await;
        bridges
    }

    /// Waits until each bridge has its lease and knows all others.
    pub(super) async fn wait_until_connected(&self) {
        for node in &self.nodes {
            let others = (self.nodes.len() - 1) as f64;
            wait_for_metrics(node, "all bridges", |metrics| {
                metrics["mcp_web_cluster_lease_seconds"] > 0.0
                    && metrics["mcp_web_cluster_nodes{state=\"serving\"}"] == others
            })
            .await;
            wait_until_ready(node).await;
        }
    }

    /// The bridge that the tests make the owner, and another one.
    pub(super) fn owner_and_edge(&self) -> (&ServerHandle, &ServerHandle) {
        (&self.nodes[0], &self.nodes[1])
    }

    pub(super) async fn directory(&self) -> DirectoryView {
        DirectoryView::connect(&self.nats, NodeId::from_bytes([7; 16])).await
    }
}

/// The configuration of one of several bridges.
pub(super) fn node_config(nats: &NatsServer) -> Config {
    let mut config = config_with_metrics();
    config.cluster.cluster = vec![nats.url()];
    config.cluster.cluster_secret = vec![secret(CLUSTER_SECRET)];
    config.cluster.cluster_bind = Some(([127, 0, 0, 1], 0).into());
    config
}

pub(super) fn secret(text: &str) -> Secret {
    Secret::from_trusted(text.to_owned())
}

pub(super) async fn wait_until_ready(bridge: &ServerHandle) {
    let ready = async {
        let url = format!("{}/readyz", bridge.url());
        while http_client().get(&url).send().await.unwrap().status() != 200 {
            poll_pause().await;
        }
    };
    with_deadline("readiness", ready).await;
}

/// Polls the metrics of a bridge until the predicate holds, and returns them.
pub(super) async fn wait_for_metrics(
    bridge: &ServerHandle,
    what: &str,
    predicate: impl Fn(&Metrics) -> bool,
) -> Metrics {
    let poll = async {
        loop {
            let metrics = scrape(bridge).await;
            if predicate(&metrics) {
                return metrics;
            }
            poll_pause().await;
        }
    };
    with_deadline(what, poll).await
}

pub(super) type Metrics = std::collections::BTreeMap<String, f64>;

/// How many requests a bridge has held, with this outcome.
pub(super) async fn held(bridge: &ServerHandle, outcome: &str) -> f64 {
    scrape(bridge).await[&format!("mcp_web_cluster_held_total{{outcome=\"{outcome}\"}}")]
}

/// How many realms a bridge has begun to own, or not, with this outcome.
pub(super) async fn claims(bridge: &ServerHandle, outcome: &str) -> f64 {
    scrape(bridge).await[&format!("mcp_web_cluster_claims_total{{outcome=\"{outcome}\"}}")]
}

/// Starts a program of the SDK with the tool `ping`, which connects by itself whenever it can.
pub(super) fn start_program(bridge: &ServerHandle, token: &str) -> McpWeb {
    let app = McpWeb::builder("App").bridge(bridge.url());
    let app = app.token(Token::new(token.to_owned())).build().unwrap();
    app.add_tool(Tool::new("ping"), |_: NoArguments, _: Call| async {
        Ok::<_, CallError>("pong".to_owned())
    });
    let connecting = app.clone();
    tokio::spawn(async move { connecting.connect().await });
    app
}

/// The metric of the memory of requests and messages.
pub(super) const MEMORY: &str = "mcp_web_pool_bytes{pool=\"memory\"}";

/// How many requests a bridge has passed on, with this outcome.
pub(super) async fn forwards(bridge: &ServerHandle, outcome: &str) -> f64 {
    scrape(bridge).await[&format!("mcp_web_cluster_forwards_total{{outcome=\"{outcome}\"}}")]
}

/// How many page sockets a bridge passes on, or has from others.
pub(super) async fn tunnels(bridge: &ServerHandle, side: &str) -> f64 {
    scrape(bridge).await[&format!("mcp_web_cluster_tunnels{{side=\"{side}\"}}")]
}

/// Waits until `/readyz` of a bridge responds with 503, and returns its text.
pub(super) async fn wait_until_not_ready(bridge: &ServerHandle) -> String {
    let refused = async {
        let url = format!("{}/readyz", bridge.url());
        loop {
            let response = http_client().get(&url).send().await.unwrap();
            if response.status() == 503 {
                return response.text().await.unwrap();
            }
            poll_pause().await;
        }
    };
    with_deadline("readiness to end", refused).await
}

/// Waits until a bridge knows another one as reachable or not.
pub(super) async fn wait_for_peer(bridge: &ServerHandle, peer: &NodeId, is_up: bool) {
    let name = format!("mcp_web_cluster_peer_up{{peer=\"{}\"}}", peer.short());
    wait_for_metrics(bridge, "the pings", |it| {
        it[&name] == f64::from(u8::from(is_up))
    })
    .await;
}

/// Waits until a bridge has this number of tunnels on one side.
pub(super) async fn wait_for_tunnels(bridge: &ServerHandle, side: &str, count: usize) {
    let name = format!("mcp_web_cluster_tunnels{{side=\"{side}\"}}");
    wait_for_metrics(bridge, "tunnels", |it| it[&name] == count as f64).await;
}

/// The directory of a cluster, as another node sees it.
pub(super) struct DirectoryView {
    pub(super) own: NodeId,
    pub(super) keys: ClusterKeys,
    pub(super) directory: Arc<NatsDirectory>,
    nodes: NodeRecords,
}

/// The records of the nodes, by their ids.
#[derive(Clone, Default)]
struct NodeRecords(Arc<Mutex<HashMap<NodeId, String>>>);

impl DirectoryObserver for NodeRecords {
    fn on_event(&self, event: DirectoryEvent) {
        let mut nodes = self.0.lock().unwrap();
        match event {
            DirectoryEvent::NodeAnnounced(id, record) => drop(nodes.insert(id, record)),
            DirectoryEvent::NodeWithdrawn(id) => drop(nodes.remove(&id)),
            _ => {}
        }
    }
}

impl DirectoryView {
    /// Connects as a node with this id, which has no record yet.
    pub(super) async fn connect(nats: &NatsServer, own: NodeId) -> Self {
        let settings = NatsSettings {
            servers: vec![nats.url()],
            name: CLUSTER_NAME.to_owned(),
            replicas: 1,
            lease: Config::default().cluster.cluster_lease,
            credentials: None,
            user: None,
            password: None,
            ca: None,
        };
        let nodes = NodeRecords::default();
        let observer = Arc::new(nodes.clone());
        let directory = NatsDirectory::start(settings, own, observer).unwrap();
        let this = Self {
            own,
            keys: ClusterKeys::new(&[secret(CLUSTER_SECRET)], None),
            directory,
            nodes,
        };
        let connected = async {
            while this.directory.find(&this.realm(TOKEN)).await.is_err() {
                poll_pause().await;
            }
        };
        with_deadline("the directory", connected).await;
        this
    }

    /// The name of the realm of a token.
    pub(super) fn realm(&self, token: &str) -> RealmKey {
        self.keys.realm_key(RealmId::from_token(token).as_bytes())
    }

    /// The record of the realm of a token.
    pub(super) async fn stored(&self, token: &str) -> Option<StoredRecord> {
        self.directory.find(&self.realm(token)).await.unwrap()
    }

    /// The node that the record of the realm of a token names.
    pub(super) async fn owner(&self, token: &str) -> Option<NodeId> {
        let record = self.stored(token).await?.record;
        match ClaimRecord::decode(&record, &self.keys, &self.realm(token)).unwrap() {
            ClaimRecord::Owned { node, .. } => Some(node),
            ClaimRecord::Moved => None,
        }
    }

    /// Writes that a node owns the realm of a token, which has no record.
    pub(super) async fn claim_for(&self, token: &str, node: NodeId, address: &str) {
        let realm = self.realm(token);
        let record = owned(node, address).encode(&self.keys, &realm);
        self.directory.create(&realm, record).await.unwrap();
    }

    /// Replaces the owner in the record of the realm of a token.
    pub(super) async fn replace_owner(&self, token: &str, node: NodeId, address: &str) {
        let realm = self.realm(token);
        let last = self.stored(token).await.unwrap().revision;
        let record = owned(node, address).encode(&self.keys, &realm);
        self.directory.replace(&realm, record, last).await.unwrap();
    }

    /// Writes that the last owner of the realm of a token, which has no record, has given it away.
    pub(super) async fn give_away(&self, token: &str) {
        let realm = self.realm(token);
        let record = ClaimRecord::Moved.encode(&self.keys, &realm);
        self.directory.create(&realm, record).await.unwrap();
    }

    /// Waits until the record of a running bridge is one for which the predicate holds, and returns it.
    pub(super) async fn wait_for_node(
        &self,
        bridge: &ServerHandle,
        predicate: impl Fn(&NodeRecord) -> bool,
    ) -> NodeRecord {
        let found = async {
            loop {
                let record = self.node_of(bridge).await;
                if predicate(&record) {
                    return record;
                }
                poll_pause().await;
            }
        };
        with_deadline("another record of the bridge", found).await
    }

    /// The record of a running bridge.
    pub(super) async fn node_of(&self, bridge: &ServerHandle) -> NodeRecord {
        let metrics = scrape(bridge).await;
        let is_node = |id: &NodeId| {
            let name = format!("mcp_web_cluster_node{{node=\"{}\"}}", id.short());
            metrics.contains_key(&name)
        };
        let found = async {
            loop {
                let nodes = self.nodes.0.lock().unwrap().clone();
                if let Some((id, record)) = nodes.iter().find(|(id, _)| is_node(id)) {
                    return NodeRecord::decode(record, &self.keys, *id).unwrap();
                }
                poll_pause().await;
            }
        };
        with_deadline("record of the bridge", found).await
    }

    /// Announces a node with these settings at an address.
    pub(super) async fn announce(&self, address: &str, like: &NodeRecord) {
        let record = NodeRecord {
            id: self.own,
            address: address.to_owned(),
            ..like.clone()
        };
        let record = record.encode(&self.keys);
        self.directory
            .announce(&self.own, record, None)
            .await
            .unwrap();
    }
}

fn owned(node: NodeId, address: &str) -> ClaimRecord {
    let address = address.to_owned();
    ClaimRecord::Owned { node, address }
}

/// Checks that a request waits while the bridge serves others, and returns it.
pub(super) async fn waiting<F: Future>(bridge: &ServerHandle, request: F) -> std::pin::Pin<Box<F>> {
    let mut request = Box::pin(request);
    for _ in 0..3 {
        tokio::select! {
            _ = &mut request => panic!("it does not wait"),
            _ = scrape(bridge) => {}
        }
    }
    request
}
