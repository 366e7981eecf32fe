//! Keys that an issuer publishes. One task fetches and stores them.
//!
//! Verification uses the keys of the last successful fetch, for at most `jwks_max_age`. A token whose
//! key is not among them waits for a fetch that begins after the token has arrived. All such tokens
//! share one fetch, which begins at the earliest [`MISS_INTERVAL`] after the one before. Made-up key
//! ids therefore cause no more fetches than one, and delay a key rotation by at most this interval.
//!
//! All tokens wait for the first fetch, so that the pages of a bridge that was restarted come back with
//! it. Later, [`KeyWaits`] limits how many wait.
//!
//! A key that such a fetch did not bring is unknown until the next one: tokens with it are refused at
//! once. While fetches fail, a missing key may exist: tokens with it are refused for now.

mod fetch;
mod key_waits;
mod refresh;
mod snapshot;
mod unknown_keys;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bridge_edge::ClientAddress;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::verification_key::{KeyLookupError, KeyName, VerificationKey, select_key};
use fetch::JwksSource;
use refresh::run_refresh;
use snapshot::JwksSnapshot;
use unknown_keys::UnknownKeys;

pub use key_waits::KeyWaits;
pub use snapshot::MISS_INTERVAL;

/// How long a token waits for a fetch. A page waits 10 s for the answer to `authenticate`.
pub const KEY_WAIT_LIMIT: Duration = Duration::from_secs(8);

/// The keys at a URL. They are fetched when they are first used, and refreshed from then on.
#[derive(Debug)]
pub struct Jwks {
    source: Arc<JwksSource>,
    refresh_interval: Duration,
    max_age: Duration,
    refresher: OnceLock<JwksRefresher>,
}

impl Jwks {
    /// Creates a set of keys that is fetched again after each `refresh` interval. Its keys are used
    /// until `max_age` after the last successful fetch.
    pub fn new(url: &str, refresh: Duration, max_age: Duration) -> Result<Self, String> {
        if max_age < refresh {
            return Err(
                "`jwks_max_age` is shorter than `jwks_refresh`: keys would be dropped before they \
                 are fetched again"
                    .to_owned(),
            );
        }
        Ok(Self {
            source: Arc::new(JwksSource::new(url)?),
            refresh_interval: refresh,
            max_age,
            refresher: OnceLock::new(),
        })
    }

    /// Whether another set is fetched from the same address, as often, and used as long.
    pub fn is_same_source(&self, other: &Self) -> bool {
        self.source == other.source
            && self.refresh_interval == other.refresh_interval
            && self.max_age == other.max_age
    }

    /// Starts the task that fetches, unless it is running. Must be called within a Tokio runtime.
    pub fn refresher(&self) -> &JwksRefresher {
        self.refresher.get_or_init(|| {
            let source = Arc::clone(&self.source);
            JwksRefresher::spawn(self.refresh_interval, self.max_age, move || {
                let source = Arc::clone(&source);
                async move { source.fetch_or_warn().await }
            })
        })
    }
}

/// The handle of the task that fetches keys. Dropping it ends the task.
#[derive(Debug)]
pub struct JwksRefresher {
    snapshot: watch::Receiver<JwksSnapshot>,
    /// The number of the latest fetch that a token waits for.
    wanted: watch::Sender<u64>,
    unknown_keys: Mutex<UnknownKeys>,
    max_age: Duration,
    started_at: Instant,
    task: JoinHandle<()>,
}

