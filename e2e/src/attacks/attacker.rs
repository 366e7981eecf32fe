//! An attacker: its address, how long it attacks, and how often it has done what it does.

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::idle::Page;
use crate::load::connection::Connection;
use crate::source_address::connect_from;

/// The address of the attacker.
const SOURCE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// The number of peers that each attack has if it is tried only once.
const PEERS_OF_A_TRIAL: usize = 3;

/// The pause after an attempt that failed, so that an attack on a bridge that refuses everything is
/// still what it is called, and not a flood of connections.
const RETRY_PAUSE: Duration = Duration::from_millis(2);

/// How long an attack lasts.
#[derive(Clone, Copy, Debug)]
pub enum Schedule {
    /// A few peers do everything once, and nothing is held.
    Trial,
    /// All peers do everything again and again until then.
    Until(Instant),
}

/// An attacker at 127.0.0.2. Clones are the same attacker.
#[derive(Clone, Debug)]
pub struct Attacker {
    address: SocketAddr,
    schedule: Schedule,
    actions: Arc<AtomicU64>,
}

impl Attacker {
    /// Creates an attacker on the bridge at this address.
    pub fn new(address: SocketAddr, schedule: Schedule) -> Self {
        Self {
            address,
            schedule,
            actions: Arc::default(),
        }
    }

    /// How often the attacker did what it does.
    pub(super) fn actions(&self) -> u64 {
        self.actions.load(Ordering::Relaxed)
    }

    pub(super) fn is_trial(&self) -> bool {
        matches!(self.schedule, Schedule::Trial)
    }

    /// Counts what the attacker has done.
    pub(super) fn count(&self, actions: usize) {
        self.actions.fetch_add(actions as u64, Ordering::Relaxed);
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Opens a connection without any buffers of its own.
    pub(super) async fn connect(&self) -> Result<TcpStream> {
        Ok(connect_from(SOURCE, self.address).await?)
    }

    /// Opens a connection for which the system stores little that is not read.
    pub(super) async fn connect_with_little_room(&self) -> Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(1)?;
        socket.bind((SOURCE, 0).into())?;
        Ok(socket.connect(self.address).await?)
    }

    /// Opens a connection for requests one after the other.
    pub(super) async fn connect_client(&self) -> Result<Connection> {
        Connection::open_from(SOURCE, self.address).await
    }

    /// Opens a page that has authenticated.
    pub(super) async fn open_page(&self, token: &str, session: &str) -> Result<Page> {
        Page::open_from(SOURCE, self.address, token, session).await
    }

    /// Opens the socket of a page. `headers` are further lines of its request.
    pub(super) async fn open_page_socket(&self, session: &str, headers: &str) -> Result<Page> {
        let query = format!("session={session}");
        Page::connect_from(SOURCE, self.address, &query, headers).await
    }

    /// Lets each of these peers play its part again and again until the attack ends. A peer whose
    /// part ends with an error begins again.
    pub(super) async fn repeat<F>(
        &self,
        peers: usize,
        part: impl Fn(Self, usize) -> F + Clone + Send + 'static,
    ) where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let mut tasks = JoinSet::new();
        for peer in 0..self.peers(peers) {
            let (attacker, part) = (self.clone(), part.clone());
            tasks.spawn(async move { attacker.repeat_alone(peer, part).await });
        }
        let attack = async { while tasks.join_next().await.is_some() {} };
        match self.schedule {
            Schedule::Trial => attack.await,
            // The connections that are still open end with their tasks.
            Schedule::Until(end) => {
                let _ = tokio::time::timeout_at(end, attack).await;
            }
        }
    }

    async fn repeat_alone<F>(&self, peer: usize, part: impl Fn(Self, usize) -> F)
    where
        F: Future<Output = Result<()>>,
    {
        loop {
            let result = part(self.clone(), peer).await;
            if self.is_trial() {
                return;
            }
            if result.is_err() {
                tokio::time::sleep(RETRY_PAUSE).await; // sleep: it is a part of what is measured
            }
        }
    }

    /// Returns how many of these peers the attack has.
    pub(super) fn peers(&self, peers: usize) -> usize {
        if self.is_trial() {
            peers.min(PEERS_OF_A_TRIAL)
        } else {
            peers
        }
    }

    /// Writes bytes again and again, and counts `actions` each time.
    pub(super) async fn flood(&self, page: &mut Page, bytes: &[u8], actions: usize) -> Result<()> {
        loop {
            page.send_bytes(bytes).await?;
            self.count(actions);
            if self.is_trial() {
                return Ok(());
            }
        }
    }

    /// Keeps a connection open until the bridge closes it.
    pub(super) async fn hold(&self, mut socket: TcpStream) -> Result<()> {
        if !self.is_trial() {
            let mut bytes = [0; 4096];
            while socket.read(&mut bytes).await? > 0 {}
        }
        Ok(())
    }
}
