//! The task that fetches keys: at intervals, after failures, and when tokens need a newer set.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::snapshot::{JwksSnapshot, MISS_INTERVAL};
use crate::verification_key::VerificationKey;

/// The longest delay after the first failed fetch. It doubles with each further failure.
const FIRST_RETRY_DELAY: Duration = Duration::from_secs(1);

/// The longest delay after failed fetches, unless tokens wait for keys.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);

/// Fetches until the senders of `wanted` are gone.
pub(super) async fn run_refresh<F>(
    snapshot: watch::Sender<JwksSnapshot>,
    mut wanted: watch::Receiver<u64>,
    refresh: Duration,
    fetch: impl Fn() -> F,
) where
    F: Future<Output = Option<Vec<Arc<VerificationKey>>>>,
{
    let mut failed_attempts = 0;
    loop {
        let begun_at = Instant::now();
        snapshot.send_modify(|snapshot| {
            snapshot.begun += 1;
            snapshot.begun_at = Some(begun_at);
        });
        let keys = fetch().await;
        let next_fetch = match &keys {
            Some(_) => {
                if failed_attempts > 0 {
                    tracing::info!("the keys of signed tokens can be fetched again");
                }
                failed_attempts = 0;
                Instant::now() + refresh
            }
            None => {
                failed_attempts += 1;
                Instant::now() + retry_delay(failed_attempts).min(refresh)
            }
        };
        let number = store(&snapshot, keys);
        loop {
            let is_wanted = *wanted.borrow_and_update() > number;
            let fetch_at = if is_wanted {
                next_fetch.min(begun_at + MISS_INTERVAL)
            } else {
                next_fetch
            };
            tokio::select! {
                () = sleep_until(fetch_at) => break,
                changed = wanted.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

/// Stores the result of a fetch, and returns its number.
fn store(snapshot: &watch::Sender<JwksSnapshot>, keys: Option<Vec<Arc<VerificationKey>>>) -> u64 {
    snapshot.send_modify(|snapshot| {
        snapshot.ended = snapshot.begun;
        snapshot.last_failed = keys.is_none();
        match keys {
            Some(keys) => {
                snapshot.keys = keys.into();
                snapshot.fetched_at = Some(Instant::now());
            }
            None => snapshot.failures += 1,
        }
    });
    snapshot.borrow().ended
}

/// Returns the delay after this number of failures in a row. It is random between half and all of
/// the longest one, so that many bridges do not fetch at the same time.
fn retry_delay(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(8);
    let longest = FIRST_RETRY_DELAY
        .saturating_mul(1 << doublings)
        .min(MAX_RETRY_DELAY);
    let random = RandomState::new().hash_one(()) as u32;
    let jitter = f64::from(random) / f64::from(u32::MAX);
    longest / 2 + (longest / 2).mul_f64(jitter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_doubles_up_to_a_limit_and_has_jitter() {
        for (failures, seconds) in [(1, 1), (2, 2), (3, 4), (5, 16), (6, 30), (u32::MAX, 30)] {
            let longest = Duration::from_secs(seconds);
            let delays: Vec<_> = (0..20).map(|_| retry_delay(failures)).collect();
            let is_within = |delay: &Duration| (longest / 2..=longest).contains(delay);
            assert!(delays.iter().all(is_within), "{failures}: {delays:?}");
            assert!(delays.iter().any(|delay| *delay != delays[0]));
        }
    }
}
