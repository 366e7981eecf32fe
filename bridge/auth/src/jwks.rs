//! Keys that an issuer publishes. One task fetches and stores them.
//!
//! Verification uses the keys of the last fetch. If a key is missing, verification sends a request
//! to the task, which fetches again if the minimum interval has passed. So there is only one fetch
//! at a time, and a client cannot trigger any number of fetches.

mod fetch;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use crate::verification_key::VerificationKey;
use fetch::JwksSource;

/// The minimum interval of fetches that are triggered by tokens with unknown keys.
const MISS_REFRESH_INTERVAL: Duration = Duration::from_secs(30);

/// The minimum interval of fetches as long as none has succeeded.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The capacity of the channel for requests for a fetch. When it is full, senders wait.
const MISS_QUEUE_CAPACITY: usize = 64;

/// The keys of the last successful fetch, with the number of attempts so far.
#[derive(Clone, Debug, Default)]
pub struct JwksSnapshot {
    pub keys: Arc<[Arc<VerificationKey>]>,
    attempts: u64,
    succeeded: bool,
}

/// A request for a fetch after the given attempt, in which a key was missing. It is dropped when
/// the fetch is done.
struct KeyMiss {
    attempts: u64,
    _done: oneshot::Sender<()>,
}

/// The keys at a URL. They are fetched when they are first used, and refreshed from then on.
#[derive(Debug)]
pub struct Jwks {
    source: Arc<JwksSource>,
    refresh_interval: Duration,
    refresher: OnceLock<JwksRefresher>,
}

impl Jwks {
    /// Creates a set of keys that is fetched again after each `refresh` interval.
    pub fn new(url: &str, refresh: Duration) -> Result<Self, String> {
        Ok(Self {
            source: Arc::new(JwksSource::new(url)?),
            refresh_interval: refresh,
            refresher: OnceLock::new(),
        })
    }

