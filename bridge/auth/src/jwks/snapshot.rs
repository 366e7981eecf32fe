//! The keys of the last successful fetch, and the progress of fetching.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::verification_key::VerificationKey;

/// The minimum interval between the starts of fetches that tokens with unknown keys cause.
pub const MISS_INTERVAL: Duration = Duration::from_secs(5);

/// The state that the task shares with verification.
#[derive(Debug, Default)]
pub(super) struct JwksSnapshot {
    pub(super) keys: Arc<[Arc<VerificationKey>]>,
    /// When the last successful fetch ended.
    pub(super) fetched_at: Option<Instant>,
    /// The number of fetches that have begun.
    pub(super) begun: u64,
    /// The number of fetches that have ended.
    pub(super) ended: u64,
    /// When the last fetch began.
    pub(super) begun_at: Option<Instant>,
    /// Whether the last fetch that has ended has failed.
    pub(super) last_failed: bool,
    pub(super) failures: u64,
}

impl JwksSnapshot {
    /// The keys, unless they are too old.
    pub(super) fn usable_keys(&self, max_age: Duration) -> &[Arc<VerificationKey>] {
        match self.fetched_at {
            Some(fetched_at) if fetched_at.elapsed() <= max_age => &self.keys,
            _ => &[],
        }
    }

    /// Whether the last fetch is so recent that tokens cannot cause another one yet.
    pub(super) fn is_recent(&self) -> bool {
        let is_recent = |begun_at: Instant| begun_at.elapsed() < MISS_INTERVAL;
        self.begun_at.is_some_and(is_recent)
    }
}
