//! The token: fetched for each connection, and renewed on the open socket before it expires.

use bridge_protocol::ErrorCode;

use super::Page;
use crate::connection::{OPEN_TIMEOUT_MS, Phase};
use crate::effect::{Effect, Failure, Report};
use crate::messages::{Json, PageToBridge, Token};

/// How long to wait before a failed renewal is retried.
const RENEWAL_RETRY_MS: u64 = 10_000;

/// How long before its expiry a token is renewed, unless its lifetime is too short.
const RENEWAL_MARGIN_MS: u64 = 5_000;

/// The minimum wait before a renewal: a token function may return the same token each time.
const MIN_RENEWAL_DELAY_MS: u64 = 1_000;

/// Returns when to renew a token of this lifetime: after four fifths of it or [`RENEWAL_MARGIN_MS`]
/// before its end, whichever is earlier, but not in its first half.
fn renewal_delay(lifetime_ms: u64) -> u64 {
    (lifetime_ms - lifetime_ms / 5)
        .min(lifetime_ms.saturating_sub(RENEWAL_MARGIN_MS))
        .max(lifetime_ms / 2)
        .max(MIN_RENEWAL_DELAY_MS)
}

impl<J: Json> Page<J> {
    /// The token was fetched.
    pub fn token_ready(&mut self, token: Token) {
        match self.connection.phase {
            Phase::FetchingToken => {
                self.connection.phase = Phase::Opening { token };
                self.effects.push(Effect::OpenSocket);
                self.set_attempt_timeout(OPEN_TIMEOUT_MS);
            }
            Phase::Ready if std::mem::take(&mut self.renewing) => {
                self.effects.send(PageToBridge::Renew(token));
            }
            _ => {}
        }
    }

    /// The app's token function failed. It is called again later.
    pub fn token_failed(&mut self, message: &str, random: f64) {
        let message = ["the authToken function failed: ", message].concat();
        match self.connection.phase {
            Phase::FetchingToken => {
                self.retry_with_backoff(Failure::new(Failure::TOKEN_FAILED, message), random);
            }
            Phase::Ready if std::mem::take(&mut self.renewing) => self.retry_renewal(message),
            _ => {}
        }
    }

    /// Schedules the renewal of the open socket's token, which expires in this many milliseconds.
    pub(super) fn schedule_renewal(&mut self, expires_in_ms: Option<u64>) {
        let lifetime_ms = expires_in_ms.filter(|_| self.info.renewable);
        self.timer.renewal = lifetime_ms.map(|ms| self.deadline_after(renewal_delay(ms)));
        self.set_timer();
    }

    pub(super) fn renew(&mut self) {
        self.renewing = true;
        self.effects.push(Effect::FetchToken);
    }

    /// The bridge rejected the fresh token.
    pub(super) fn renewal_failed(&mut self, error: &str) {
        self.retry_renewal(["the bridge refuses the fresh token: ", error].concat());
    }

    /// Reports the error and retries the renewal later, because the former token may still be valid
    /// then.
    fn retry_renewal(&mut self, message: String) {
        self.effects.report(Report::Warning(message));
        self.timer.renewal = Some(self.deadline_after(RENEWAL_RETRY_MS));
        self.set_timer();
    }

    /// The bridge reported that the token has expired. A close follows, after which the page
    /// reconnects with a fresh token if it can fetch one.
    pub(super) fn token_expired(&mut self, error: String) {
        let code = const { ErrorCode::TokenExpired.as_str() };
        if self.info.renewable {
            self.expired_error = Some(Failure::new(code, error));
        } else {
            let message = "the token has expired: pass a fresh one, or a function that fetches one";
            self.fail(Failure::new(code, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::renewal_delay;

    #[test]
    fn a_token_is_renewed_before_it_ends_and_never_in_a_tight_loop() {
        for (lifetime_ms, delay_ms) in [
            (3_600_000, 2_880_000),
            (300_000, 240_000),
            (20_000, 15_000),
            (12_000, 7_000),
            (6_000, 3_000),
            (2_000, 1_000),
            (500, 1_000),
            (0, 1_000),
        ] {
            assert_eq!(renewal_delay(lifetime_ms), delay_ms, "{lifetime_ms}");
        }
        assert!(renewal_delay(u64::MAX) < u64::MAX);
    }
}
