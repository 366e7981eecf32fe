//! A TCP balancer. It forwards bytes, so that `Host`, page sockets and event streams pass unchanged.
//!
//! The free nginx does not check by itself whether a server is ready. A bridge that drains still accepts
//! connections, and so does the system for a bridge that is suspended: both are left out only if
//! `/readyz` is asked. HAProxy can do that, but is packaged for few systems on which the demo runs.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{interval, sleep, timeout};

use crate::get;

/// The time between two checks of a node.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// How long a node may take to respond to a check, or to accept a connection. A busy machine with two cores
/// takes a second.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// Distributes connections over the nodes that are ready, one after the other. It stops when it is
/// dropped.
#[derive(Debug)]
pub struct Balancer {
    address: SocketAddr,
    nodes: Arc<[Node]>,
    accepting: JoinHandle<()>,
    _checks: JoinSet<()>,
}

#[derive(Debug)]
struct Node {
    address: SocketAddr,
    state: watch::Sender<NodeState>,
}

#[derive(Clone, Copy, Debug)]
struct NodeState {
    is_ready: bool,
    is_enabled: bool,
}

impl Balancer {
    /// Starts to check the nodes, and to accept connections.
    ///
    /// # Errors
    ///
    /// Returns an error if the listener has no address.
    pub fn start(
        listener: TcpListener,
        nodes: impl IntoIterator<Item = SocketAddr>,
    ) -> std::io::Result<Self> {
        let address = listener.local_addr()?;
        let nodes: Arc<[Node]> = nodes.into_iter().map(Node::new).collect();
        let mut checks = JoinSet::new();
        for index in 0..nodes.len() {
            let nodes = Arc::clone(&nodes);
            checks.spawn(async move { nodes[index].check().await });
        }
        Ok(Self {
            address,
            accepting: tokio::spawn(accept(listener, Arc::clone(&nodes))),
            nodes,
            _checks: checks,
        })
    }

    /// Returns the address for clients and pages.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends new connections only to these nodes, if they are ready. Open connections stay.
    pub fn use_only(&self, enabled: &[usize]) {
        for (index, node) in self.nodes.iter().enumerate() {
            let is_enabled = enabled.contains(&index);
            node.state
                .send_modify(|state| state.is_enabled = is_enabled);
        }
    }

    /// Sends new connections to all nodes that are ready.
    pub fn use_all(&self) {
        let all: Vec<_> = (0..self.nodes.len()).collect();
        self.use_only(&all);
    }

    /// Waits until a node has this readiness, as the balancer has checked it.
    pub async fn wait_until(&self, node: usize, is_ready: bool) {
        let mut state = self.nodes[node].state.subscribe();
        // The sender lives as long as `self`.
        let _ = state.wait_for(|state| state.is_ready == is_ready).await;
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Node {
    fn new(address: SocketAddr) -> Self {
        let (state, _) = watch::channel(NodeState {
            is_ready: false,
            is_enabled: true,
        });
        Self { address, state }
    }

    /// Asks again and again whether the node is ready.
    async fn check(&self) {
        let mut interval = interval(CHECK_INTERVAL);
        loop {
            interval.tick().await;
            let response = timeout(CHECK_TIMEOUT, get(self.address, "/readyz", None)).await;
            let is_ready = matches!(response, Ok(Ok((200, _))));
            self.set_ready(is_ready);
        }
    }

    fn set_ready(&self, is_ready: bool) {
        self.state.send_if_modified(|state| {
            let is_changed = state.is_ready != is_ready;
            state.is_ready = is_ready;
            is_changed
        });
    }

    fn is_usable(&self) -> bool {
        let state = *self.state.borrow();
        state.is_ready && state.is_enabled
    }

    /// Connects to the node, which is not ready until the next check if it does not accept.
    async fn connect(&self) -> Option<TcpStream> {
        let connected = timeout(CHECK_TIMEOUT, TcpStream::connect(self.address)).await;
        let stream = connected.ok().and_then(Result::ok);
        if stream.is_none() {
            self.set_ready(false);
        }
        stream
    }
}

async fn accept(listener: TcpListener, nodes: Arc<[Node]>) {
    let next = Arc::new(AtomicUsize::new(0));
    // They end with this task.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((client, _)) => {
                    connections.spawn(forward(client, Arc::clone(&nodes), Arc::clone(&next)));
                }
                // The limit of open files: some of them must be closed first.
                Err(_) => sleep(CHECK_INTERVAL).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Forwards a connection to the next node until either side closes it. It is closed at once if no node is
/// ready.
async fn forward(mut client: TcpStream, nodes: Arc<[Node]>, next: Arc<AtomicUsize>) {
    let first = next.fetch_add(1, Ordering::Relaxed);
    for offset in 0..nodes.len() {
        let node = &nodes[(first + offset) % nodes.len()];
        if !node.is_usable() {
            continue;
        }
        if let Some(mut server) = node.connect().await {
            let _ = (client.set_nodelay(true), server.set_nodelay(true));
            let _ = copy_bidirectional(&mut client, &mut server).await;
            return;
        }
    }
}

#[cfg(test)]
#[path = "balancer/tests.rs"]
mod tests;
