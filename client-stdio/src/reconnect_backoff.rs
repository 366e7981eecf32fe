//! The delays between attempts to connect to a bridge.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tokio::time::Instant;

/// The delay before the first retry. It doubles with each further one and has jitter.
const INITIAL_BACKOFF: Duration = Duration::from_millis(250);

/// The longest delay between retries. A request of the client triggers an attempt without it.
const MAX_BACKOFF: Duration = Duration::from_secs(2);

/// The longest delay while the bridge may be restarting, for which requests wait.
const MAX_RESTART_BACKOFF: Duration = Duration::from_millis(500);

/// Exponential backoff with jitter.
#[derive(Debug, Default)]
pub(crate) struct ReconnectBackoff {
    /// Attempts since the last stable session.
    attempts: u32,
}

impl ReconnectBackoff {
    /// Returns the time of the next attempt. The delay is random between half and all of the
    /// backoff, so that many clients do not reconnect at the same time.
    pub(crate) fn next_attempt(&mut self, is_restart: bool) -> Instant {
        let longest = if is_restart {
            MAX_RESTART_BACKOFF
        } else {
            MAX_BACKOFF
        };
        let max_delay = INITIAL_BACKOFF
            .saturating_mul(1 << self.attempts.min(8))
            .min(longest);
        self.attempts += 1;
        let random = RandomState::new().hash_one(()) as u32;
        let jitter = f64::from(random) / f64::from(u32::MAX);
        Instant::now() + max_delay / 2 + (max_delay / 2).mul_f64(jitter)
    }

    pub(crate) fn reset(&mut self) {
        self.attempts = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_grows_up_to_the_maximum() {
        let mut backoff = ReconnectBackoff::default();
        let delays: Vec<_> = (0..10)
            .map(|_| backoff.next_attempt(false) - Instant::now())
            .collect();
        assert!(delays[0] <= INITIAL_BACKOFF && delays[0] > INITIAL_BACKOFF / 4);
        assert!(delays[9] <= MAX_BACKOFF && delays[9] > MAX_BACKOFF / 4);
        assert!(backoff.next_attempt(true) - Instant::now() <= MAX_RESTART_BACKOFF);
        backoff.reset();
        assert!(backoff.next_attempt(false) - Instant::now() <= INITIAL_BACKOFF);
    }
}
