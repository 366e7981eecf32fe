//! The connection's phases, and how long to wait before the next attempt.

use bridge_protocol::limits::RETRY_LATER_DELAY;

use super::effect::{Failure, Status};
use super::messages::Token;

/// The ceiling of the first wait; it doubles with each attempt in a row that fails.
const BACKOFF_BASE_MS: u32 = 250;

/// The highest ceiling.
const MAX_BACKOFF_MS: u32 = 15_000;

/// The highest ceiling of a page that nobody sees. One that becomes visible does not wait at all.
const MAX_HIDDEN_BACKOFF_MS: u32 = 60_000;

/// So many attempts are made within [`ATTEMPT_WINDOW_MS`] at most. A bridge or proxy that flaps resets the
/// back-off whenever a connection lasts a moment, and tabs come to the front: neither resets this.
const MAX_ATTEMPTS: usize = 20;

const ATTEMPT_WINDOW_MS: u64 = 60_000;

/// A socket that has not opened by then is given up. Long, because a browser may be asking the
/// user whether the page may reach this machine, and says nothing until the answer.
pub(super) const OPEN_TIMEOUT_MS: u64 = 60_000;

/// Silence of this length beyond two heartbeats is a dead connection: timers of background tabs
/// fire late, and heartbeats may travel slowly.
pub(super) const SILENCE_ALLOWANCE_MS: u64 = 10_000;

/// A page whose code stood still finds the timer due and messages waiting at the same time: before it
/// gives a socket up, it gives what waits this long to be heard.
pub(super) const DRAIN_TIMEOUT_MS: u64 = 2_000;

/// Where the connection is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Not wanted: before `connect`, after `disconnect`, after a final failure.
    Off,
    /// The app's token is being fetched.
    FetchingToken,
    /// The socket is opening.
    Opening {
        /// Sent as soon as it is open.
        token: Token,
    },
    /// `authenticate` is sent.
    Authenticating,
    /// Tools can be called.
    Ready,
    /// The next attempt starts when the timer fires.
    Waiting {
        /// Whether a reason to hope (the tab became visible, the network is back) ends the wait.
        interruptible: bool,
    },
}

/// The connection and its history.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) phase: Phase,
    /// Attempts in a row that led to no lasting connection.
    failed_attempts: u32,
    /// What went wrong since the app asked to connect, until it works again.
    last_error: Option<Failure>,
    /// When the latest attempts began, and the place of the oldest. 0: there was none.
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

    /// Forgets all trouble: the app asked for something new.
    pub(super) fn reset(&mut self) {
        self.failed_attempts = 0;
        self.last_error = None;
    }

    /// An attempt is wanted. It counts as begun, unless the page has made too many: then it waits, and
    /// this is why and for how many milliseconds.
    pub(super) fn throttle_attempt(&mut self, now_ms: u64) -> Option<(Failure, u32)> {
        let (begun, oldest) = &mut self.attempts;
        let free = begun[*oldest] + ATTEMPT_WINDOW_MS;
        if begun[*oldest] > 0 && free > now_ms {
            let error = self.last_error.clone().unwrap_or_else(too_many_attempts);
            self.phase = Phase::Waiting {
                interruptible: false,
            };
            return Some((error, (free - now_ms) as u32));
        }
        begun[*oldest] = now_ms;
        *oldest = (*oldest + 1) % MAX_ATTEMPTS;
        None
    }

    pub(super) fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    /// The status while an attempt is under way.
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

    /// A connection that saw a heartbeat has lasted. Counting from `ready` instead would let a
    /// bridge that accepts and drops the page at once be called in a tight loop.
    pub(super) fn mark_stable(&mut self) {
        self.failed_attempts = 0;
    }

    /// Waits for the next attempt: `random` in `0..1` spreads the pages of a restarted bridge
    /// ("full jitter"). Returns the wait in milliseconds.
    pub(super) fn begin_backoff(&mut self, error: Failure, visible: bool, random: f64) -> u32 {
        let cap = if visible {
            MAX_BACKOFF_MS
        } else {
            MAX_HIDDEN_BACKOFF_MS
        };
        let ceiling = BACKOFF_BASE_MS
            .saturating_mul(1 << self.failed_attempts.min(16))
            .min(cap);
        self.failed_attempts = self.failed_attempts.saturating_add(1);
        self.last_error = Some(error);
        self.phase = Phase::Waiting {
            interruptible: true,
        };
        fraction_of(ceiling, random)
    }

    /// Waits as long as a bridge that is full asks for, and up to half of that again.
    pub(super) fn begin_long_backoff(&mut self, error: Failure, random: f64) -> u32 {
        let at_least = RETRY_LATER_DELAY.as_millis() as u32;
        self.last_error = Some(error);
        self.phase = Phase::Waiting {
            interruptible: false,
        };
        at_least + fraction_of(at_least / 2, random)
    }
}

fn too_many_attempts() -> Failure {
    let message = "many attempts were made: the next one waits";
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
        let ceilings = [250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000];
        assert_eq!(backoff_delays(true, 1.0), ceilings);
        assert_eq!(
            backoff_delays(true, 0.5),
            ceilings.map(|ceiling| ceiling / 2)
        );
        assert_eq!(backoff_delays(true, 0.0), [0; 9]);
    }

    #[test]
    fn hidden_pages_back_off_longer() {
        let ceilings = [250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000];
        assert_eq!(backoff_delays(false, 1.0), ceilings);
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
        assert_eq!(wait, 40_000, "a minute after the first");
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
        let mut wait = |lasted| {
            connection.mark_ready();
            if lasted {
                connection.mark_stable();
            }
            connection.begin_backoff(Failure::new("X", ""), true, 1.0)
        };
        assert_eq!([wait(false), wait(false), wait(true)], [250, 500, 250]);
    }

    #[test]
    fn long_backoff_is_never_shorter_than_the_bridge_asks() {
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
