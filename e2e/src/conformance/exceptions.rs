//! What may end otherwise than well, and why.

use std::fmt::Write as _;

use super::{Check, Report, Scenario, Status};

/// A check that need not pass, or cannot say anything.
#[derive(Clone, Copy, Debug)]
pub struct Exception {
    /// Which scenario.
    pub scenario: &'static str,
    /// Which check of it; `*` for all.
    pub check: &'static str,
    /// What it does.
    pub effect: ExceptionEffect,
    /// Why.
    pub reason: &'static str,
}

/// What an exception does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExceptionEffect {
    /// It fails, warns or is skipped; if it does no longer, the exception must go.
    Fails,
    /// Whatever it comes to says nothing about what is tested here: it is not counted.
    NotApplicable,
}

impl Exception {
    fn covers(&self, scenario: &Scenario, check: &Check) -> bool {
        self.scenario == scenario.name && (self.check == "*" || self.check == check.id)
    }
}

/// How many checks ended in which way.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: usize,
    failed: usize,
    warnings: usize,
    skipped: usize,
    not_applicable: usize,
}

impl Report {
    /// Everything that is not as it should be: what failed, warned or was skipped without an
    /// exception, and exceptions that nothing needs.
    pub fn complaints(&self, exceptions: &[Exception]) -> Vec<String> {
        let bad = self.checks().filter(|(scenario, check)| {
            is_bad(check.status) && !exceptions.iter().any(|it| it.covers(scenario, check))
        });
        let bad = bad.map(|(scenario, check)| {
            let (
                name,
                Check {
                    id,
                    status,
                    message: says,
                },
            ) = (&scenario.name, check);
            format!("{name}: {id}: {status:?}: {says}")
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

    /// The counts, marked for the report of all tests, and each exception with its reason.
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
                not_applicable: foreign,
            } = self.counts(scored, exceptions);
            let _ = writeln!(
                summary,
                "figures: conformance {title}{kind}: {number} scenarios, {passed} checks passed, \
                 {failed} failed, {warnings} warnings, {skipped} skipped, {foreign} not about us"
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

    /// How many checks passed in scenarios that are scored.
    pub fn passed(&self, exceptions: &[Exception]) -> usize {
        self.counts(true, exceptions).passed
    }

    fn counts(&self, scored: bool, exceptions: &[Exception]) -> Counts {
        let mut counts = Counts::default();
        let checks = self
            .checks()
            .filter(|(scenario, _)| scenario.not_scored.is_none() == scored);
        for (scenario, check) in checks {
            let foreign = exceptions.iter().any(|it| {
                it.effect == ExceptionEffect::NotApplicable && it.covers(scenario, check)
            });
            let counter = match check.status {
                Status::Info => continue,
                _ if foreign => &mut counts.not_applicable,
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

    fn exception(check: &'static str, judgement: ExceptionEffect) -> Exception {
        Exception {
            scenario: "scenario",
            check,
            effect: judgement,
            reason: "because",
        }
    }

    #[test]
    fn warnings_and_skipped_checks_are_complaints_too() {
        for status in [Status::Failure, Status::Warning, Status::Skipped] {
            let complaint = format!("scenario: other: {status:?}: what it says");
            assert_eq!(report(status).complaints(&[]), [complaint]);
            let known = exception("other", ExceptionEffect::Fails);
            assert!(report(status).complaints(&[known]).is_empty());
        }
        assert!(report(Status::Info).complaints(&[]).is_empty());
    }

    #[test]
    fn an_exception_that_nothing_needs_is_a_complaint() {
        let stale = exception("other", ExceptionEffect::Fails);
        let complaints = report(Status::Success).complaints(&[stale]);
        assert_eq!(complaints, ["scenario: other: the exception is not needed"]);
        let gone = exception("gone", ExceptionEffect::NotApplicable);
        assert_eq!(report(Status::Success).complaints(&[gone]).len(), 1);
    }

    #[test]
    fn not_applicable_checks_are_not_counted_as_passed() {
        let foreign = exception("*", ExceptionEffect::NotApplicable);
        let summary = report(Status::Failure).summary("suite", &[foreign]);
        assert!(
            summary.starts_with("figures: conformance suite: 1 scenarios, 0 checks passed, 0 failed, 0 warnings, 0 skipped, 2 not about us\n"),
            "{summary}"
        );
        assert!(summary.contains("because"), "{summary}");
    }
}
