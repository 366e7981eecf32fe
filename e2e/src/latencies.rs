//! The latencies of many requests, and their percentiles.

use std::time::Duration;

/// The latencies of requests, in ascending order.
pub(crate) struct Latencies(Vec<Duration>);

impl Latencies {
    pub(crate) fn new(mut latencies: Vec<Duration>) -> Self {
        latencies.sort_unstable();
        Self(latencies)
    }

    /// Returns the latency that `permille` of a thousand requests do not exceed; zero without
    /// requests.
    pub(crate) fn permille(&self, permille: usize) -> Duration {
        let last = self.0.len().saturating_sub(1);
        let latency = self.0.get(last * permille / 1000);
        latency.copied().unwrap_or_default()
    }

    /// Returns [`permille`](Self::permille) in microseconds.
    pub(crate) fn permille_us(&self, permille: usize) -> f64 {
        self.permille(permille).as_secs_f64() * 1e6
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the number of requests that took longer than `limit`.
    pub(crate) fn count_over(&self, limit: Duration) -> usize {
        self.0.iter().filter(|latency| **latency > limit).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_values() {
        let latencies = Latencies::new((1..=200).rev().map(Duration::from_micros).collect());
        let percentiles = [500, 990, 1000].map(|permille| latencies.permille_us(permille));
        assert_eq!(percentiles, [100.0, 198.0, 200.0]);
        assert_eq!(latencies.count_over(Duration::from_micros(198)), 2);
        assert_eq!(Latencies::new(Vec::new()).permille_us(990), 0.0);
    }
}
