//! A connection between a bridge and something else that a test can cut.

use std::net::SocketAddr;

use bridge::Config;
use bridge_cluster::{NatsServer, ReservedPort};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::kit::*;

/// An address whose connections a test can cut. Nothing arrives then, and no connection is closed, as when
/// a host has no power.
pub(super) struct CuttableLink {
    pub(super) address: SocketAddr,
    is_cut: watch::Sender<bool>,
    server: JoinHandle<()>,
}

impl CuttableLink {
    /// Passes connections on to this address.
    pub(super) async fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (is_cut, cuts) = watch::channel(false);
        let server = tokio::spawn(async move {
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                tokio::spawn(pass(socket, target, cuts.clone()));
            }
        });
        Self {
            address,
            is_cut,
            server,
        }
    }

    pub(super) fn cut(&self) {
        self.is_cut.send_replace(true);
    }

    /// Passes new connections on again. Those that were cut end.
    pub(super) fn restore(&self) {
        self.is_cut.send_replace(false);
    }
}

impl Drop for CuttableLink {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn pass(mut socket: TcpStream, target: SocketAddr, mut cuts: watch::Receiver<bool>) {
    let mut other = None;
    if !*cuts.borrow() {
        let Ok(connected) = TcpStream::connect(target).await else {
            return;
        };
        let other = other.insert(connected);
        tokio::select! {
            _ = copy_bidirectional(&mut socket, other) => return,
            _ = cuts.wait_for(|is_cut| *is_cut) => {}
        }
    }
    // Both sides stay open, and silent.
    let _ = cuts.wait_for(|is_cut| !is_cut).await;
}

/// Bridges that reach each other, and NATS, by way of links.
pub(super) struct CuttableBridges {
    pub(super) bridges: Bridges,
    /// By which the others reach each bridge.
    pub(super) links: Vec<CuttableLink>,
    /// By which each bridge reaches NATS.
    pub(super) nats_links: Vec<CuttableLink>,
    _ports: Vec<ReservedPort>,
}

impl CuttableBridges {
    pub(super) async fn start(count: usize, change: impl Fn(&mut Config)) -> Self {
        let nats = NatsServer::start();
        let nats_address = nats.url().replace("nats://", "").parse().unwrap();
        let ports: Vec<_> = (0..count).map(|_| ReservedPort::reserve()).collect();
        let (mut links, mut nats_links) = (Vec::new(), Vec::new());
        for port in &ports {
            links.push(CuttableLink::to(port.address()).await);
            nats_links.push(CuttableLink::to(nats_address).await);
        }
        let configure = |number: usize, config: &mut Config| {
            config.cluster.cluster = vec![format!("nats://{}", nats_links[number].address)];
            config.cluster.cluster_bind = Some(ports[number].address());
            config.cluster.cluster_address = Some(links[number].address);
            change(config);
        };
        let bridges = Bridges::start_at(nats, count, configure).await;
        Self {
            bridges,
            links,
            nats_links,
            _ports: ports,
        }
    }
}
