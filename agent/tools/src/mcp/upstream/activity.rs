//! When a connection was used last, and whether it is asked to close.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// The use of a connection.
#[derive(Debug)]
pub(super) struct Activity {
    stopping: CancellationToken,
    usage: Mutex<Usage>,
}

#[derive(Debug)]
struct Usage {
    calls: usize,
    last_used: Instant,
}

/// A call that uses a connection.
#[derive(Debug)]
pub(super) struct ActiveCall<'a>(&'a Activity);

impl Activity {
    pub(super) fn new() -> Self {
        Self {
            stopping: CancellationToken::new(),
            usage: Mutex::new(Usage {
                calls: 0,
                last_used: Instant::now(),
            }),
        }
    }

    /// Begins a call. While there are any, the connection is not idle.
    pub(super) fn begin_call(&self) -> ActiveCall<'_> {
        self.usage().calls += 1;
        ActiveCall(self)
    }

    /// Returns since when the connection is not used; `None` while it is used or closes.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let usage = self.usage();
        (usage.calls == 0 && !self.is_stopping()).then_some(usage.last_used)
    }

    /// Waits until the connection was not used for this time.
    pub(super) async fn idle_for(&self, time: Duration) {
        loop {
            let now = Instant::now();
            let until = match self.idle_since() {
                Some(since) if since + time <= now => return,
                Some(since) => since + time,
                None => now + time,
            };
            sleep_until(until).await;
        }
    }

    /// Asks the task of the connection to close it.
    pub(super) fn stop(&self) {
        self.stopping.cancel();
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.is_cancelled()
    }

    /// Waits until the connection is asked to close.
    pub(super) async fn stopping(&self) {
        self.stopping.cancelled().await;
    }

    fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ActiveCall<'_> {
    fn drop(&mut self) {
        let mut usage = self.0.usage();
        usage.calls -= 1;
        usage.last_used = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Duration = Duration::from_secs(600);

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_after_its_last_call() {
        let activity = Activity::new();
        let started = Instant::now();
        let call = activity.begin_call();
        assert_eq!(activity.idle_since(), None);
        let ending = async {
            tokio::time::sleep(Duration::from_secs(900)).await;
            drop(call);
        };
        tokio::join!(activity.idle_for(IDLE), ending);
        assert_eq!(started.elapsed(), Duration::from_secs(1500));
        activity.stop();
        assert_eq!(activity.idle_since(), None);
    }
}
