//! This node as the others see it.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bridge_cluster::{NodeId, NodeRecord, NodeState, Revision, SettingsFingerprint};
use tokio::sync::Notify;
use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;

/// How long after the start of a node requests wait for its first lease.
const JOIN_TIME: Duration = Duration::from_secs(3);

/// This node as the others see it.
#[derive(Debug)]
pub(super) struct Membership {
    address: SocketAddr,
    pub(super) lease: Duration,
    state: Mutex<MembershipState>,
    started: Instant,
    /// Cancelled when the first lease begins.
    joined: CancellationToken,
    was_ready: AtomicBool,
    /// Notified when the connection to the directory was opened.
    pub(super) connected: Notify,
    /// Notified when the record has to be written before the next renewal.
    pub(super) changed: Notify,
}

#[derive(Debug)]
pub(super) struct MembershipState {
    pub(super) settings: SettingsFingerprint,
    /// Since when the directory is connected.
    pub(super) connected_since: Option<Instant>,
    /// The revision of the record, and when it was written.
    pub(super) announced: Option<(Revision, Instant)>,
    /// The nodes to which nothing is passed, because their settings differ. The log has a line for each.
    pub(super) incompatible: BTreeSet<NodeId>,
}

impl Membership {
    pub(super) fn new(address: SocketAddr, settings: SettingsFingerprint, lease: Duration) -> Self {
        Self {
            address,
            lease,
            state: Mutex::new(MembershipState {
                settings,
                connected_since: None,
                announced: None,
                incompatible: BTreeSet::new(),
            }),
            started: Instant::now(),
            joined: CancellationToken::new(),
            was_ready: AtomicBool::new(false),
            connected: Notify::new(),
            changed: Notify::new(),
        }
    }

    /// The address at which other nodes reach this one.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn state(&self) -> MutexGuard<'_, MembershipState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this node has been connected for so long that every living one has renewed its record.
    pub(super) fn is_connected_for_a_lease(&self) -> bool {
        let since = self.state().connected_since;
        since.is_some_and(|since| since.elapsed() >= self.lease)
    }

    /// Begins the lease of this node, or continues it.
    pub(super) fn announced(&self, revision: Revision, at: Instant) {
        self.state().announced = Some((revision, at));
        self.joined.cancel();
    }

    /// Whether this node has ever had a lease.
    pub(super) fn was_announced(&self) -> bool {
        self.joined.is_cancelled()
    }

    pub(super) fn was_ready(&self) -> bool {
        self.was_ready.load(Ordering::Relaxed)
    }

    pub(super) fn set_ready(&self) {
        self.was_ready.store(true, Ordering::Relaxed);
    }

    /// Waits for the first lease soon after the start: before that, the owner of a realm cannot be found.
    pub(super) async fn wait_until_joined(&self) {
        let until = self.started + JOIN_TIME;
        let _ = timeout_at(until.into(), self.joined.cancelled()).await;
    }

    /// How long the lease of this node still lasts.
    pub(super) fn lease_left(&self) -> Option<Duration> {
        let (_, at) = self.state().announced?;
        let left = self.lease.saturating_sub(at.elapsed());
        (!left.is_zero()).then_some(left)
    }

    pub(super) fn record(&self, own: NodeId, state: NodeState, reaches: Vec<NodeId>) -> NodeRecord {
        NodeRecord {
            id: own,
            address: self.address.to_string(),
            state,
            reaches,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            settings: self.state().settings,
        }
    }
}
