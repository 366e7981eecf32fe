//! The report at the end of a run.

use std::fmt;
use std::time::Duration;

use anyhow::{Error, Result};

use super::counts::Counts;
use super::runner::SuiteRun;

/// The results of all suites. It is displayed as a line for each suite, and the sums last.
#[derive(Default)]
pub(super) struct Report {
    suites: Vec<SuiteRun>,
    errors: Vec<String>,
}

impl Report {
    /// Adds the result of a suite.
    pub(super) fn add_suite(&mut self, suite: SuiteRun) {
        self.suites.push(suite);
    }

    /// Adds the result of a check that is not a test: an error counts as a failure, success does
    /// not count.
    pub(super) fn add_check(&mut self, result: Result<()>) {
        if let Err(error) = result {
            self.add_error(&error);
        }
    }

    /// Prints an error that is not the failure of a test, and counts it as a failure.
    pub(super) fn add_error(&mut self, error: &Error) {
        let message = format!("{error:#}");
        println!("error: {message}");
        self.errors.push(message);
    }

    /// Returns whether no test failed and there was no error.
    pub(super) fn is_success(&self) -> bool {
        self.sum().failed == 0
    }

    fn sum(&self) -> Counts {
        let mut sum = Counts {
            failed: self.errors.len() as u64,
            ..Counts::default()
        };
        for suite in self.suites.iter().filter(|suite| !suite.is_reused) {
            sum += suite.counts;
        }
        sum
    }

    /// Returns how many tests passed in an earlier run and did not run again.
    fn reused(&self) -> u64 {
        let reused = self.suites.iter().filter(|suite| suite.is_reused);
        reused.map(|suite| suite.counts.passed).sum()
    }

    fn reused_time(&self) -> Duration {
        let reused = self.suites.iter().filter(|suite| suite.is_reused);
        reused.map(|suite| suite.duration).sum()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "==> results")?;
        let has_tests = |suite: &&SuiteRun| suite.counts != Counts::default();
        for suite in self.suites.iter().filter(has_tests) {
            let SuiteRun { name, counts, .. } = suite;
            if suite.is_reused {
                writeln!(
                    out,
                    "    {name}: not run, because nothing that it depends on has changed since {} passed",
                    counts.passed
                )?;
            } else {
                writeln!(
                    out,
                    "    {name}: {counts} in {:.1} s",
                    suite.duration.as_secs_f64()
                )?;
            }
            let mark = if suite.is_reused { "reused: " } else { "" };
            for figures in &suite.figures {
                writeln!(out, "        {mark}{figures}")?;
            }
        }
        for failure in self.suites.iter().flat_map(|suite| &suite.failures) {
            writeln!(out, "    failed: {}", failure.replace('\n', "\n    "))?;
        }
        for message in &self.errors {
            writeln!(out, "    error: {message}")?;
        }
        if self.reused() > 0 {
            writeln!(
                out,
                "{} passed earlier and did not run again: they took {:.0} s",
                self.reused(),
                self.reused_time().as_secs_f64()
            )?;
        }
        writeln!(out, "{}", self.sum())
    }
}

#[cfg(test)]
mod tests {
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
            failures: (0..failed)
                .map(|_| "a::test\n    1 is not 2".into())
                .collect(),
            duration: Duration::from_millis(1_200),
            is_reused: false,
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
        report.add_check(Ok(()));
        assert!(report.is_success());
        assert_eq!(last_line(&report), "7 passed, 0 failed, 2 skipped");
        assert!(
            report.to_string().contains(
                "bridge: lib: 3 passed, 0 failed, 1 skipped in 1.2 s\n        7 checks\n"
            )
        );
    }

    #[test]
    fn results_of_an_earlier_run_are_counted_apart() {
        let mut report = Report::default();
        report.add_suite(suite(3, 0));
        report.add_suite(SuiteRun {
            is_reused: true,
            ..suite(34, 0)
        });
        let text = report.to_string();
        assert!(text.contains("34 passed earlier and did not run again: they took 1 s\n"));
        assert!(text.contains("has changed since 34 passed\n        reused: 7 checks\n"));
        assert_eq!(last_line(&report), "3 passed, 0 failed, 1 skipped");
    }

    #[test]
    fn failed_tests_and_failed_checks_are_counted() {
        let mut report = Report::default();
        report.add_suite(suite(3, 1));
        report.add_check(Err(anyhow!("run `cargo fmt`")));
        assert!(!report.is_success());
        assert_eq!(last_line(&report), "3 passed, 2 failed, 1 skipped");
        let text = report.to_string();
        assert!(text.contains("    failed: a::test\n        1 is not 2\n"));
    }
}
