//! The counters of a node of a cluster.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bridge_cluster::{ClaimOrigin, RealmLoss, Verdict};

/// Declares an enum with names for a label.
macro_rules! labels {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name in metrics.
            pub(crate) const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }
    };
}

labels! {
    /// How the owner of a realm was found.
    Lookup {
        /// It is this node.
        Own = "own",
        /// It was found before.
        Cached = "cached",
        /// The directory has named it.
        Found = "found",
        /// No node owns the realm.
        None = "none",
        /// It was not found.
        Away = "away",
        /// Another node has said so, without the directory.
        Peer = "peer",
    }
}

labels! {
    /// How a claim ended.
    Claim {
        /// No node owned the realm.
        Created = "created",
        /// Another node owned it before, which is gone or has given it away.
        TakenOver = "taken_over",
        /// Another node is the owner.
        Refused = "refused",
        /// The directory has not answered, or the owner is gone.
        Away = "away",
    }
}

labels! {
    /// How passing a request on ended.
    Forward {
        /// With a response.
        Ok = "ok",
        /// At a node that does not own the realm.
        Misdirected = "misdirected",
        /// Without a connection.
        Unreachable = "unreachable",
        /// After the connection was made.
        Lost = "lost",
    }
}

labels! {
    /// How holding a request ended.
    Held {
        /// Its realm has an owner again, or is known to have none.
        Served = "served",
        /// In vain.
        GivenUp = "given_up",
    }
}

labels! {
    /// Why a realm was given up.
    LossReason {
        /// The record names another node.
        Record = "record",
        /// This node was cut off.
        Isolated = "isolated",
        /// This node stops.
        Drained = "drained",
    }
}

labels! {
    /// The two ends of a page socket that is passed on.
    TunnelSide {
        /// The node to which the page is connected.
        Edge = "edge",
        /// The node that owns its realm.
        Owner = "owner",
    }
}

/// Counts a tunnel until it is dropped.
#[derive(Debug)]
pub(crate) struct TunnelCount(Arc<ClusterCounters>, TunnelSide);

impl Drop for TunnelCount {
    fn drop(&mut self) {
        let tunnels = &self.0.tunnels[self.1 as usize];
        tunnels.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts a request that is passed on until it is dropped.
#[derive(Debug)]
pub(super) struct RequestCount(Arc<ClusterCounters>);

impl Drop for RequestCount {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counters since the start of the bridge.
#[derive(Debug, Default)]
pub(crate) struct ClusterCounters {
    lookups: [AtomicU64; Lookup::ALL.len()],
    lookup_micros: AtomicU64,
    timed_lookups: AtomicU64,
    claims: [AtomicU64; Claim::ALL.len()],
    forwards: [AtomicU64; Forward::ALL.len()],
    held: [AtomicU64; Held::ALL.len()],
    losses: [AtomicU64; LossReason::ALL.len()],
    invalid_records: AtomicU64,
    /// The requests that are being passed on.
    requests: AtomicU64,
    /// The open tunnels.
    tunnels: [AtomicU64; TunnelSide::ALL.len()],
}

impl ClusterCounters {
    /// Counts a request as long as the result exists.
    pub(super) fn count_request(self: &Arc<Self>) -> RequestCount {
        add(&self.requests, 1);
        RequestCount(Arc::clone(self))
    }

    /// Whether a request that was passed on has no response yet.
    pub(crate) fn is_passing_on(&self) -> bool {
        get(&self.requests) > 0
    }

    /// Counts a tunnel as long as the result exists.
    pub(crate) fn count_tunnel(self: &Arc<Self>, side: TunnelSide) -> TunnelCount {
        add(&self.tunnels[side as usize], 1);
        TunnelCount(Arc::clone(self), side)
    }

    pub(super) fn count_lookup(&self, lookup: Lookup) {
        add(&self.lookups[lookup as usize], 1);
    }

    pub(super) fn record_lookup_time(&self, time: Duration) {
        add(&self.timed_lookups, 1);
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        add(&self.lookup_micros, micros);
    }

    /// Counts a realm that this node has become the owner of.
    pub(super) fn count_claim(&self, origin: ClaimOrigin) {
        let claim = match origin {
            ClaimOrigin::Unowned => Claim::Created,
            ClaimOrigin::Dead(_) | ClaimOrigin::Moved => Claim::TakenOver,
        };
        add(&self.claims[claim as usize], 1);
    }

    /// Counts a page or a client whose realm this node does not own.
    pub(super) fn count_verdict(&self, verdict: &Verdict) {
        let claim = match verdict {
            Verdict::Owned => return,
            Verdict::Elsewhere(_) => Claim::Refused,
            Verdict::OwnerDead | Verdict::Unowned | Verdict::Away => Claim::Away,
        };
        add(&self.claims[claim as usize], 1);
    }

    pub(super) fn count_held(&self, held: Held) {
        add(&self.held[held as usize], 1);
    }

    pub(super) fn count_forward(&self, forward: Forward) {
        add(&self.forwards[forward as usize], 1);
    }

    pub(super) fn count_lost_realm(&self, loss: RealmLoss) {
        let reason = match loss {
            RealmLoss::Record(_) => LossReason::Record,
            RealmLoss::Isolated => LossReason::Isolated,
            RealmLoss::Drained => LossReason::Drained,
        };
        add(&self.losses[reason as usize], 1);
    }

    pub(super) fn count_invalid_record(&self) {
        add(&self.invalid_records, 1);
    }

    pub(crate) fn lookups(&self, lookup: Lookup) -> u64 {
        get(&self.lookups[lookup as usize])
    }

    /// The time that all lookups in the directory took, and their number.
    pub(crate) fn lookup_time(&self) -> (Duration, u64) {
        let micros = get(&self.lookup_micros);
        (Duration::from_micros(micros), get(&self.timed_lookups))
    }

    pub(crate) fn claims(&self, claim: Claim) -> u64 {
        get(&self.claims[claim as usize])
    }

    pub(crate) fn forwards(&self, forward: Forward) -> u64 {
        get(&self.forwards[forward as usize])
    }

    pub(crate) fn held(&self, held: Held) -> u64 {
        get(&self.held[held as usize])
    }

    pub(crate) fn losses(&self, reason: LossReason) -> u64 {
        get(&self.losses[reason as usize])
    }

    pub(crate) fn invalid_records(&self) -> u64 {
        get(&self.invalid_records)
    }

    /// The number of open tunnels.
    pub(crate) fn tunnels(&self, side: TunnelSide) -> usize {
        usize::try_from(get(&self.tunnels[side as usize])).unwrap_or(usize::MAX)
    }
}

fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
