//! The times in which the bridge itself did not run, and how late it runs what is due.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How late the bridge runs what is due.
#[derive(Debug, Default)]
pub(crate) struct EventLoopCounters {
    stalls: AtomicU64,
    last_lateness_micros: AtomicU64,
}

impl EventLoopCounters {
    /// Counts a time in which the bridge did not run.
    pub(crate) fn count_stall(&self) {
        self.stalls.fetch_add(1, Ordering::Relaxed);
    }

    /// Stores how late the timer has woken up.
    pub(crate) fn set_lateness(&self, lateness: Duration) {
        let micros = u64::try_from(lateness.as_micros()).unwrap_or(u64::MAX);
        self.last_lateness_micros.store(micros, Ordering::Relaxed);
    }

    /// The number of stalls.
    pub(crate) fn stalls(&self) -> u64 {
        self.stalls.load(Ordering::Relaxed)
    }

    /// How late the timer has woken up the last time.
    pub(crate) fn lateness(&self) -> Duration {
        Duration::from_micros(self.last_lateness_micros.load(Ordering::Relaxed))
    }
}
