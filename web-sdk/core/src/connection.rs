//! The phases of the connection, and the backoff between attempts.

use bridge_protocol::limits::RETRY_LATER_DELAY;

use super::effect::{Failure, Status};
use super::messages::Token;

/// The maximum of the first backoff. The maximum doubles with each consecutive failed attempt.
const BACKOFF_BASE_MS: u32 = 250;

/// The upper limit of that maximum.
const MAX_BACKOFF_MS: u32 = 15_000;

/// The upper bound for a hidden page. A page that becomes visible ends its backoff at once.
const MAX_HIDDEN_BACKOFF_MS: u32 = 60_000;

/// The maximum number of attempts within [`ATTEMPT_WINDOW_MS`].
///
/// A flapping bridge or proxy resets the backoff whenever a connection lasts a moment, and a tab
/// that becomes visible ends it. Neither resets this limit.
const MAX_ATTEMPTS: usize = 20;

const ATTEMPT_WINDOW_MS: u64 = 60_000;

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
    /// The number of consecutive attempts without a stable connection.
    failed_attempts: u32,
    /// The latest error since the app called `connect`; `None` while the page is connected.
    last_error: Option<Failure>,
    /// The start times of the latest attempts as a ring buffer, where 0 means none, and the index
    /// of the oldest one.
    attempts: ([u64; MAX_ATTEMPTS], usize),
}

impl Connection {
    pub(super) fn new() -> Self {
        Self {
            phase: Phase::Off,
            failed_attempts: 0,
            last_error: None,
            attempts: ([0; MAX_ATTEMPTS], 0),
        }
    }

    /// Forgets former errors, because the app called `connect`.
    pub(super) fn reset(&mut self) {
        self.failed_attempts = 0;
        self.last_error = None;
    }

    /// Counts a new attempt. If there were too many, the page must wait instead: returns the reason
    /// and the time in milliseconds.
    pub(super) fn throttle_attempt(&mut self, now_ms: u64) -> Option<(Failure, u32)> {
        let (started, oldest) = &mut self.attempts;
        let allowed_at = started[*oldest] + ATTEMPT_WINDOW_MS;
        if started[*oldest] > 0 && allowed_at > now_ms {
            let error = self.last_error.clone().unwrap_or_else(too_many_attempts);
            self.phase = Phase::Waiting {
                interruptible: false,
            };
            return Some((error, (allowed_at - now_ms) as u32));
        }
        started[*oldest] = now_ms;
        *oldest = (*oldest + 1) % MAX_ATTEMPTS;
        None
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
        self.failed_attempts = 0;
    }

    /// Starts the wait for the next attempt and returns it in milliseconds. `random`, from 0 to 1,
    /// spreads the attempts of all pages of a restarted bridge ("full jitter").
    pub(super) fn begin_backoff(&mut self, error: Failure, visible: bool, random: f64) -> u32 {
        let cap = if visible {
            MAX_BACKOFF_MS
        } else {
            MAX_HIDDEN_BACKOFF_MS
        };
        let max_wait = BACKOFF_BASE_MS
            .saturating_mul(1 << self.failed_attempts.min(16))
            .min(cap);
        self.failed_attempts = self.failed_attempts.saturating_add(1);
        self.last_error = Some(error);
        self.phase = Phase::Waiting {
            interruptible: true,
        };
        fraction_of(max_wait, random)
    }

    /// Starts the wait that a full bridge requires, plus up to half of it, and returns it in
    /// milliseconds.
    pub(super) fn begin_long_backoff(&mut self, error: Failure, random: f64) -> u32 {
        let min_wait = RETRY_LATER_DELAY.as_millis() as u32;
        self.last_error = Some(error);
        self.phase = Phase::Waiting {
            interruptible: false,
        };
        min_wait + fraction_of(min_wait / 2, random)
    }
}

fn too_many_attempts() -> Failure {
    let message = "too many attempts: the next one waits";
    Failure::new(Failure::CONNECTION_LOST, message)
}

fn fraction_of(whole_ms: u32, random: f64) -> u32 {
    (f64::from(whole_ms) * random) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backoff_delays(visible: bool, random: f64) -> Vec<u32> {
        let mut connection = Connection::new();
        (0..9)
            .map(|_| connection.begin_backoff(Failure::new("X", ""), visible, random))
            .collect()
    }

    #[test]
    fn backoff_doubles_up_to_the_cap_with_full_jitter() {
        let max_waits = [250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000];
        assert_eq!(backoff_delays(true, 1.0), max_waits);
        assert_eq!(backoff_delays(true, 0.5), max_waits.map(|wait| wait / 2));
        assert_eq!(backoff_delays(true, 0.0), [0; 9]);
    }

    #[test]
    fn hidden_pages_back_off_longer() {
        let max_waits = [250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000];
        assert_eq!(backoff_delays(false, 1.0), max_waits);
    }

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

    #[test]
    fn a_long_backoff_is_never_shorter_than_the_bridge_requires() {
        assert_eq!(
            Connection::new().begin_long_backoff(Failure::new("X", ""), 0.0),
            30_000
        );
        assert_eq!(
            Connection::new().begin_long_backoff(Failure::new("X", ""), 1.0),
            45_000
        );
    }
}
