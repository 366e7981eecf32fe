//! A TCP proxy in front of the bridge's page socket that cuts, stalls, delays and refuses
//! connections.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::delay::delay;

/// The condition of the simulated network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NetworkCondition {
    Normal,
    /// Bytes arrive this much later.
    Slow(Duration),
    /// Nothing arrives, and no side is notified.
    Stalled,
    /// New connections are refused.
    Refusing,
}

#[derive(Debug)]
struct Shared {
    condition: watch::Sender<NetworkCondition>,
    /// Incremented to cut all connections.
    cuts: watch::Sender<u64>,
    /// After this many more bytes on any connection, all connections are cut.
    cut_after: Mutex<Option<usize>>,
}

/// A proxy between pages and a bridge. It stops when it is dropped.
#[derive(Debug)]
pub(super) struct FaultProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

impl FaultProxy {
    pub(super) async fn start(bridge: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            condition: watch::Sender::new(NetworkCondition::Normal),
            cuts: watch::Sender::new(0),
            cut_after: Mutex::default(),
        });
        let server = tokio::spawn(serve(listener, bridge, Arc::clone(&shared)));
        Self {
            address,
            shared,
            server,
        }
    }

    pub(super) fn bridge_url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn set_condition(&self, condition: NetworkCondition) {
        self.shared.condition.send_replace(condition);
    }

    /// Cuts every connection at once; bytes in flight are lost.
    pub(super) fn cut(&self) {
        self.shared.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Cuts all connections after this many more bytes.
    pub(super) fn cut_after(&self, bytes: usize) {
        *self.shared.cut_after.lock().unwrap() = Some(bytes);
    }

    /// Returns to normal conditions. Stalled connections break, as networks drop them eventually.
    pub(super) fn restore(&self) {
        *self.shared.cut_after.lock().unwrap() = None;
        if *self.shared.condition.borrow() == NetworkCondition::Stalled {
            self.cut();
        }
        self.set_condition(NetworkCondition::Normal);
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(listener: TcpListener, bridge: SocketAddr, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((page, _)) = listener.accept().await {
        if *shared.condition.borrow() != NetworkCondition::Refusing {
            connections.spawn(serve_connection(page, bridge, Arc::clone(&shared)));
        }
        while connections.try_join_next().is_some() {}
    }
}

/// Serves one connection. Its sockets close when this returns.
async fn serve_connection(mut page: TcpStream, bridge: SocketAddr, shared: Arc<Shared>) {
    let mut cuts = shared.cuts.subscribe();
    let Ok(mut bridge) = TcpStream::connect(bridge).await else {
        return;
    };
    let _ = (page.set_nodelay(true), bridge.set_nodelay(true));
    let is_cut = {
        let (from_page, to_page) = page.split();
        let (from_bridge, to_bridge) = bridge.split();
        let both = async {
            tokio::join!(
                forward(from_page, to_bridge, &shared),
                forward(from_bridge, to_page, &shared)
            )
        };
        tokio::select! {
            _ = both => false,
            _ = cuts.changed() => true,
        }
    };
    if is_cut {
        // A reset discards what is in flight in both directions.
        let _ = (page.set_zero_linger(), bridge.set_zero_linger());
    }
}

/// Forwards bytes until the end of the stream. A cut of one direction cuts both.
async fn forward(mut from: ReadHalf<'_>, mut to: WriteHalf<'_>, shared: &Shared) {
    let mut condition = shared.condition.subscribe();
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let flowing = condition.wait_for(|condition| *condition != NetworkCondition::Stalled);
        let current = flowing
            .await
            .map_or(NetworkCondition::Normal, |condition| *condition);
        if let NetworkCondition::Slow(span) = current {
            delay(span).await;
        }
        let (passing, is_cut) = shared.passing_bytes(read);
        if to.write_all(&buffer[..passing]).await.is_err() {
            break;
        }
        if is_cut {
            shared.cuts.send_modify(|cuts| *cuts += 1);
        }
    }
    let _ = to.shutdown().await;
}

impl Shared {
    /// Returns how many of `bytes` pass, and whether the connections are cut after them.
    fn passing_bytes(&self, bytes: usize) -> (usize, bool) {
        let mut cut_after = self.cut_after.lock().unwrap();
        match cut_after.take() {
            Some(left) if left < bytes => (left, true),
            Some(left) => {
                *cut_after = Some(left - bytes);
                (bytes, false)
            }
            None => (bytes, false),
        }
    }
}
