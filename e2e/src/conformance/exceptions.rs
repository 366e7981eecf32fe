//! The checks that may fail, with the reasons.

use std::fmt::Write as _;

use super::{Check, Report, Scenario, Status};

/// A check that may fail, or that does not apply.
#[derive(Clone, Copy, Debug)]
pub struct Exception {
    /// The name of the scenario.
    pub scenario: &'static str,
    /// The id of the check; `*` for all checks of the scenario.
    pub check: &'static str,
    /// The effect of the exception.
    pub effect: ExceptionEffect,
    /// The reason.
    pub reason: &'static str,
}

/// The effect of an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExceptionEffect {
    /// The check fails, warns or is skipped. If it does not, the exception must be removed.
    Fails,
    /// The result does not depend on the tested server, so the check is not counted.
    NotApplicable,
}

impl Exception {
    fn covers(&self, scenario: &Scenario, check: &Check) -> bool {
        self.scenario == scenario.name && (self.check == "*" || self.check == check.id)
    }
}

/// The number of checks by outcome.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: usize,
    failed: usize,
    warnings: usize,
    skipped: usize,
    not_applicable: usize,
}

impl Report {
    /// Returns all problems: checks that failed, warned or were skipped without an exception, and
    /// exceptions that are not needed.
    pub fn problems(&self, exceptions: &[Exception]) -> Vec<String> {
        let bad = self.checks().filter(|(scenario, check)| {
            is_bad(check.status) && !exceptions.iter().any(|it| it.covers(scenario, check))
        });
        let bad = bad.map(|(scenario, check)| {
            let Check {
                id,
                status,
                message,
            } = check;
            format!("{}: {id}: {status:?}: {message}", scenario.name)
        });
        let stale = exceptions
            .iter()
            .filter(|it| !self.is_needed(it))
            .map(|it| format!("{}: {}: the exception is not needed", it.scenario, it.check));
        bad.chain(stale).collect()
    }

    fn is_needed(&self, exception: &Exception) -> bool {
        self.checks().any(|(scenario, check)| {
            exception.covers(scenario, check)
                && (is_bad(check.status) || exception.effect == ExceptionEffect::NotApplicable)
        })
    }

    /// Returns the counts, in lines that the test report shows, and each exception with its reason.
    pub fn summary(&self, title: &str, exceptions: &[Exception]) -> String {
        let mut summary = String::new();
        for scored in [true, false] {
            let scenarios = self.scenarios.iter();
            let number = scenarios
                .filter(|scenario| scenario.not_scored.is_none() == scored)
                .count();
            if number == 0 {
                continue;
            }
            let kind = if scored { "" } else { " (not scored)" };
            let Counts {
                passed,
                failed,
                warnings,
                skipped,
                not_applicable,
            } = self.counts(scored, exceptions);
            let _ = writeln!(
                summary,
                "figures: conformance {title}{kind}: {number} scenarios, {passed} checks passed, \
{failed} failed, {warnings} warnings, {skipped} skipped, {not_applicable} not applicable"
            );
        }
        for it in exceptions {
            let _ = writeln!(
                summary,
                "    {} {}: {:?}: {}",
                it.scenario, it.check, it.effect, it.reason
            );
        }
        summary
    }

    /// Returns the number of passed checks in scenarios that are scored.
    pub fn passed(&self, exceptions: &[Exception]) -> usize {
        self.counts(true, exceptions).passed
    }

    /// Returns whether a check passed in some scenario.
    pub fn has_passed(&self, check_id: &str) -> bool {
        self.checks()
            .any(|(_, check)| check.id == check_id && matches!(check.status, Status::Success))
    }

    fn counts(&self, scored: bool, exceptions: &[Exception]) -> Counts {
        let mut counts = Counts::default();
        let checks = self
            .checks()
            .filter(|(scenario, _)| scenario.not_scored.is_none() == scored);
        for (scenario, check) in checks {
            let not_applicable = exceptions.iter().any(|it| {
                it.effect == ExceptionEffect::NotApplicable && it.covers(scenario, check)
            });
            let counter = match check.status {
                Status::Info => continue,
                _ if not_applicable => &mut counts.not_applicable,
                Status::Success => &mut counts.passed,
                Status::Failure => &mut counts.failed,
                Status::Warning => &mut counts.warnings,
                Status::Skipped => &mut counts.skipped,
            };
            *counter += 1;
        }
        counts
    }
}

fn is_bad(status: Status) -> bool {
    matches!(status, Status::Failure | Status::Warning | Status::Skipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(status: Status) -> Report {
        let check = |id: &str, status| Check {
            id: id.to_owned(),
            status,
            message: "what it says".to_owned(),
        };
        let checks = vec![check("good", Status::Success), check("other", status)];
        Report {
            scenarios: vec![Scenario {
                name: "scenario".to_owned(),
                not_scored: None,
                checks,
            }],
        }
    }

    fn exception(check: &'static str, effect: ExceptionEffect) -> Exception {
        Exception {
            scenario: "scenario",
            check,
            effect,
            reason: "because",
        }
    }

    #[test]
    fn warnings_and_skipped_checks_are_problems_too() {
        for status in [Status::Failure, Status::Warning, Status::Skipped] {
            let problem = format!("scenario: other: {status:?}: what it says");
            assert_eq!(report(status).problems(&[]), [problem]);
            let known = exception("other", ExceptionEffect::Fails);
            assert!(report(status).problems(&[known]).is_empty());
        }
        assert!(report(Status::Info).problems(&[]).is_empty());
    }

    #[test]
    fn an_exception_that_is_not_needed_is_a_problem() {
        let stale = exception("other", ExceptionEffect::Fails);
        let problems = report(Status::Success).problems(&[stale]);
        assert_eq!(problems, ["scenario: other: the exception is not needed"]);
        let gone = exception("gone", ExceptionEffect::NotApplicable);
        assert_eq!(report(Status::Success).problems(&[gone]).len(), 1);
    }

    #[test]
    fn not_applicable_checks_are_not_counted_as_passed() {
        let not_applicable = exception("*", ExceptionEffect::NotApplicable);
        let summary = report(Status::Failure).summary("suite", &[not_applicable]);
        assert!(
summary.starts_with("figures: conformance suite: 1 scenarios, 0 checks passed, 0 failed, 0 warnings, 0 skipped, 2 not applicable\n"),
            "{summary}"
        );
        assert!(summary.contains("because"), "{summary}");
    }
}