    /// Starts the task that fetches, unless it is running. Must be called within a Tokio runtime.
    pub fn refresher(&self) -> &JwksRefresher {
        self.refresher.get_or_init(|| {
            let source = Arc::clone(&self.source);
            JwksRefresher::spawn(self.refresh_interval, move || {
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
    misses: mpsc::Sender<KeyMiss>,
    task: JoinHandle<()>,
}

impl JwksRefresher {
    /// Spawns the task that calls `fetch`, which logs the reason when it fails.
    fn spawn<F>(refresh: Duration, fetch: impl Fn() -> F + Send + 'static) -> Self
    where
        F: Future<Output = Option<Vec<Arc<VerificationKey>>>> + Send + 'static,
    {
        let (snapshot_tx, snapshot) = watch::channel(JwksSnapshot::default());
        let (misses, misses_rx) = mpsc::channel(MISS_QUEUE_CAPACITY);
        let task = tokio::spawn(run_refresh(snapshot_tx, misses_rx, refresh, fetch));
        Self {
            snapshot,
            misses,
            task,
        }
    }

    /// The keys of the last fetch, without waiting.
    pub fn snapshot(&self) -> JwksSnapshot {
        self.snapshot.borrow().clone()
    }

    /// The keys after the next fetch, or the current ones when it is too early to fetch again.
    pub async fn refresh_after(&self, previous: &JwksSnapshot) -> JwksSnapshot {
        let (_done, done) = oneshot::channel();
        let miss = KeyMiss {
            attempts: previous.attempts,
            _done,
        };
        if self.misses.send(miss).await.is_ok() {
            let _ = done.await;
        }
        self.snapshot()
    }
}

impl Drop for JwksRefresher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn run_refresh<F>(
    snapshot: watch::Sender<JwksSnapshot>,
    mut misses: mpsc::Receiver<KeyMiss>,
    refresh: Duration,
    fetch: impl Fn() -> F,
) where
    F: Future<Output = Option<Vec<Arc<VerificationKey>>>>,
{
    let mut next_miss_refresh = Instant::now();
    let mut pending_miss = None;
    loop {
        let keys = fetch().await;
        snapshot.send_modify(|snapshot| {
            snapshot.attempts += 1;
            snapshot.succeeded |= keys.is_some();
            if let Some(keys) = keys {
                snapshot.keys = keys.into();
            }
        });
        let refresh_at = Instant::now() + refresh;
        if !snapshot.borrow().succeeded {
            next_miss_refresh = Instant::now() + RETRY_DELAY;
        }
        let attempts = snapshot.borrow().attempts;
        drop(pending_miss.take());
        pending_miss = loop {
            let misses = tokio::select! {
                () = sleep_until(refresh_at) => break None,
                misses = misses.recv() => match misses {
                    Some(misses) => misses,
                    None => return,
                },
            };
            if misses.attempts == attempts && next_miss_refresh <= Instant::now() {
                next_miss_refresh = Instant::now() + MISS_REFRESH_INTERVAL;
                break Some(misses);
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    const REFRESH: Duration = Duration::from_secs(600);

    /// An issuer with configurable keys that counts the fetches.
    #[derive(Clone, Default)]
    struct FakeIssuer(Arc<Mutex<(Option<usize>, usize)>>);

    impl FakeIssuer {
        fn set_keys(&self, keys: Option<usize>) {
            self.0.lock().unwrap().0 = keys;
        }

        fn fetch_count(&self) -> usize {
            self.0.lock().unwrap().1
        }

        fn spawn_refresher(&self) -> JwksRefresher {
            let issuer = self.clone();
            JwksRefresher::spawn(REFRESH, move || {
                let issuer = issuer.clone();
                async move {
                    tokio::time::advance(Duration::from_millis(1)).await;
                    let mut state = issuer.0.lock().unwrap();
                    state.1 += 1;
                    let secret = [7; 32];
                    let key = || Arc::new(VerificationKey::from_secret(None, &secret).unwrap());
                    state.0.map(|keys| (0..keys).map(|_| key()).collect())
                }
            })
        }
    }

    async fn keys_after_miss(refresher: &JwksRefresher) -> usize {
        let former = refresher.snapshot();
        refresher.refresh_after(&former).await.keys.len()
    }

    #[tokio::test(start_paused = true)]
    async fn key_misses_refetch_at_most_every_30_s_and_keep_known_keys() {
        let issuer = FakeIssuer::default();
        issuer.set_keys(Some(1));
        let refresher = issuer.spawn_refresher();
        // The first miss waits for the first fetch.
        assert_eq!(keys_after_miss(&refresher).await, 1);
        assert_eq!(issuer.fetch_count(), 1);
        issuer.set_keys(Some(2));
        assert_eq!(keys_after_miss(&refresher).await, 2);
        issuer.set_keys(Some(3));
        assert_eq!(keys_after_miss(&refresher).await, 2);
        assert_eq!(issuer.fetch_count(), 2);
        tokio::time::advance(MISS_REFRESH_INTERVAL).await;
        issuer.set_keys(None);
        assert_eq!(keys_after_miss(&refresher).await, 2);
        assert_eq!(issuer.fetch_count(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn keys_are_refetched_after_the_refresh_interval() {
        let issuer = FakeIssuer::default();
        issuer.set_keys(Some(1));
        let mut refresher = issuer.spawn_refresher();
        refresher.snapshot.changed().await.unwrap();
        issuer.set_keys(Some(2));
        refresher.snapshot.changed().await.unwrap();
        assert_eq!(refresher.snapshot().keys.len(), 2);
        assert_eq!(issuer.fetch_count(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_first_fetch_is_retried_on_a_key_miss() {
        let issuer = FakeIssuer::default();
        let refresher = issuer.spawn_refresher();
        assert_eq!(keys_after_miss(&refresher).await, 0);
        assert_eq!(keys_after_miss(&refresher).await, 0);
        assert_eq!(issuer.fetch_count(), 1);
        issuer.set_keys(Some(1));
        tokio::time::advance(RETRY_DELAY).await;
        assert_eq!(keys_after_miss(&refresher).await, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn concurrent_key_misses_cause_one_fetch() {
        let issuer = FakeIssuer::default();
        issuer.set_keys(Some(1));
        let refresher = issuer.spawn_refresher();
        keys_after_miss(&refresher).await;
        let fetches = issuer.fetch_count();
        let all = (0..2 * MISS_QUEUE_CAPACITY).map(|_| keys_after_miss(&refresher));
        futures_util::future::join_all(all).await;
        assert_eq!(issuer.fetch_count(), fetches + 1);
    }
}
