//! The median of several measurements, and how far they are apart.

use std::fmt;

use serde::Serialize;

/// The median of a figure, with its extremes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// The median: the upper one of an even number of measurements.
    pub median: f64,
    /// The smallest measurement.
    pub min: f64,
    /// The largest measurement.
    pub max: f64,
}

impl Spread {
    /// Returns the spread of these measurements; zero without any.
    pub(super) fn of(measurements: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = measurements.into_iter().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
        Self {
            median: at(sorted.len() / 2),
            min: at(0),
            max: at(sorted.len().saturating_sub(1)),
        }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { median, min, max } = self;
        write!(f, "{median:.1} ({min:.1} to {max:.1})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_the_extremes_are_measured_values() {
        let spread = Spread::of([30.0, 10.0, 20.0]);
        assert_eq!(spread.to_string(), "20.0 (10.0 to 30.0)");
        assert_eq!(Spread::of([10.0, 20.0]).median, 20.0);
        assert_eq!(Spread::of([]), Spread::default());
    }
}
