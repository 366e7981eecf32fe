//! The phases of the connection. [`backoff`](crate::backoff) has the times between its attempts.

use super::backoff::Backoff;
use super::effect::{Failure, Status};
use super::messages::Token;

/// A socket that does not open in this time is abandoned. The time is long because a browser may
/// ask the user whether the page may access this machine, and reports nothing until the user
/// answers.
pub(super) const OPEN_TIMEOUT_MS: u64 = 60_000;

/// A connection is dead after a silence of two heartbeat intervals and this time: timers of
/// background tabs fire late, and heartbeats may be delayed by the network.
pub(super) const SILENCE_ALLOWANCE_MS: u64 = 10_000;

/// How long a page processes pending messages before it abandons a silent socket. A page that was
/// suspended finds its timer due while messages are still waiting.
pub(super) const DRAIN_TIMEOUT_MS: u64 = 2_000;

/// The phase of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The page must not connect: before `connect`, after `disconnect`, after a final failure.
    Off,
    /// The app's token is being fetched.
    FetchingToken,
    /// The socket is opening.
    Opening {
        /// The token for `authenticate`, which is sent as soon as the socket is open.
        token: Token,
    },
    /// `authenticate` was sent.
    Authenticating,
    /// The page is accepted, and clients can call its tools.
    Ready,
    /// The next attempt starts when the timer fires.
    Waiting {
        /// Whether the wait ends early when the tab becomes visible or the network is back.
        interruptible: bool,
    },
}

/// The state of the connection and its recent attempts.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) phase: Phase,
    backoff: Backoff,
    /// The latest error since the app called `connect`; `None` while the page is connected.
    last_error: Option<Failure>,
}

impl Connection {
    pub(super) fn new() -> Self {
        Self {
            phase: Phase::Off,
            backoff: Backoff::new(),
            last_error: None,
        }
    }

    /// Forgets former errors, because the app called `connect`.
    pub(super) fn reset(&mut self) {
        self.backoff.reset();
        self.last_error = None;
    }

    /// Counts a new attempt. If there were too many, the page must wait instead: returns the reason
    /// and the time in milliseconds.
    pub(super) fn throttle_attempt(&mut self, now_ms: u64) -> Option<(Failure, u32)> {
        let wait_ms = self.backoff.throttle_attempt(now_ms)?;
        self.phase = Phase::Waiting {
            interruptible: false,
        };
        let error = self.last_error.clone().unwrap_or_else(too_many_attempts);
        Some((error, wait_ms))
    }

    pub(super) fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    /// Returns the status while an attempt is in progress.
    pub(super) fn attempt_status(&self) -> Status {
        match &self.last_error {
            None => Status::Connecting,
            Some(error) => Status::Reconnecting {
                error: error.clone(),
                retry_in_ms: None,
            },
        }
    }

    pub(super) fn mark_ready(&mut self) {
        self.phase = Phase::Ready;
        self.last_error = None;
    }

    /// Resets the backoff. A connection is stable when it has received a heartbeat. If being
    /// accepted were enough, a bridge that accepts and then drops the page would be retried in a
    /// tight loop.
    pub(super) fn mark_stable(&mut self) {
        self.backoff.reset();
    }

    /// Starts the wait for the next attempt and returns it in milliseconds. `random` is a number from
    /// 0 to 1.
    pub(super) fn begin_backoff(&mut self, error: Failure, visible: bool, random: f64) -> u32 {
        self.last_error = Some(error);
        self.phase = Phase::Waiting {
            interruptible: true,
        };
        self.backoff.attempt_failed(visible, random)
    }

    /// Starts the wait that a full bridge requires, and returns it in milliseconds. It is at least
    /// `required_ms`.
    pub(super) fn begin_required_wait(
        &mut self,
        error: Failure,
        required_ms: u32,
        random: f64,
    ) -> u32 {
        self.last_error = Some(error);
        self.phase = Phase::Waiting {
            interruptible: false,
        };
        self.backoff.attempt_refused(required_ms, random)
    }
}

fn too_many_attempts() -> Failure {
    let message = "too many attempts: the next one waits";
    Failure::new(Failure::CONNECTION_LOST, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::MAX_ATTEMPTS;

    #[test]
    fn attempts_are_rate_limited() {
        let mut connection = Connection::new();
        for attempt in 0..MAX_ATTEMPTS as u64 {
            assert_eq!(connection.throttle_attempt(1000 * attempt + 1), None);
            connection.mark_ready();
            connection.mark_stable();
            connection.reset();
        }
        let (_, wait) = connection.throttle_attempt(20_001).unwrap();
        assert_eq!(wait, 40_000, "until a minute after the first attempt");
        assert_eq!(
            connection.phase,
            Phase::Waiting {
                interruptible: false
            }
        );
        assert_eq!(connection.throttle_attempt(60_001), None);
        assert!(connection.throttle_attempt(60_002).is_some());
        assert_eq!(connection.throttle_attempt(61_001), None);
    }

    #[test]
    fn only_a_stable_connection_resets_the_backoff() {
        let mut connection = Connection::new();
        let mut wait = |is_stable| {
            connection.mark_ready();
            if is_stable {
                connection.mark_stable();
            }
            connection.begin_backoff(Failure::new("X", ""), true, 1.0)
        };
        assert_eq!([wait(false), wait(false), wait(true)], [250, 500, 250]);
    }
}
