//! Limits the requests with refused tokens from one address.
//!
//! A valid token is accepted whatever other requests come from its address: many users may share
//! one. A refused token is answered with 429 once its address has sent too many.

use std::time::Duration;

use bridge_auth::AuthError;
use bridge_edge::ClientAddress;
use bridge_protocol::ErrorCode;

use super::minute_counts::MinuteCounts;

/// The numbers of refused tokens per address.
#[derive(Debug)]
pub(crate) struct AuthFailures(MinuteCounts);

impl AuthFailures {
    /// Creates counters, all of which are zero. `max_failures` refused tokens of an address in a minute are
    /// answered as usual.
    pub(crate) fn new(max_failures: usize) -> Self {
        Self(MinuteCounts::new(max_failures))
    }

    /// Counts a refused token. Returns how long the client should wait if its address has sent too
    /// many. A missing or expired token is not a guess, and is not counted.
    pub(crate) fn record(&self, address: ClientAddress, error: &AuthError) -> Option<Duration> {
        let is_guess = error.code == ErrorCode::InvalidAuthentication;
        is_guess.then(|| self.0.record(address)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_a_token_that_may_be_a_guess_counts() {
        let address = IpAddr::from(Ipv4Addr::LOCALHOST).into();
        let failures = AuthFailures::new(1);
        let fail = |code| {
            let message = "wrong".to_owned();
            failures.record(address, &AuthError { code, message })
        };
        for _ in 0..3 {
            assert_eq!(fail(ErrorCode::TokenExpired), None);
            assert_eq!(fail(ErrorCode::MissingAuthentication), None);
        }
        assert_eq!(fail(ErrorCode::InvalidAuthentication), None);
        assert!(fail(ErrorCode::InvalidAuthentication).is_some());
        assert_eq!(fail(ErrorCode::TokenExpired), None);
    }
}
