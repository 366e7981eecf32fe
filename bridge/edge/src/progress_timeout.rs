//! The time limit of a transfer that waits for its peer.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

/// How much of a transfer each [`ProgressLimits::progress`] is for.
pub(crate) const PROGRESS_BYTES: usize = 64 * 1024;

/// How long a transfer may wait for its peer. Time in which nothing is expected of the peer does
/// not count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgressLimits {
    /// The limit for each [`PROGRESS_BYTES`], and for the rest of the transfer if it is shorter.
    pub(crate) progress: Duration,
    /// The limit for the whole transfer.
    pub(crate) total: Duration,
}

/// Measures how long one transfer waits for its peer.
///
/// It has no timer until the transfer waits for the first time.
#[derive(Debug, Default)]
pub(crate) struct ProgressTimeout(Option<Box<Progress>>);

#[derive(Debug)]
struct Progress {
    /// The bytes transferred since the last multiple of [`PROGRESS_BYTES`].
    bytes: usize,
    /// How long the transfer waited for these bytes.
    waited: Duration,
    waited_in_total: Duration,
    /// When the current wait began.
    waiting_since: Option<Instant>,
    timer: Pin<Box<Sleep>>,
}

impl ProgressTimeout {
    /// Polls the limits of a transfer that waits for its peer. Ready when one is exceeded.
    pub(crate) fn poll_expired(
        &mut self,
        limits: ProgressLimits,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        let progress = self.0.get_or_insert_with(|| Box::new(Progress::new()));
        progress.poll_expired(limits, context)
    }

    /// Records that the peer has sent or taken this many bytes.
    pub(crate) fn advance(&mut self, bytes: usize) {
        if let Some(progress) = &mut self.0 {
            progress.advance(bytes);
        }
    }
}

impl Progress {
    fn new() -> Self {
        Self {
            bytes: 0,
            waited: Duration::ZERO,
            waited_in_total: Duration::ZERO,
            waiting_since: None,
            timer: Box::pin(sleep(Duration::ZERO)),
        }
    }

    fn poll_expired(&mut self, limits: ProgressLimits, context: &mut Context<'_>) -> Poll<()> {
        if self.waiting_since.is_none() {
            let now = Instant::now();
            self.waiting_since = Some(now);
            let progress = limits.progress.saturating_sub(self.waited);
            let total = limits.total.saturating_sub(self.waited_in_total);
            self.timer.as_mut().reset(now + progress.min(total));
        }
        self.timer.as_mut().poll(context)
    }

    fn advance(&mut self, bytes: usize) {
        if let Some(since) = self.waiting_since.take() {
            let waited = since.elapsed();
            self.waited += waited;
            self.waited_in_total += waited;
        }
        self.bytes += bytes;
        if self.bytes >= PROGRESS_BYTES {
            self.bytes %= PROGRESS_BYTES;
            self.waited = Duration::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::time::timeout;

    use super::*;

    const LIMITS: ProgressLimits = ProgressLimits {
        progress: Duration::from_secs(10),
        total: Duration::from_secs(25),
    };

    /// Waits for the peer for at most this many seconds. Returns whether a limit was exceeded.
    async fn wait(transfer: &mut ProgressTimeout, seconds: u64) -> bool {
        let expired = poll_fn(|context| transfer.poll_expired(LIMITS, context));
        timeout(Duration::from_secs(seconds), expired).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn each_64_kib_has_the_whole_time_and_fewer_bytes_do_not() {
        let mut transfer = ProgressTimeout::default();
        assert!(!wait(&mut transfer, 9).await);
        transfer.advance(PROGRESS_BYTES);
        assert!(!wait(&mut transfer, 9).await);
        transfer.advance(PROGRESS_BYTES - 1);
        let started = Instant::now();
        assert!(wait(&mut transfer, 9).await);
        assert_eq!(started.elapsed(), Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn the_whole_transfer_has_a_limit() {
        let mut transfer = ProgressTimeout::default();
        for _ in 0..3 {
            assert!(!wait(&mut transfer, 8).await);
            transfer.advance(PROGRESS_BYTES);
        }
        let started = Instant::now();
        assert!(wait(&mut transfer, 8).await);
        assert_eq!(started.elapsed(), Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn time_without_waiting_does_not_count() {
        let mut transfer = ProgressTimeout::default();
        for _ in 0..5 {
            assert!(!wait(&mut transfer, 1).await);
            transfer.advance(1);
            sleep(Duration::from_secs(3600)).await;
        }
        let started = Instant::now();
        assert!(wait(&mut transfer, 9).await);
        assert_eq!(started.elapsed(), Duration::from_secs(5));
    }
}
