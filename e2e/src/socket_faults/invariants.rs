//! The guarantees of the protocol for the calls of a schedule, by the number in their arguments.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use bridge_protocol::limits::STALE_AFTER;

/// How much later than scheduled a task may run on a busy machine.
const SCHEDULING_ALLOWANCE: Duration = Duration::from_secs(2);

/// How a call ended for its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallOutcome {
    Answered,
    /// With this error code of the bridge.
    Failed(String),
    /// The caller gave up, or its connection broke.
    Lost,
}

impl CallOutcome {
    /// Returns whether the caller learnt that the page has not executed the call and never will.
    fn means_not_executed(&self) -> bool {
        matches!(self, CallOutcome::Failed(code) if code == "PageSuspended" || code == "PageBusy")
    }
}

#[derive(Debug, Default)]
struct Call {
    started: Option<Instant>,
    /// How often the call had been handed over when a document started it.
    hand_overs: BTreeSet<u64>,
    ended: Option<(Instant, CallOutcome)>,
}

/// Checks the guarantees. Pages and callers of a schedule share it.
#[derive(Debug, Default)]
pub(super) struct InvariantChecker {
    calls: Mutex<BTreeMap<u64, Call>>,
    /// Guarantees that did not hold. They are collected because pages run in separate tasks.
    violations: Mutex<Vec<String>>,
    /// For how long the process of the bridge was stopped. A caller that left meanwhile was noticed
    /// this much later.
    paused: Mutex<Duration>,
}

impl InvariantChecker {
    pub(super) fn call_made(&self, call: u64) {
        let previous = self.calls.lock().unwrap().insert(call, Call::default());
        assert!(previous.is_none(), "two calls have the number {call}");
    }

    pub(super) fn call_ended(&self, call: u64, outcome: CallOutcome) {
        let mut calls = self.calls.lock().unwrap();
        let record = calls.get_mut(&call).expect("the call was made");
        if outcome.means_not_executed() && record.started.is_some() {
            self.record_violation(format!("call {call} was executed and ended as {outcome:?}"));
        }
        record.ended = Some((Instant::now(), outcome));
    }

    /// Records that a page starts the handler of a call, after this many hand-overs.
    pub(super) fn call_started(&self, number: u64, hand_overs: u64) {
        let mut calls = self.calls.lock().unwrap();
        let call = calls.get_mut(&number).expect("the call was made");
        call.started.get_or_insert_with(Instant::now);
        if !call.hand_overs.insert(hand_overs) {
            self.record_violation(format!(
                "call {number} is executed twice after {hand_overs} hand-overs"
            ));
        }
        if hand_overs > 0 && !call.hand_overs.contains(&(hand_overs - 1)) {
            self.record_violation(format!(
                "call {number} is continued, and no document has handed it over"
            ));
        }
        if let Some((at, outcome)) = &call.ended {
            let late = at.elapsed();
            let latest = STALE_AFTER + SCHEDULING_ALLOWANCE + *self.paused.lock().unwrap();
            if outcome.means_not_executed() || late > latest {
                self.record_violation(format!(
                    "call {number} ended as {outcome:?} and is executed {late:?} later"
                ));
            }
        }
    }

    /// The process of the bridge is being stopped for this long.
    pub(super) fn bridge_paused(&self, span: Duration) {
        *self.paused.lock().unwrap() += span;
    }

    pub(super) fn record_violation(&self, violation: String) {
        self.violations.lock().unwrap().push(violation);
    }

    /// Returns how many calls were made, executed, continued by another document, and answered.
    ///
    /// # Panics
    /// Panics when a guarantee did not hold.
    pub(super) fn assert_no_violations(&self) -> (u64, u64, u64, u64) {
        let violations = self.violations.lock().unwrap();
        assert!(violations.is_empty(), "{violations:#?}");
        let calls = self.calls.lock().unwrap();
        let open: Vec<_> = calls
            .iter()
            .filter(|(_, call)| call.ended.is_none())
            .collect();
        assert!(open.is_empty(), "calls that have not ended: {open:?}");
        let count = |is: fn(&&Call) -> bool| calls.values().filter(is).count() as u64;
        let answered = count(|call| matches!(call.ended, Some((_, CallOutcome::Answered))));
        (
            count(|_| true),
            count(|call| call.started.is_some()),
            count(|call| call.hand_overs.len() > 1),
            answered,
        )
    }
}
