//! Limits the requests with refused tokens from one address.
//!
//! A valid token is accepted whatever other requests come from its address: many users may share
//! one. A refused token is answered with 429 once its address has sent too many.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bridge_auth::AuthError;
use bridge_edge::ClientAddress;
use bridge_protocol::ErrorCode;
use tokio::time::Instant;

/// The time in which failures are counted.
const WINDOW: Duration = Duration::from_secs(60);

/// The maximum number of addresses whose failures are counted. When there are more, the counting
/// starts again.
const MAX_ADDRESSES: usize = 4096;

/// The numbers of refused tokens per address, in bounded memory.
#[derive(Debug)]
pub(crate) struct AuthFailures {
    /// The number of refused tokens per address in [`WINDOW`] that are answered as usual.
    max_failures: usize,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    by_address: HashMap<ClientAddress, usize>,
    window_end: Option<Instant>,
}

impl AuthFailures {
    /// Creates counters, all of which are zero.
    pub(crate) fn new(max_failures: usize) -> Self {
        Self {
            max_failures,
            counts: Mutex::default(),
        }
    }

    /// Counts a refused token. Returns how long the client should wait if its address has sent too
    /// many. A missing or expired token is not a guess, and is not counted.
    pub(crate) fn record(&self, address: ClientAddress, error: &AuthError) -> Option<Duration> {
        if error.code != ErrorCode::InvalidAuthentication {
            return None;
        }
        let now = Instant::now();
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let (failures, window_end) = counts.increment(address, now);
        (failures > self.max_failures).then(|| window_end.saturating_duration_since(now))
    }
}

impl Counts {
    /// Counts a failure. Returns the number of failures of the address in this window, and the end
    /// of the window.
    fn increment(&mut self, address: ClientAddress, now: Instant) -> (usize, Instant) {
        let is_over = self.window_end.is_none_or(|end| end <= now);
        let is_full = self.by_address.len() >= MAX_ADDRESSES;
        if is_over || is_full && !self.by_address.contains_key(&address) {
            self.by_address.clear();
            self.window_end = Some(now + WINDOW);
        }
        let failures = self.by_address.entry(address).or_default();
        *failures = failures.saturating_add(1);
        (*failures, self.window_end.unwrap_or(now))
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn fail(failures: &AuthFailures, address: ClientAddress) -> Option<Duration> {
        let error = AuthError {
            code: ErrorCode::InvalidAuthentication,
            message: "wrong".to_owned(),
        };
        failures.record(address, &error)
    }

    fn v4(number: u32) -> ClientAddress {
        IpAddr::from(Ipv4Addr::from_bits(number)).into()
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_is_limited_until_the_window_ends() {
        let failures = AuthFailures::new(30);
        for _ in 0..30 {
            assert_eq!(fail(&failures, v4(1)), None);
        }
        tokio::time::advance(WINDOW / 2).await;
        assert_eq!(fail(&failures, v4(1)), Some(WINDOW / 2));
        assert_eq!(fail(&failures, v4(2)), None);
        tokio::time::advance(WINDOW / 2).await;
        assert_eq!(fail(&failures, v4(1)), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_number_of_counted_addresses_is_bounded() {
        let failures = AuthFailures::new(30);
        for number in 0..20_000 {
            fail(&failures, v4(number));
            assert!(failures.counts.lock().unwrap().by_address.len() <= MAX_ADDRESSES);
        }
    }
}
