//! A TCP proxy in front of the bridge's page socket that cuts, stalls, delays and refuses.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::schedule::passes;

/// What the network does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weather {
    Fair,
    /// What is sent arrives so much later.
    Slow(Duration),
    /// Nothing arrives, and nobody is told.
    Stalled,
    /// No connection is made.
    Refusing,
}

#[derive(Debug)]
struct Shared {
    weather: watch::Sender<Weather>,
    /// Counts up whenever every connection is cut.
    cuts: watch::Sender<u64>,
    /// The next connection, or the next bytes on any, are cut after so many bytes more.
    cut_after: Mutex<Option<usize>>,
}

/// See the module documentation. Ends on drop.
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
            weather: watch::Sender::new(Weather::Fair),
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

    pub(super) fn page_url(&self, session: &str) -> String {
        format!("ws://{}/ws?session={session}", self.address)
    }

    pub(super) fn set(&self, weather: Weather) {
        self.shared.weather.send_replace(weather);
    }

    /// Cuts every connection at once, whatever is under way.
    pub(super) fn cut(&self) {
        self.shared.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Cuts the connection on which the byte passes that comes after so many others.
    pub(super) fn cut_after(&self, bytes: usize) {
        *self.shared.cut_after.lock().unwrap() = Some(bytes);
    }

    /// Fair weather. Lines that were stalled break, as networks give them up in the end.
    pub(super) fn mend(&self) {
        *self.shared.cut_after.lock().unwrap() = None;
        if *self.shared.weather.borrow() == Weather::Stalled {
            self.cut();
        }
        self.set(Weather::Fair);
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(listener: TcpListener, bridge: SocketAddr, shared: Arc<Shared>) {
    let mut lines = JoinSet::new();
    while let Ok((page, _)) = listener.accept().await {
        if *shared.weather.borrow() != Weather::Refusing {
            lines.spawn(line(page, bridge, Arc::clone(&shared)));
        }
        while lines.try_join_next().is_some() {}
    }
}

/// One connection. Its sockets close when this returns.
async fn line(mut page: TcpStream, bridge: SocketAddr, shared: Arc<Shared>) {
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
                pump(from_page, to_bridge, &shared),
                pump(from_bridge, to_page, &shared)
            )
        };
        tokio::select! {
            _ = both => false,
            _ = cuts.changed() => true,
        }
    };
    if is_cut {
        // A reset: what was under way is lost in both directions.
        let _ = (page.set_zero_linger(), bridge.set_zero_linger());
    }
}

/// Passes bytes on until the end. Cutting one direction cuts both.
async fn pump(mut from: ReadHalf<'_>, mut to: WriteHalf<'_>, shared: &Shared) {
    let mut weather = shared.weather.subscribe();
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let flowing = weather.wait_for(|weather| *weather != Weather::Stalled);
        let now = flowing.await.map_or(Weather::Fair, |weather| *weather);
        if let Weather::Slow(span) = now {
            passes(span).await;
        }
        let (passing, is_cut) = shared.passing(read);
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
    /// How many of so many bytes pass, and whether the connection is cut after them.
    fn passing(&self, bytes: usize) -> (usize, bool) {
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
