//! Several bridges that serve as one, for one test.

use std::net::Ipv4Addr;

use bridge_cluster::NatsServer;
use demo_nodes::{Balancer, get};
use serde_json::json;
use tokio::net::TcpListener;

use crate::{BridgeEndpoint, Network, NetworkHost, PlainHttp, TestBed, with_deadline};

/// The token with which metrics of the bridges may be read.
const METRICS_TOKEN: &str = "metrics-token-of-a-cluster-0123456789";

/// The secret that the bridges share.
const SECRET: &str = "secret-of-a-cluster-0123456789abcdef";

/// Servers of NATS, several bridges, the nodes, as child processes, and a balancer in front of them.
///
/// Clients and pages use the balancer, or one of the nodes ([`ClusterBed::node`]). Nodes have numbers from
/// 0. All processes stop when it is dropped.
#[derive(Debug)]
pub struct ClusterBed {
    balancer: Balancer,
    nodes: Vec<Node>,
    nats: Vec<NatsServer>,
    network: Option<Network>,
}

#[derive(Debug)]
struct Node {
    bed: TestBed,
    /// The id that it has among the others until it starts again.
    id: String,
}

/// The processes of a [`ClusterBed`], and how they are connected.
#[derive(Debug)]
pub struct ClusterSetup<'a> {
    /// The number of bridges.
    pub nodes: usize,
    /// Whether three servers of NATS replicate their buckets. Otherwise there is one.
    pub has_three_nats_servers: bool,
    /// A network with a host for each node and a last one for NATS. Otherwise all run on this machine, and
    /// pages and clients may have any token.
    pub network: Option<Network>,
    /// Further arguments of the bridges.
    pub arguments: &'a [&'a str],
}

impl ClusterBed {
    /// Starts nodes, and waits until all are ready.
    pub async fn start(nodes: usize) -> Self {
        Self::start_with(nodes, &[]).await
    }

    /// Starts nodes with more arguments, and waits until all are ready.
    pub async fn start_with(nodes: usize, arguments: &[&str]) -> Self {
        Self::start_as(ClusterSetup {
            nodes,
            has_three_nats_servers: false,
            network: None,
            arguments,
        })
        .await
    }

    /// Starts the nodes of a setup, and waits until all are ready.
    pub async fn start_as(setup: ClusterSetup<'_>) -> Self {
        let network = setup.network;
        let nats_host = network.as_ref().map(|it| it.host(setup.nodes));
        let nats = start_nats(nats_host, setup.has_three_nats_servers);
        let urls: Vec<_> = nats.iter().map(NatsServer::url).collect();
        let (urls, replicas) = (urls.join(","), nats.len().to_string());
        let own = [
            ["--cluster", &urls],
            ["--cluster-replicas", &replicas],
            ["--cluster-secret", SECRET],
            ["--metrics-token", METRICS_TOKEN],
        ];
        let hosts = allowed_hosts(network.as_ref(), setup.nodes);
        let hosts = ["--allowed-hosts", &hosts];
        let arguments = [own.as_flattened(), &hosts, setup.arguments].concat();
        let mut beds = Vec::new();
        for node in 0..setup.nodes {
            let host = network.as_ref().map(|network| network.host(node));
            beds.push(start_node(host, &arguments).await);
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let balancer = Balancer::start(listener, beds.iter().map(TestBed::address)).unwrap();
        let mut nodes = Vec::new();
        for (index, bed) in beds.into_iter().enumerate() {
            wait_until_ready(&balancer, index).await;
            let id = read_id(&bed).await;
            nodes.push(Node { bed, id });
        }
        Self {
            balancer,
            nodes,
            nats,
            network,
        }
    }

    /// Returns the balancer.
    pub fn balancer(&self) -> &Balancer {
        &self.balancer
    }

    /// Returns the servers of NATS, which can be stopped and started again.
    pub fn nats(&mut self) -> &mut [NatsServer] {
        &mut self.nats
    }

    /// Returns the host of a node in the network.
    pub fn host(&self, node: usize) -> &NetworkHost {
        let network = self.network.as_ref();
        network.expect("the nodes have hosts").host(node)
    }

    /// Returns the host of the servers of NATS in the network.
    pub fn nats_host(&self) -> &NetworkHost {
        self.host(self.nodes.len())
    }

    /// Returns a node. Clients and pages that use it connect to it and not to the balancer.
    pub fn node(&self, node: usize) -> &TestBed {
        &self.nodes[node].bed
    }

    /// Returns the id that a node has among the others, as metrics and `get_connection_status` show it.
    pub fn node_id(&self, node: usize) -> &str {
        &self.nodes[node].id
    }

    /// Kills a node like a crash.
    pub async fn kill(&mut self, node: usize) {
        self.nodes[node].bed.crash().await;
    }

    /// Stops the process of a node (SIGSTOP) until [`ClusterBed::resume`].
    pub fn suspend(&self, node: usize) {
        self.nodes[node].bed.pause();
    }

    /// Lets the process of a node run again (SIGCONT).
    pub fn resume(&self, node: usize) {
        self.nodes[node].bed.unpause();
    }

    /// Asks a node to end when its calls have ended (SIGTERM). [`ClusterBed::wait_until_ended`] waits for
    /// that.
    pub fn drain(&self, node: usize) {
        self.nodes[node].bed.drain();
    }

    /// Waits until the process of a node has ended.
    pub async fn wait_until_ended(&mut self, node: usize) {
        self.nodes[node].bed.wait_until_gone().await;
    }

    /// Starts a node that has ended on the same port, and waits until it is ready. It has a new id.
    pub async fn restart(&mut self, node: usize) {
        // The balancer may not have noticed the end.
        self.balancer.wait_until(node, false).await;
        self.nodes[node].bed.restart().await;
        wait_until_ready(&self.balancer, node).await;
        self.nodes[node].id = read_id(&self.nodes[node].bed).await;
    }

    /// Returns the node that serves a token, when the node `asked` is asked. That is `asked` itself if no
    /// node has claimed the token.
    pub async fn owner(&self, token: &str, asked: usize) -> usize {
        let client = PlainHttp::new(self.node(asked)).with_token(token);
        let status = client.call("get_connection_status", json!({}));
        let status = with_deadline("the status of the connection", status).await;
        let status = status.unwrap();
        let id = status["structuredContent"]["node"].as_str();
        let owner = self.nodes.iter().position(|node| Some(&*node.id) == id);
        owner.unwrap_or_else(|| panic!("the status has the id of a node: {status}"))
    }

    /// Returns whether a node says that it is ready.
    pub async fn is_ready(&self, node: usize) -> bool {
        let response = get(self.node(node).address(), "/readyz", None);
        let response = with_deadline("the readiness of a node", response).await;
        response.is_ok_and(|(status, _)| status == 200)
    }

    /// Returns all metrics of a node.
    pub async fn metrics(&self, node: usize) -> String {
        read_metrics(self.node(node)).await
    }

    /// Returns the value of a series at a node: `mcp_web_cluster_tunnels{side="edge"}`.
    pub async fn metric(&self, node: usize, series: &str) -> f64 {
        let metrics = self.metrics(node).await;
        let mut lines = metrics.lines();
        let value = lines.find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        let value = value.unwrap_or_else(|| panic!("no {series} in\n{metrics}"));
        value.parse().unwrap()
    }
}

impl BridgeEndpoint for ClusterBed {
    fn url(&self) -> String {
        format!("http://{}", self.balancer.address())
    }

