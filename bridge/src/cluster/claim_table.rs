//! The claims of this node, by realm.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bridge_auth::RealmId;
use bridge_cluster::{OwnerAnswer, RealmClaim, RealmKey, RealmLoss, Verdict};
use bridge_realm::fast_hash::FastHash;
use dashmap::DashMap;
use dashmap::mapref::one::RefMut;
use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::DropGuard;
use tokio_util::task::AbortOnDropHandle;

use super::pause::Pause;

/// How many operations on the directory run at the same time: after its restart, all claims are checked.
const MAX_OPERATIONS: usize = 64;

/// How many catalogues are handed over at the same time. Each may have megabytes.
const MAX_HAND_OVERS: usize = 8;

/// The claims of this node.
#[derive(Debug)]
pub(super) struct ClaimTable {
    /// By the names of the realms in the directory.
    pub(super) claims: DashMap<RealmKey, ClaimEntry, FastHash>,
    pub(super) operations: Semaphore,
    /// Limits the catalogues that are handed over at the same time.
    pub(super) hand_overs: Semaphore,
    /// Why this node gives all its realms away and takes no others, if it does.
    leaving: Mutex<Option<RealmLoss>>,
}

/// Numbers of realms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RealmCounts {
    pub(crate) owned: usize,
    /// Those that are being given up.
    pub(crate) moving: usize,
}

#[derive(Debug)]
pub(super) struct ClaimEntry {
    pub(super) realm: RealmId,
    pub(super) claim: RealmClaim,
    /// Those who wait for a verdict.
    pub(super) waiting: Vec<oneshot::Sender<Verdict>>,
    /// The task that continues at the time that the claim has named.
    pub(super) timer: Option<AbortOnDropHandle<()>>,
    /// How many requests of the realm have begun here. Each that runs has a [`RealmGuard`].
    requests: Arc<AtomicU64>,
    /// The latest one, which may be over.
    pause: Option<Pause>,
}

/// A request that runs at the owner of its realm. Until it is dropped, the realm is only given away at the
/// end of a drain.
#[derive(Debug)]
pub(crate) struct RealmGuard {
    _requests: Arc<AtomicU64>,
}

/// The number of requests of a realm at a time at which none of them runs. It is the same later if none has
/// run since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IdleMark(u64);

impl ClaimEntry {
    fn begin_request(&self) -> RealmGuard {
        self.requests.fetch_add(1, Ordering::Relaxed);
        RealmGuard {
            _requests: Arc::clone(&self.requests),
        }
    }

    /// Marks a realm that this node owns and of which no request runs.
    pub(super) fn idle_mark(&self) -> Option<IdleMark> {
        let is_idle = self.claim.is_settled() && Arc::strong_count(&self.requests) == 1;
        is_idle.then(|| IdleMark(self.requests.load(Ordering::Relaxed)))
    }
}

impl Default for ClaimTable {
    fn default() -> Self {
        Self {
            claims: DashMap::default(),
            operations: Semaphore::new(MAX_OPERATIONS),
            hand_overs: Semaphore::new(MAX_HAND_OVERS),
            leaving: Mutex::default(),
        }
    }
}

impl ClaimTable {
    /// Why this node gives all its realms away and takes no others, if it does.
    pub(super) fn leaving(&self) -> MutexGuard<'_, Option<RealmLoss>> {
        self.leaving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this node gives its realms away one after another, before it stops.
    pub(super) fn sends_newcomers_on(&self) -> bool {
        *self.leaving() == Some(RealmLoss::Drained)
    }

    /// Begins a request of a realm, if this node owns it. The error is the pause that it waits for before.
    pub(super) fn begin_request(&self, key: &RealmKey) -> Option<Result<RealmGuard, Pause>> {
        let entry = self.claims.get(key).filter(|entry| entry.claim.owns())?;
        let pause = entry.pause.as_ref().filter(|pause| pause.admits());
        Some(pause.map_or_else(|| Ok(entry.begin_request()), |pause| Err(pause.clone())))
    }

    /// Begins a request of a realm, if this node owns it, also while the realm is paused.
    pub(super) fn begin_request_at_once(&self, key: &RealmKey) -> Option<RealmGuard> {
        let entry = self.claims.get(key).filter(|entry| entry.claim.owns())?;
        Some(entry.begin_request())
    }

    /// Lets the further requests of a realm wait for a moment, or until the guard is dropped.
    pub(super) fn pause(&self, key: &RealmKey) -> Option<DropGuard> {
        let (pause, guard) = Pause::begin();
        self.claims.get_mut(key)?.pause = Some(pause);
        Some(guard)
    }

    /// Marks a realm that this node owns and of which no request runs.
    pub(super) fn idle_mark(&self, key: &RealmKey) -> Option<IdleMark> {
        self.claims.get(key)?.idle_mark()
    }

    /// Whether a realm is being given up.
    pub(super) fn is_moving(&self, key: &RealmKey) -> bool {
        let entry = self.claims.get(key);
        entry.is_some_and(|entry| entry.claim.is_moving())
    }

    /// Whether this node owns a realm.
    pub(super) fn owns(&self, key: &RealmKey) -> bool {
        self.claims.get(key).is_some_and(|entry| entry.claim.owns())
    }

    /// Returns the answer to another node that asks whether this one owns a realm.
    pub(super) fn owner_answer(&self, key: &RealmKey) -> OwnerAnswer {
        let entry = self.claims.get(key);
        entry.map_or(OwnerAnswer::NotMine, |entry| entry.claim.owner_answer())
    }

    /// When a realm that this node owns came from another node, if it did.
    pub(super) fn taken_over(&self, key: &RealmKey) -> Option<Instant> {
        self.claims.get(key)?.claim.taken_over()
    }

    /// Counts the realms of this node.
    pub(super) fn counts(&self) -> RealmCounts {
        let mut counts = RealmCounts::default();
        for entry in &self.claims {
            counts.owned += usize::from(entry.claim.owns());
            counts.moving += usize::from(entry.claim.is_moving());
        }
        counts
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }

    pub(super) fn get_or_begin(
        &self,
        key: RealmKey,
        realm: RealmId,
    ) -> RefMut<'_, RealmKey, ClaimEntry> {
        let begin = || ClaimEntry {
            realm,
            claim: RealmClaim::new(*self.leaving()),
            waiting: Vec::new(),
            timer: None,
            requests: Arc::default(),
            pause: None,
        };
        self.claims.entry(key).or_insert_with(begin)
    }

    /// The realms that this node owns.
    pub(super) fn owned(&self) -> Vec<(RealmKey, RealmId)> {
        let owned = self.claims.iter().filter(|entry| entry.claim.owns());
        owned.map(|entry| (*entry.key(), entry.realm)).collect()
    }

    pub(super) fn keys(&self) -> Vec<(RealmKey, RealmId)> {
        let entries = self.claims.iter();
        entries.map(|entry| (*entry.key(), entry.realm)).collect()
    }
}
