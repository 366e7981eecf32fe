//! A while in which the further requests of a realm wait for those that run, so that a node that drains can
//! give the realm away.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::held_realms::MAX_HELD_PER_REALM;

/// How long a pause lasts at most.
pub(super) const PAUSE_TIME: Duration = Duration::from_secs(2);

/// The pause of a realm. Each request that waits for its end holds a clone.
#[derive(Clone, Debug)]
pub(super) struct Pause {
    until: Instant,
    /// Cancelled when it ends earlier.
    ended: Arc<CancellationToken>,
}

impl Pause {
    /// Begins a pause, which ends when the guard is dropped, if that is earlier than its time.
    pub(super) fn begin() -> (Self, DropGuard) {
        let ended = CancellationToken::new();
        let pause = Self {
            until: Instant::now() + PAUSE_TIME,
            ended: Arc::new(ended.clone()),
        };
        (pause, ended.drop_guard())
    }

    pub(super) async fn wait(self) {
        let _ = timeout_at(self.until, self.ended.cancelled()).await;
    }

    /// Whether one more request may wait.
    pub(super) fn admits(&self) -> bool {
        let waiting = Arc::strong_count(&self.ended) - 1;
        let is_over = self.ended.is_cancelled() || self.until <= Instant::now();
        !is_over && waiting < MAX_HELD_PER_REALM
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_limited_number_of_requests_waits() {
        let (pause, guard) = Pause::begin();
        let mut waiting: Vec<_> = (0..MAX_HELD_PER_REALM).map(|_| pause.clone()).collect();
        assert!(!pause.admits());
        waiting.pop();
        assert!(pause.admits());
        drop(guard);
        assert!(!pause.admits(), "it has ended");
        let (pause, _guard) = Pause::begin();
        tokio::time::advance(PAUSE_TIME).await;
        assert!(!pause.admits(), "its time is over");
    }
}
