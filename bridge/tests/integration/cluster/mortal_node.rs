//! A node of a cluster that ends without a word, as a process that is killed.

use std::sync::Arc;
use std::time::Duration;

use bridge_cluster::NodeId;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::interval;

use super::kit::*;
use super::stand_in::announce;
use crate::kit::*;

/// The lease of the bridges in these tests, which is the shortest one.
pub(super) const LEASE: Duration = Duration::from_secs(3);

const RENEWALS_PER_LEASE: u32 = 5;

/// The answer to a ping.
const PONG: &[u8] = b"HTTP/1.1 200 OK\r\nmcp-web-reaches: 1\r\ncontent-length: 0\r\n\r\n";

/// A node that owns the realm of [`TOKEN`], renews its lease, and does not respond to requests.
pub(super) struct MortalNode {
    requests: watch::Receiver<usize>,
    renewals: watch::Receiver<u32>,
    tasks: JoinSet<()>,
    _view: Arc<DirectoryView>,
}

impl MortalNode {
    /// Starts bridges with [`LEASE`] and the node, which the bridges have known for a whole lease.
    pub(super) async fn start_with_bridges(count: usize) -> (Bridges, Self) {
        let change = |_, config: &mut bridge::Config| config.cluster.cluster_lease = LEASE;
        let bridges = Bridges::start_with(count, change).await;
        let mut node = Self::start(&bridges).await;
        let is_known = node.renewals.wait_for(|count| *count > RENEWALS_PER_LEASE);
        with_deadline("a lease", is_known).await.unwrap();
        (bridges, node)
    }

    async fn start(bridges: &Bridges) -> Self {
        let view = DirectoryView::connect(&bridges.nats, NodeId::from_bytes([9; 16])).await;
        let view = Arc::new(view);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut tasks = JoinSet::new();
        let requests = accept(listener, &mut tasks);
        announce(bridges, &view, address).await;
        view.claim_for(TOKEN, view.own, &address.to_string()).await;
        let like = view.node_of(&bridges.nodes[0]).await;
        let (renewed, renewals) = watch::channel(0);
        let renewing = Arc::clone(&view);
        tasks.spawn(async move {
            let mut times = interval(LEASE / RENEWALS_PER_LEASE);
            loop {
                times.tick().await;
                renewing.announce(&address.to_string(), &like).await;
                renewed.send_modify(|count| *count += 1);
            }
        });
        Self {
            requests,
            renewals,
            tasks,
            _view: view,
        }
    }

    /// Waits until the node has this number of requests.
    pub(super) async fn recv_requests(&mut self, count: usize) {
        let received = self.requests.wait_for(|received| *received == count);
        with_deadline("requests", received).await.unwrap();
    }

    /// Closes all connections of the node: to bridges and to NATS.
    pub(super) async fn kill(mut self) {
        self.tasks.shutdown().await;
    }
}

/// Accepts connections and keeps them. Returns the number of requests that have begun, without pings, which
/// are answered.
fn accept(listener: TcpListener, tasks: &mut JoinSet<()>) -> watch::Receiver<usize> {
    let (received, requests) = watch::channel(0);
    tasks.spawn(async move {
        let mut sockets = Vec::new();
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut start = [0; 18];
            socket.read_exact(&mut start).await.unwrap();
            if &start == b"GET /_cluster/ping" {
                socket.write_all(PONG).await.unwrap();
            } else {
                received.send_modify(|count| *count += 1);
            }
            sockets.push(socket);
        }
    });
    requests
}
