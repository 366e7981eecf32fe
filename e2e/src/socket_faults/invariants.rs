//! What callers heard and what pages did, by the number that a caller gives its call.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use bridge_protocol::limits::STALE_AFTER;

/// So much later than it should a task may run on a busy machine.
const SCHEDULING_ALLOWANCE: Duration = Duration::from_secs(2);

/// How a call ended for its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallOutcome {
    Answered,
    /// With this code, as the bridge says it.
    Failed(String),
    /// The caller left, or its connection broke.
    Lost,
}

#[derive(Debug, Default)]
struct Call {
    started: Option<Instant>,
    ended: Option<(Instant, CallOutcome)>,
}

/// Shared by pages and callers of one schedule.
#[derive(Debug, Default)]
pub(super) struct InvariantChecker {
    calls: Mutex<BTreeMap<u64, Call>>,
    /// What was not as promised. Pages run in tasks of their own: the schedule asks in the end.
    violations: Mutex<Vec<String>>,
}

impl InvariantChecker {
    pub(super) fn call_made(&self, call: u64) {
        let former = self.calls.lock().unwrap().insert(call, Call::default());
        assert!(former.is_none(), "two calls of one number");
    }

    pub(super) fn call_ended(&self, call: u64, how: CallOutcome) {
        let mut calls = self.calls.lock().unwrap();
        let call = calls.get_mut(&call).expect("it was made");
        call.ended = Some((Instant::now(), how));
    }

    /// A page executes it.
    pub(super) fn call_started(&self, number: u64) {
        let mut calls = self.calls.lock().unwrap();
        let call = calls.get_mut(&number).expect("it was made");
        if call.started.replace(Instant::now()).is_some() {
            self.record_violation(format!("call {number} is executed twice"));
        }
        if let Some((at, how)) = &call.ended {
            let late = at.elapsed();
            let told = matches!(how, CallOutcome::Failed(code) if code == "PageSuspended" || code == "PageBusy");
            if told || late > STALE_AFTER + SCHEDULING_ALLOWANCE {
                self.record_violation(format!(
                    "call {number} ended as {how:?} and is executed {late:?} later"
                ));
            }
        }
    }

    pub(super) fn record_violation(&self, how: String) {
        self.violations.lock().unwrap().push(how);
    }

    /// Panics when a promise was broken; else how many calls were made, executed and answered.
    pub(super) fn assert_no_violations(&self) -> (u64, u64, u64) {
        let broken = self.violations.lock().unwrap();
        assert!(broken.is_empty(), "{broken:#?}");
        let calls = self.calls.lock().unwrap();
        let without: Vec<_> = calls
            .iter()
            .filter(|(_, call)| call.ended.is_none())
            .collect();
        assert!(without.is_empty(), "without an ending: {without:?}");
        let count = |is: fn(&&Call) -> bool| calls.values().filter(is).count() as u64;
        let answered = count(|call| matches!(call.ended, Some((_, CallOutcome::Answered))));
        (
            count(|_| true),
            count(|call| call.started.is_some()),
            answered,
        )
    }
}
