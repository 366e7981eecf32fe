//! Counters of reloads of the settings.

use std::sync::atomic::{AtomicU64, Ordering};

use bridge_auth::unix_seconds;

/// The outcome of a reload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReloadOutcome {
    /// New settings are in use.
    Changed,
    /// The settings are the former ones.
    Unchanged,
    /// Something new is invalid: its former version is in use.
    Failed,
}

impl ReloadOutcome {
    /// All outcomes.
    pub(crate) const ALL: [Self; 3] = [Self::Changed, Self::Unchanged, Self::Failed];

    /// The name of the outcome in metrics.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Unchanged => "unchanged",
            Self::Failed => "failed",
        }
    }
}

/// How often the settings were loaded again, and when they were valid.
#[derive(Debug)]
pub(crate) struct ReloadCounters {
    counts: [AtomicU64; ReloadOutcome::ALL.len()],
    /// In seconds since the epoch of Unix.
    last_success: AtomicU64,
}

impl Default for ReloadCounters {
    /// The start of the bridge counts as a success.
    fn default() -> Self {
        Self {
            counts: Default::default(),
            last_success: AtomicU64::new(unix_seconds()),
        }
    }
}

impl ReloadCounters {
    /// Counts a reload.
    pub(crate) fn count(&self, outcome: ReloadOutcome) {
        self.counts[outcome as usize].fetch_add(1, Ordering::Relaxed);
        if outcome != ReloadOutcome::Failed {
            self.last_success.store(unix_seconds(), Ordering::Relaxed);
        }
    }

    /// The number of reloads with this outcome.
    pub(crate) fn get(&self, outcome: ReloadOutcome) -> u64 {
        self.counts[outcome as usize].load(Ordering::Relaxed)
    }

    /// When the settings were valid the last time, in seconds since the epoch of Unix.
    pub(crate) fn last_success(&self) -> u64 {
        self.last_success.load(Ordering::Relaxed)
    }
}
