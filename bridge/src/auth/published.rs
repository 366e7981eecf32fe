//! Keys that an issuer publishes, fetched by one task and kept.
//!
//! Who needs a key reads what was fetched last. Who misses one asks the task, which fetches again
//! when it is time: so there is one fetch at a time, and nobody can make it fetch at will.

mod fetch;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use super::keys::Key;
use fetch::Source;

/// Tokens that name unknown keys make the bridge fetch no more often than this.
const EARLY_EVERY: Duration = Duration::from_secs(30);

/// As long as nothing was ever fetched, tokens make the bridge try again after this.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Tokens that wait for a fetch beside those that the task has heard of; more wait to be heard.
const WAITING: usize = 64;

/// What was fetched last.
#[derive(Clone, Debug, Default)]
pub(super) struct Fetched {
    pub(super) keys: Arc<[Arc<Key>]>,
    attempts: u64,
    succeeded: bool,
}

/// Somebody misses a key in what was fetched with this attempt; dropped when it was looked for.
struct Missed {
    attempts: u64,
    _looked: oneshot::Sender<()>,
}

/// The keys behind a URL, fetched from the first use on.
#[derive(Debug)]
pub(super) struct Published {
    source: Arc<Source>,
    refresh: Duration,
    fetching: OnceLock<Fetching>,
}

impl Published {
    /// Keys that are fetched again after each `refresh`.
    pub(super) fn at(url: &str, refresh: Duration) -> Result<Self, String> {
        Ok(Self {
            source: Arc::new(Source::new(url)?),
            refresh,
            fetching: OnceLock::new(),
        })
    }

    /// Begins to fetch them, if that has not begun. Needs a runtime.
    pub(super) fn fetching(&self) -> &Fetching {
        self.fetching.get_or_init(|| {
            let source = Arc::clone(&self.source);
            Fetching::start(self.refresh, move || {
                let source = Arc::clone(&source);
                async move { source.keys().await }
            })
        })
    }
}

/// The task that fetches, as long as this lives.
#[derive(Debug)]
pub(super) struct Fetching {
    fetched: watch::Receiver<Fetched>,
    missed: mpsc::Sender<Missed>,
    task: JoinHandle<()>,
}

impl Fetching {
    /// `fetch` tells by itself why it fails.
    fn start<F>(refresh: Duration, fetch: impl Fn() -> F + Send + 'static) -> Self
    where
        F: Future<Output = Option<Vec<Arc<Key>>>> + Send + 'static,
    {
        let (fetched_to, fetched) = watch::channel(Fetched::default());
        let (missed, missed_by) = mpsc::channel(WAITING);
        let task = tokio::spawn(run(fetched_to, missed_by, refresh, fetch));
        Self {
            fetched,
            missed,
            task,
        }
    }

    pub(super) fn fetched(&self) -> Fetched {
        self.fetched.borrow().clone()
    }

    /// What there is after that; the same when it is too early to look again.
    pub(super) async fn after(&self, former: &Fetched) -> Fetched {
        let (_looked, looked) = oneshot::channel();
        let missed = Missed {
            attempts: former.attempts,
            _looked,
        };
        if self.missed.send(missed).await.is_ok() {
            let _ = looked.await;
        }
        self.fetched()
    }
}

impl Drop for Fetching {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn run<F>(
    fetched: watch::Sender<Fetched>,
    mut missed: mpsc::Receiver<Missed>,
    refresh: Duration,
    fetch: impl Fn() -> F,
) where
    F: Future<Output = Option<Vec<Arc<Key>>>>,
{
    let mut early_from = Instant::now();
    let mut asks = None;
    loop {
        let keys = fetch().await;
        fetched.send_modify(|fetched| {
            fetched.attempts += 1;
            fetched.succeeded |= keys.is_some();
            if let Some(keys) = keys {
                fetched.keys = keys.into();
            }
        });
        let refresh_at = Instant::now() + refresh;
        if !fetched.borrow().succeeded {
            early_from = Instant::now() + RETRY_AFTER;
        }
        let attempts = fetched.borrow().attempts;
        drop(asks.take());
        asks = loop {
            let missed = tokio::select! {
                () = sleep_until(refresh_at) => break None,
                missed = missed.recv() => match missed {
                    Some(missed) => missed,
                    None => return,
                },
            };
            if missed.attempts == attempts && early_from <= Instant::now() {
                early_from = Instant::now() + EARLY_EVERY;
                break Some(missed);
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    const REFRESH: Duration = Duration::from_secs(600);

    /// An issuer whose answers are set, and that counts who asks.
    #[derive(Clone, Default)]
    struct Issuer(Arc<Mutex<(Option<usize>, usize)>>);

    impl Issuer {
        fn has(&self, keys: Option<usize>) {
            self.0.lock().unwrap().0 = keys;
        }

        fn asked(&self) -> usize {
            self.0.lock().unwrap().1
        }

        fn published(&self) -> Fetching {
            let issuer = self.clone();
            Fetching::start(REFRESH, move || {
                let issuer = issuer.clone();
                async move {
                    tokio::time::advance(Duration::from_millis(1)).await;
                    let mut state = issuer.0.lock().unwrap();
                    state.1 += 1;
                    let secret = [7; 32];
                    let key = || Arc::new(Key::secret(None, &secret).unwrap());
                    state.0.map(|keys| (0..keys).map(|_| key()).collect())
                }
            })
        }
    }

    async fn missed(published: &Fetching) -> usize {
        let former = published.fetched();
        published.after(&former).await.keys.len()
    }

    #[tokio::test(start_paused = true)]
    async fn unknown_keys_are_looked_for_once_in_30_s_and_what_is_known_stays() {
        let issuer = Issuer::default();
        issuer.has(Some(1));
        let published = issuer.published();
        // Asked before the first answer: that one is waited for.
        assert_eq!(missed(&published).await, 1);
        assert_eq!(issuer.asked(), 1);
        issuer.has(Some(2));
        assert_eq!(missed(&published).await, 2);
        issuer.has(Some(3));
        assert_eq!(missed(&published).await, 2);
        assert_eq!(issuer.asked(), 2);
        tokio::time::advance(EARLY_EVERY).await;
        issuer.has(None);
        assert_eq!(missed(&published).await, 2);
        assert_eq!(issuer.asked(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn keys_are_fetched_again_when_they_are_old() {
        let issuer = Issuer::default();
        issuer.has(Some(1));
        let mut published = issuer.published();
        published.fetched.changed().await.unwrap();
        issuer.has(Some(2));
        published.fetched.changed().await.unwrap();
        assert_eq!(published.fetched().keys.len(), 2);
        assert_eq!(issuer.asked(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn an_issuer_that_was_away_at_the_start_is_asked_at_use() {
        let issuer = Issuer::default();
        let published = issuer.published();
        assert_eq!(missed(&published).await, 0);
        assert_eq!(missed(&published).await, 0);
        assert_eq!(issuer.asked(), 1);
        issuer.has(Some(1));
        tokio::time::advance(RETRY_AFTER).await;
        assert_eq!(missed(&published).await, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn many_who_miss_a_key_cause_one_fetch() {
        let issuer = Issuer::default();
        issuer.has(Some(1));
        let published = issuer.published();
        missed(&published).await;
        let asked = issuer.asked();
        let all = (0..2 * WAITING).map(|_| missed(&published));
        futures_util::future::join_all(all).await;
        assert_eq!(issuer.asked(), asked + 1);
    }
}