    fn token(&self) -> &str {
        self.nodes[0].bed.token()
    }
}

/// Starts NATS on a host of a network, or on this machine.
fn start_nats(host: Option<&NetworkHost>, has_three: bool) -> Vec<NatsServer> {
    let ip = host.map_or(Ipv4Addr::LOCALHOST.into(), NetworkHost::address);
    let start = || {
        if has_three {
            NatsServer::start_three_at(ip).into()
        } else {
            vec![NatsServer::start_at(ip)]
        }
    };
    match host {
        Some(host) => host.run(start),
        None => start(),
    }
}

/// Returns the hosts that clients name, which all nodes must accept.
fn allowed_hosts(network: Option<&Network>, nodes: usize) -> String {
    let hosts = network.into_iter().flat_map(|network| {
        let addresses = (0..nodes).map(|node| network.host(node).address());
        addresses.map(|address| format!(",{address}"))
    });
    "loopback".to_owned() + &hosts.collect::<String>()
}

async fn start_node(host: Option<&NetworkHost>, arguments: &[&str]) -> TestBed {
    let Some(host) = host else {
        let bind = ["--cluster-bind", "127.0.0.1:0"];
        return TestBed::bridge_with(&[&bind, arguments].concat()).await;
    };
    let address = host.address();
    let bind = format!("{address}:0");
    let own = ["--cluster-bind", &bind, "--cluster-plaintext"];
    TestBed::bridge_on(host, &[&own, arguments].concat()).await
}

async fn wait_until_ready(balancer: &Balancer, node: usize) {
    let what = format!("node {node} to be ready");
    with_deadline(what, balancer.wait_until(node, true)).await;
}

async fn read_id(bed: &TestBed) -> String {
    let metrics = read_metrics(bed).await;
    let id = metrics.split_once("mcp_web_cluster_node{node=\"");
    let id = id.and_then(|(_, rest)| rest.split('"').next());
    id.expect("a node has an id").to_owned()
}

async fn read_metrics(bed: &TestBed) -> String {
    let response = get(bed.address(), "/metrics", Some(METRICS_TOKEN));
    let (status, metrics) = with_deadline("metrics", response).await.unwrap();
    assert_eq!(status, 200, "{metrics}");
    metrics
}
