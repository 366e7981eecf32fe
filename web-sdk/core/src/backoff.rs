//! How long a page waits between attempts to connect, and how many attempts it may make.

/// The maximum of the first backoff. The maximum doubles with each consecutive failed attempt.
const BACKOFF_BASE_MS: u32 = 250;

/// The upper limit of that maximum.
const MAX_BACKOFF_MS: u32 = 15_000;

/// The upper limit for a hidden page. A page that becomes visible ends its backoff at once.
const MAX_HIDDEN_BACKOFF_MS: u32 = 60_000;

/// The upper limit of the random part of the wait after a refusal.
const MAX_SPREAD_MS: u32 = 60_000;

/// The maximum number of attempts within [`ATTEMPT_WINDOW_MS`].
///
/// A flapping bridge or proxy resets the backoff whenever a connection lasts a moment, and a tab
/// that becomes visible ends it. Neither resets this limit.
pub(super) const MAX_ATTEMPTS: usize = 20;

const ATTEMPT_WINDOW_MS: u64 = 60_000;

/// The recent attempts to connect.
#[derive(Debug)]
pub(super) struct Backoff {
    /// The number of consecutive attempts without a stable connection.
    failed_attempts: u32,
    /// The number of attempts that a full bridge has refused since the last stable connection.
    refused_attempts: u32,
    /// The start times of the latest attempts as a ring buffer, where 0 means none, and the index
    /// of the oldest one.
    attempts: ([u64; MAX_ATTEMPTS], usize),
}

impl Backoff {
    pub(super) fn new() -> Self {
        Self {
            failed_attempts: 0,
            refused_attempts: 0,
            attempts: ([0; MAX_ATTEMPTS], 0),
        }
    }

    /// Makes the next wait the shortest one.
    pub(super) fn reset(&mut self) {
        self.failed_attempts = 0;
        self.refused_attempts = 0;
    }

    /// Counts a failed attempt, and returns the wait for the next one in milliseconds. `random`, from
    /// 0 to 1, spreads the attempts of all pages of a restarted bridge ("full jitter").
    pub(super) fn attempt_failed(&mut self, visible: bool, random: f64) -> u32 {
        let cap = if visible {
            MAX_BACKOFF_MS
        } else {
            MAX_HIDDEN_BACKOFF_MS
        };
        let max_wait = BACKOFF_BASE_MS
            .saturating_mul(1 << self.failed_attempts.min(16))
            .min(cap);
        self.failed_attempts = self.failed_attempts.saturating_add(1);
        fraction_of(max_wait, random)
    }

    /// Counts an attempt that a full bridge has refused, and returns the wait for the next one in
    /// milliseconds: the time that the bridge requires, and a random part of a spread that doubles
    /// with each refusal, so that a bridge which stays full has fewer and fewer attempts.
    pub(super) fn attempt_refused(&mut self, required_ms: u32, random: f64) -> u32 {
        let spread = required_ms
            .saturating_mul(1 << self.refused_attempts.min(16))
            .min(MAX_SPREAD_MS);
        self.refused_attempts = self.refused_attempts.saturating_add(1);
        required_ms.saturating_add(fraction_of(spread, random))
    }

    /// Counts a new attempt. If there were too many, the page must wait instead: returns the wait in
    /// milliseconds.
    pub(super) fn throttle_attempt(&mut self, now_ms: u64) -> Option<u32> {
        let (started, oldest) = &mut self.attempts;
        let allowed_at = started[*oldest] + ATTEMPT_WINDOW_MS;
        if started[*oldest] > 0 && allowed_at > now_ms {
            return Some((allowed_at - now_ms) as u32);
        }
        started[*oldest] = now_ms;
        *oldest = (*oldest + 1) % MAX_ATTEMPTS;
        None
    }
}

fn fraction_of(whole_ms: u32, random: f64) -> u32 {
    (f64::from(whole_ms) * random) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backoff_delays(visible: bool, random: f64) -> Vec<u32> {
        let mut backoff = Backoff::new();
        (0..9)
            .map(|_| backoff.attempt_failed(visible, random))
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
    fn a_refused_page_waits_as_long_as_the_bridge_requires_and_spreads_its_attempts() {
        let waits = |required_ms, random| {
            let mut backoff = Backoff::new();
            [(); 4].map(|()| backoff.attempt_refused(required_ms, random))
        };
        assert_eq!(waits(1_000, 0.0), [1_000; 4]);
        assert_eq!(waits(1_000, 1.0), [2_000, 3_000, 5_000, 9_000]);
        assert_eq!(waits(30_000, 1.0), [60_000, 90_000, 90_000, 90_000]);
        let mut backoff = Backoff::new();
        backoff.attempt_refused(1_000, 1.0);
        backoff.reset();
        assert_eq!(backoff.attempt_refused(1_000, 1.0), 2_000);
    }
}