impl JwksRefresher {
    /// Spawns the task that calls `fetch`, which logs the reason when it fails.
    fn spawn<F>(
        refresh: Duration,
        max_age: Duration,
        fetch: impl Fn() -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = Option<Vec<Arc<VerificationKey>>>> + Send + 'static,
    {
        let (snapshot_tx, snapshot) = watch::channel(JwksSnapshot::default());
        let (wanted, wanted_rx) = watch::channel(0);
        let task = tokio::spawn(run_refresh(snapshot_tx, wanted_rx, refresh, fetch));
        Self {
            snapshot,
            wanted,
            unknown_keys: Mutex::default(),
            max_age,
            started_at: Instant::now(),
            task,
        }
    }

    /// Waits for the first fetch, and returns whether there are keys then.
    pub async fn is_fetched(&self) -> bool {
        let mut snapshot = self.snapshot.clone();
        let _ = snapshot.wait_for(|it| it.ended > 0).await;
        self.has_keys()
    }

    /// Fetches the keys again, as soon as a token with an unknown key could cause it.
    pub fn refetch(&self) {
        self.want_next_fetch(&self.snapshot.borrow());
    }

    /// Whether the key is among the keys that are used now.
    pub fn contains(&self, key: &Arc<VerificationKey>) -> bool {
        let snapshot = self.snapshot.borrow();
        let mut keys = snapshot.usable_keys(self.max_age).iter();
        keys.any(|own| Arc::ptr_eq(own, key))
    }

    /// Whether there are keys now.
    pub fn has_keys(&self) -> bool {
        !self.snapshot.borrow().usable_keys(self.max_age).is_empty()
    }

    /// The time since the last successful fetch or, if there was none, since the start.
    pub fn age(&self) -> Duration {
        let fetched_at = self.snapshot.borrow().fetched_at;
        fetched_at.unwrap_or(self.started_at).elapsed()
    }

    /// The number of fetches that have failed.
    pub fn failures(&self) -> u64 {
        self.snapshot.borrow().failures
    }

    /// Finds the key of a token among the configured and the fetched ones. Waits for a fetch if there
    /// is none: at most [`KEY_WAIT_LIMIT`]. After the first fetch, it waits only if `waits` has a place
    /// for the client.
    ///
    /// # Errors
    ///
    /// [`KeyLookupError::Unavailable`] if the key may exist, but the keys could not be fetched.
    pub async fn find_key(
        &self,
        name: KeyName<'_>,
        configured: &[Arc<VerificationKey>],
        waits: &KeyWaits,
        client: ClientAddress,
    ) -> Result<Arc<VerificationKey>, KeyLookupError> {
        let select = |snapshot: &JwksSnapshot| {
            let fetched = snapshot.usable_keys(self.max_age);
            select_key(configured.iter().chain(fetched), name)
        };
        let begun = {
            let snapshot = self.snapshot.borrow();
            match select(&snapshot) {
                Err(KeyLookupError::NotFound) => {}
                found => return found,
            }
            self.want_next_fetch(&snapshot);
            if snapshot.last_failed {
                return Err(KeyLookupError::Unavailable);
            }
            if snapshot.is_recent() && self.unknown_keys().contains(snapshot.ended, name) {
                return Err(KeyLookupError::NotFound);
            }
            snapshot.begun
        };
        let mut snapshots = self.snapshot.clone();
        let search = async {
            let mut place = None;
            loop {
                {
                    let snapshot = snapshots.borrow_and_update();
                    match select(&snapshot) {
                        Err(KeyLookupError::NotFound) => {}
                        found => return found,
                    }
                    if snapshot.last_failed {
                        return Err(KeyLookupError::Unavailable);
                    }
                    if snapshot.ended > begun {
                        self.unknown_keys().insert(snapshot.ended, name);
                        return Err(KeyLookupError::NotFound);
                    }
                    self.want_next_fetch(&snapshot);
                    if snapshot.ended > 0 && place.is_none() {
                        let free = waits.try_acquire(client);
                        place = Some(free.ok_or(KeyLookupError::Unavailable)?);
                    }
                }
                if snapshots.changed().await.is_err() {
                    return Err(KeyLookupError::Unavailable);
                }
            }
        };
        let found = tokio::time::timeout(KEY_WAIT_LIMIT, search).await;
        found.unwrap_or(Err(KeyLookupError::Unavailable))
    }

    /// Requests another fetch, unless one is under way: its keys may be enough.
    fn want_next_fetch(&self, snapshot: &JwksSnapshot) {
        if snapshot.begun == snapshot.ended {
            let next = snapshot.begun + 1;
            self.wanted.send_if_modified(|wanted| {
                let is_later = *wanted < next;
                *wanted = next.max(*wanted);
                is_later
            });
        }
    }

    fn unknown_keys(&self) -> MutexGuard<'_, UnknownKeys> {
        self.unknown_keys
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for JwksRefresher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests;
