//! Findings of a run.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use super::ending::Ending;
use super::ledger::CallRecord;
use crate::print_figures;

/// The maximum number of violations in the panic message.
const MAX_REPORTED: usize = 40;

/// The sums of a run.
#[derive(Debug)]
pub(super) struct FaultReport {
    /// The fault.
    fault: String,
    began: Instant,
    /// The calls that were made.
    calls: usize,
    /// Those that ended with the result of their page.
    ok: usize,
    /// Those that failed, by ending.
    failed: BTreeMap<String, usize>,
    /// Those that ran more than once.
    twice: usize,
    /// Those that ended with a result, or as if they had not run, although the pages say otherwise.
    false_endings: usize,
    /// The time from the begin of the fault until the last page was back and the last failed call had ended.
    pub(super) recovered_after: Duration,
    /// Findings that must not be.
    violations: Vec<String>,
}

impl FaultReport {
    pub(super) fn new(fault: &str, began: Instant) -> Self {
        Self {
            fault: fault.to_owned(),
            began,
            calls: 0,
            ok: 0,
            failed: BTreeMap::new(),
            twice: 0,
            false_endings: 0,
            recovered_after: Duration::ZERO,
            violations: Vec::new(),
        }
    }

    /// Adds a call that has ended. `allowed` are the endings that it may have besides a result.
    pub(super) fn add(&mut self, call: &CallRecord, is_after: bool, allowed: &[&str]) {
        let (ending, at) = call.ended.as_ref().expect("the callers have stopped");
        let is_false = match ending {
            Ending::Ok => call.runs == 0,
            other => other.means_not_run() && call.runs > 0,
        };
        let (is_twice, text) = (call.runs > 1, ending.to_string());
        self.twice += usize::from(is_twice);
        self.false_endings += usize::from(is_false);
        // A client that reaches no server makes no call.
        let is_allowed = matches!(ending, Ending::Ok | Ending::NotConnected);
        if is_twice || is_false || !(is_allowed || allowed.contains(&&*text)) {
            let CallRecord {
                owner,
                entry,
                tab,
                runs,
                ..
            } = call;
            let time = if is_after { "after" } else { "during" };
            let seconds = at.saturating_duration_since(self.began).as_secs_f64();
            self.violations.push(format!(
                "made {time} the fault at {entry:?}, tab {tab} of a user of node {owner}: {text}, ran \
                 {runs} times, ended {seconds:.2} s after the fault began"
            ));
        }
        match ending {
            // No call was made.
            Ending::NotConnected => return,
            Ending::Ok => self.ok += 1,
            _ => *self.failed.entry(text).or_default() += 1,
        }
        self.calls += 1;
    }

    pub(super) fn add_violation(&mut self, violation: String) {
        self.violations.push(violation);
    }

    /// Prints the sums for the end of the test's report.
    ///
    /// # Panics
    ///
    /// Panics if something is not as it must be.
    pub(super) fn check(&self) {
        print_figures(&self.to_string());
        let first: Vec<_> = self.violations.iter().take(MAX_REPORTED).collect();
        let count = self.violations.len();
        assert!(
            first.is_empty(),
            "{}: {count} violations: {first:#?}",
            self.fault
        );
    }
}

impl fmt::Display for FaultReport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            fault, calls, ok, ..
        } = self;
        write!(out, "{fault}: {calls} calls, {ok} ok")?;
        for (ending, count) in &self.failed {
            write!(out, ", {count} × {ending}")?;
        }
        let (twice, false_endings) = (self.twice, self.false_endings);
        let seconds = self.recovered_after.as_secs_f64();
        write!(
            out,
            ", {twice} ran twice, {false_endings} false endings, recovered after {seconds:.2} s"
        )
    }
}
