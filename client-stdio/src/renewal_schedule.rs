//! When the command that prints the token runs again. No I/O.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use tokio::time::Instant;

use crate::bearer_token::BearerToken;

/// How long before its expiry a token is renewed. One that is valid for less than five times as long is
/// renewed when a fifth of its time is left.
const MAX_MARGIN: Duration = Duration::from_secs(60);

/// The shortest time between two runs before an expiry: some commands print the same token until it
/// expires.
const MIN_INTERVAL: Duration = Duration::from_secs(1);

/// The longest time to an expiry that a clock can add. Later is never.
const MAX_REMAINING: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// The delay after a run that failed, or a token that was refused. It doubles with each further one.
const INITIAL_BACKOFF: Duration = Duration::from_secs(1);

/// The longest delay after runs that failed, and between runs after refusals.
const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// The time without a refusal after which the first delay applies again.
const REFUSALS_FORGOTTEN_AFTER: Duration = Duration::from_secs(600);

/// The times of the next runs.
#[derive(Debug, Default)]
pub(crate) struct RenewalSchedule {
    /// Runs without a valid token since the last valid one.
    failures: u32,
    refusals: u32,
    last_refusal: Option<Instant>,
}

impl RenewalSchedule {
    /// Returns the delay until the next run after a token was printed that is valid for this time.
    /// `None` if the token does not say how long it is valid: then only a refusal is a reason.
    pub(crate) fn after_token(&mut self, remaining: Option<Duration>) -> Option<Duration> {
        let remaining = remaining?.min(MAX_REMAINING);
        if remaining.is_zero() {
            return Some(self.after_failure());
        }
        self.failures = 0;
        let margin = MAX_MARGIN.min(remaining / 5);
        Some((remaining - margin).max(MIN_INTERVAL))
    }

    /// Returns the delay until the next run after one that failed.
    pub(crate) fn after_failure(&mut self) -> Duration {
        self.failures += 1;
        backoff(self.failures)
    }

    /// Returns whether the command runs because the bridge has refused its token.
    pub(crate) fn runs_after_refusal(&mut self, now: Instant) -> bool {
        let since = self.last_refusal.map(|last| now - last);
        match since {
            Some(since) if since >= REFUSALS_FORGOTTEN_AFTER => self.refusals = 0,
            Some(since) if since < backoff(self.refusals) => return false,
            _ => {}
        }
        self.refusals += 1;
        self.last_refusal = Some(now);
        true
    }
}

/// Returns the delay after this number of failures or refusals.
fn backoff(count: u32) -> Duration {
    let doubled = INITIAL_BACKOFF.saturating_mul(1 << count.saturating_sub(1).min(8));
    doubled.min(MAX_BACKOFF)
}

/// Returns how long a token is valid from now on, which is `now` in seconds since 1970, if it is signed
/// and says so (RFC 7519 section 4.1.4). The signature is not verified: only the bridge decides about
/// the token.
pub(crate) fn remaining(token: &BearerToken, now: Duration) -> Option<Duration> {
    #[derive(Deserialize)]
    struct Claims {
        exp: f64,
    }
    let mut parts = token.expose().split('.');
    let (_header, claims) = (parts.next()?, parts.next()?);
    let claims = URL_SAFE_NO_PAD.decode(claims).ok()?;
    let Claims { exp } = serde_json::from_slice(&claims).ok()?;
    let remaining = exp - now.as_secs_f64();
    Some(Duration::try_from_secs_f64(remaining.max(0.0)).unwrap_or(MAX_REMAINING))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_token_is_renewed_before_it_expires() {
        for (remaining, expected) in [
            (seconds(3600), seconds(3540)),
            (seconds(300), seconds(240)),
            (seconds(10), seconds(8)),
            (Duration::from_millis(500), MIN_INTERVAL),
            (Duration::MAX, MAX_REMAINING - MAX_MARGIN),
        ] {
            let delay = RenewalSchedule::default().after_token(Some(remaining));
            assert_eq!(delay, Some(expected), "{remaining:?}");
        }
        assert_eq!(RenewalSchedule::default().after_token(None), None);
    }

    #[test]
    fn failures_and_expired_tokens_back_off() {
        let mut schedule = RenewalSchedule::default();
        let mut delays: Vec<_> = (0..4).map(|_| schedule.after_failure()).collect();
        delays.extend(schedule.after_token(Some(Duration::ZERO)));
        assert_eq!(delays, [1, 2, 4, 8, 16].map(seconds));
        let last = (0..1000).map(|_| schedule.after_failure()).last();
        assert_eq!(last, Some(MAX_BACKOFF));
        schedule.after_token(Some(seconds(10)));
        assert_eq!(schedule.after_failure(), INITIAL_BACKOFF);
    }

    #[test]
    fn refusals_run_the_command_once_within_the_backoff() {
        let mut schedule = RenewalSchedule::default();
        let mut now = Instant::now();
        assert!(schedule.runs_after_refusal(now) && !schedule.runs_after_refusal(now));
        let mut runs = 0;
        for _ in 0..300 {
            now += seconds(1);
            runs += u32::from(schedule.runs_after_refusal(now));
        }
        // After 1, 2, 4, 8, 16 and 32 s, and then each minute.
        assert_eq!(runs, 9);
        now += REFUSALS_FORGOTTEN_AFTER;
        assert!(schedule.runs_after_refusal(now) && schedule.runs_after_refusal(now + seconds(1)));
    }

    #[test]
    fn the_expiry_of_a_signed_token_is_read() {
        let token = |claims: &str| {
            let claims = URL_SAFE_NO_PAD.encode(claims);
            BearerToken::parse(&format!("e30.{claims}.c2ln")).unwrap()
        };
        let now = seconds(1000);
        for (claims, expected) in [
            (r#"{"exp":1030}"#, Some(seconds(30))),
            (
                r#"{"sub":"a","exp":1030.5}"#,
                Some(Duration::from_millis(30_500)),
            ),
            (r#"{"exp":10}"#, Some(Duration::ZERO)),
            (r#"{"exp":-1e300}"#, Some(Duration::ZERO)),
            (r#"{"exp":1e300}"#, Some(MAX_REMAINING)),
            (r#"{"exp":"soon"}"#, None),
            ("{}", None),
            ("no JSON", None),
        ] {
            assert_eq!(remaining(&token(claims), now), expected, "{claims}");
        }
        let opaque = BearerToken::parse("an-opaque.token-0123456789").unwrap();
        assert_eq!(remaining(&opaque, now), None);
    }
}
