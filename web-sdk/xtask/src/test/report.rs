use std::fmt;

use anyhow::{Error, Result};

use super::counts::Counts;
use crate::test::runner::SuiteRun;

/// What all suites came to. Prints a line per suite and the sums last.
#[derive(Default)]
pub(super) struct Report {
    suites: Vec<SuiteRun>,
    errors: Vec<String>,
}

impl Report {
    pub(super) fn add_suite(&mut self, suite: SuiteRun) {
        self.suites.push(suite);
    }

    /// A lint is not a test: it adds a failure, but never to what passed.
    pub(super) fn add_lint(&mut self, outcome: Result<()>) {
        if let Err(error) = outcome {
            self.add_error(&error);
        }
    }

    /// Something beside the tests went wrong.
    pub(super) fn add_error(&mut self, error: &Error) {
        let sentence = format!("{error:#}");
        println!("error: {sentence}");
        self.errors.push(sentence);
    }

    pub(super) fn all_is_well(&self) -> bool {
        self.sum().failed == 0
    }

    fn sum(&self) -> Counts {
        let mut sum = Counts {
            failed: self.errors.len() as u64,
            ..Counts::default()
        };
        for suite in &self.suites {
            sum += suite.counts;
        }
        sum
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "==> results")?;
        let with_tests = |suite: &&SuiteRun| suite.counts != Counts::default();
        for suite in self.suites.iter().filter(with_tests) {
            let SuiteRun { name, counts, .. } = suite;
            writeln!(
                out,
                "    {name}: {counts} in {:.1} s",
                suite.duration.as_secs_f64()
            )?;
            for figures in &suite.figures {
                writeln!(out, "        {figures}")?;
            }
        }
        for sentence in &self.errors {
            writeln!(out, "    error: {sentence}")?;
        }
        writeln!(out, "{}", self.sum())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anyhow::anyhow;

    use super::*;

    fn suite(passed: u64, failed: u64) -> SuiteRun {
        let counts = Counts {
            passed,
            failed,
            skipped: 1,
        };
        SuiteRun {
            name: "bridge: lib".into(),
            counts,
            figures: vec!["7 checks".into()],
            duration: Duration::from_millis(1_200),
        }
    }

    fn last_line(report: &Report) -> String {
        report.to_string().lines().last().unwrap().to_owned()
    }

    #[test]
    fn the_last_line_is_the_sum() {
        let mut report = Report::default();
        report.add_suite(suite(3, 0));
        report.add_suite(suite(4, 0));
        report.add_lint(Ok(()));
        assert!(report.all_is_well());
        assert_eq!(last_line(&report), "7 passed, 0 failed, 2 skipped");
        assert!(
            report.to_string().contains(
                "bridge: lib: 3 passed, 0 failed, 1 skipped in 1.2 s\n        7 checks\n"
            )
        );
    }

    #[test]
    fn a_failed_test_and_a_failed_lint_both_count() {
        let mut report = Report::default();
        report.add_suite(suite(3, 1));
        report.add_lint(Err(anyhow!("run `cargo fmt`")));
        assert!(!report.all_is_well());
        assert_eq!(last_line(&report), "3 passed, 2 failed, 1 skipped");
    }
}
