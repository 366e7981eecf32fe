//! The counts of tests that passed, failed and were skipped.

use std::fmt;
use std::ops::AddAssign;

/// How many tests passed, failed and were skipped.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Counts {
    /// Parses a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; …`, which both Rust's
    /// test harness and that of wasm-bindgen print. Returns `None` for any other line.
    pub(super) fn parse_line(line: &str) -> Option<Self> {
        let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
        let count = |label: &str| {
            counts
                .split("; ")
                .find_map(|part| part.strip_suffix(label)?.trim_end().parse().ok())
        };
        Some(Self {
            passed: count("passed")?,
            failed: count("failed")?,
            skipped: count("ignored")?,
        })
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{} passed, {} failed, {} skipped",
            self.passed, self.failed, self.skipped
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_line_of_rusts_harness_is_parsed() {
        let ok = "test result: ok. 41 passed; 0 failed; 2 ignored; 0 measured; 7 filtered out; finished in 0.03s";
        assert_eq!(
            Counts::parse_line(ok),
            Some(Counts {
                passed: 41,
                failed: 0,
                skipped: 2
            })
        );
        let failed = "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s";
        assert_eq!(
            Counts::parse_line(failed),
            Some(Counts {
                passed: 1,
                failed: 2,
                skipped: 0
            })
        );
    }

    #[test]
    fn the_result_line_of_wasm_bindgens_harness_is_parsed() {
        let line =
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 filtered out; finished in 0.12s";
        assert_eq!(
            Counts::parse_line(line),
            Some(Counts {
                passed: 12,
                failed: 0,
                skipped: 1
            })
        );
    }

    #[test]
    fn other_lines_are_ignored() {
        for line in [
            "running 3 tests",
            "test result::parses ... ok",
            "  test result: ok. 1 passed; 0 failed; 0 ignored",
            "test result: ok.",
        ] {
            assert_eq!(Counts::parse_line(line), None, "{line}");
        }
    }

    #[test]
    fn sums_are_displayed_with_all_three_counts() {
        let mut sum = Counts {
            passed: 1,
            failed: 2,
            skipped: 3,
        };
        sum += Counts {
            passed: 10,
            failed: 0,
            skipped: 1,
        };
        assert_eq!(sum.to_string(), "11 passed, 2 failed, 4 skipped");
    }
}
