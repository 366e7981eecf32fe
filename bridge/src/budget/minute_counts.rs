//! Counts what clients of each address do within a minute.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bridge_edge::ClientAddress;
use tokio::time::Instant;

/// The time in which is counted.
const WINDOW: Duration = Duration::from_secs(60);

/// The maximum number of addresses. When there are more, the counting starts again.
const MAX_ADDRESSES: usize = 4096;

/// A number for each address, in bounded memory.
#[derive(Debug)]
pub(crate) struct MinuteCounts {
    /// The number in [`WINDOW`] that one address may have.
    max: usize,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    by_address: HashMap<ClientAddress, usize>,
    window_end: Option<Instant>,
}

impl MinuteCounts {
    /// Creates counters, all of which are zero.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            counts: Mutex::default(),
        }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one more. Returns how long the client should wait if its address has had its number before.
    pub(crate) fn record(&self, address: ClientAddress) -> Option<Duration> {
        let now = Instant::now();
        let (count, window_end) = self.counts().increment(address, now);
        (count > self.max).then(|| window_end.saturating_duration_since(now))
    }

    /// Returns how long a client should wait whose address has had its number, without counting.
    pub(crate) fn retry_after(&self, address: ClientAddress) -> Option<Duration> {
        let now = Instant::now();
        let counts = self.counts();
        let window_end = counts.window_end.filter(|end| *end > now)?;
        let count = counts.by_address.get(&address).copied().unwrap_or_default();
        (count >= self.max).then(|| window_end.saturating_duration_since(now))
    }
}

impl Counts {
    /// Counts one more. Returns the number of the address in this window, and the end of the window.
    fn increment(&mut self, address: ClientAddress, now: Instant) -> (usize, Instant) {
        let is_over = self.window_end.is_none_or(|end| end <= now);
        let is_full = self.by_address.len() >= MAX_ADDRESSES;
        if is_over || is_full && !self.by_address.contains_key(&address) {
            self.by_address.clear();
            self.window_end = Some(now + WINDOW);
        }
        let count = self.by_address.entry(address).or_default();
        *count = count.saturating_add(1);
        (*count, self.window_end.unwrap_or(now))
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn v4(number: u32) -> ClientAddress {
        IpAddr::from(Ipv4Addr::from_bits(number)).into()
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_is_limited_until_the_window_ends() {
        let counts = MinuteCounts::new(30);
        for _ in 0..30 {
            assert_eq!(counts.retry_after(v4(1)), None);
            assert_eq!(counts.record(v4(1)), None);
        }
        tokio::time::advance(WINDOW / 2).await;
        assert_eq!(counts.retry_after(v4(1)), Some(WINDOW / 2));
        assert_eq!(counts.record(v4(1)), Some(WINDOW / 2));
        assert_eq!(counts.retry_after(v4(2)), None);
        assert_eq!(counts.record(v4(2)), None);
        tokio::time::advance(WINDOW / 2).await;
        assert_eq!(counts.retry_after(v4(1)), None);
        assert_eq!(counts.record(v4(1)), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_number_of_counted_addresses_is_bounded() {
        let counts = MinuteCounts::new(30);
        for number in 0..20_000 {
            counts.record(v4(number));
            assert!(counts.counts().by_address.len() <= MAX_ADDRESSES);
        }
    }
}
