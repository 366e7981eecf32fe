//! The latencies of many requests, and their percentiles.

use std::time::Duration;

/// The latencies of requests, in ascending order.
pub(crate) struct Latencies(Vec<Duration>);

impl Latencies {
    pub(crate) fn new(mut latencies: Vec<Duration>) -> Self {
        latencies.sort_unstable();
        Self(latencies)
    }

    /// Returns the latency that `percent` of the requests do not exceed; zero without requests.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let last = self.0.len().saturating_sub(1);
        self.0
            .get(last * percent / 100)
            .copied()
            .unwrap_or_default()
    }

    pub(crate) fn slowest(&self) -> Duration {
        self.percentile(100)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Returns the median of values, or zero without values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_values() {
        let latencies = Latencies::new((1..=200).rev().map(Duration::from_micros).collect());
        let percentiles = [50, 99, 100].map(|percent| latencies.percentile(percent).as_micros());
        assert_eq!(percentiles, [100, 198, 200]);
        assert_eq!(Latencies::new(Vec::new()).percentile(99), Duration::ZERO);
    }

    #[test]
    fn the_median_is_one_of_the_values() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(Vec::new()), 0.0);
    }
}
