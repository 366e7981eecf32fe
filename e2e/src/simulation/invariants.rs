//! The guarantees of the protocol, and a check of what happens against them.

use std::collections::BTreeMap;

use bridge_protocol::limits::STALE_AFTER;
use bridge_protocol::{CallId, ErrorCode};

/// How a call ended for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallOutcome {
    Answered,
    Failed(ErrorCode),
    /// The bridge crashed, and the caller's connection broke with it.
    ConnectionLost,
}

impl CallOutcome {
    /// Returns whether the caller learnt that the page has not executed the call and never will, so
    /// that it may call again.
    fn means_not_executed(self) -> bool {
        matches!(
            self,
            CallOutcome::Failed(ErrorCode::PageSuspended | ErrorCode::PageBusy)
        )
    }
}

#[derive(Debug)]
struct Call {
    /// The incarnation of the bridge that the call was made in.
    incarnation: u32,
    started: Option<u64>,
    /// How often the bridge has handed the call over to another document.
    handed_over: u32,
    /// How often a document has continued the call.
    continued: u32,
    /// Whether the call may be made again even if it was executed.
    repeatable: bool,
    ended: Option<(u64, CallOutcome)>,
}

/// Every call that was made, when its handler started, and how it ended.
#[derive(Debug, Default)]
pub(super) struct InvariantChecker {
    calls: BTreeMap<CallId, Call>,
}

impl InvariantChecker {
    pub(super) fn call_made(&mut self, id: &CallId, incarnation: u32) {
        let call = Call {
            incarnation,
            started: None,
            handed_over: 0,
            continued: 0,
            repeatable: false,
            ended: None,
        };
        let previous = self.calls.insert(id.clone(), call);
        assert!(previous.is_none(), "{id} was made twice");
    }

    pub(super) fn call_ended(&mut self, id: &CallId, outcome: CallOutcome, now: u64) {
        let call = self
            .calls
            .get_mut(id)
            .expect("only calls that were made end");
        assert!(
            call.ended.is_none(),
            "{id} ends twice: {:?} and {outcome:?} at {now}",
            call.ended
        );
        assert!(
            !(outcome.means_not_executed() && call.started.is_some() && !call.repeatable),
            "{id} ended at {now} ({outcome:?}) and was executed at {:?}",
            call.started
        );
        call.ended = Some((now, outcome));
    }

    /// Records that the bridge hands a call over to the next document of its session.
    pub(super) fn call_handed_over(&mut self, id: &CallId) {
        let call = self.calls.get_mut(id).expect("only calls are handed over");
        assert!(call.ended.is_none(), "{id} is handed over after its end");
        call.handed_over += 1;
    }

    /// Records that a page starts the handler of a call: the first one, or one that continues the work
    /// of the former document.
    pub(super) fn call_started(&mut self, id: &CallId, is_continued: bool, now: u64) {
        let call = self.calls.get_mut(id).expect("only calls are started");
        if is_continued {
            call.continued += 1;
            assert!(
                call.continued <= call.handed_over,
                "{id} is continued {} times and was handed over {} times",
                call.continued,
                call.handed_over
            );
        } else {
            assert!(
                call.started.is_none(),
                "{id} is executed twice: at {:?} and {now}",
                call.started
            );
        }
        call.started.get_or_insert(now);
        if let Some((ended, outcome)) = call.ended.filter(|(ended, _)| *ended < now) {
            // A call that is on its way when it ends cannot be stopped, but it must not be old. The
            // page asks whether a late call is alive; after a slow first answer it waits twice as
            // long for the second one.
            let late = now - ended;
            assert!(
                !outcome.means_not_executed() && u128::from(late) <= 2 * STALE_AFTER.as_millis(),
                "{id} ended at {ended} ({outcome:?}) and is executed {late} ms later"
            );
        }
    }

    /// Records that a call may be made again even if it was executed.
    pub(super) fn call_repeatable(&mut self, id: &CallId) {
        let call = self.calls.get_mut(id).expect("only calls are started");
        call.repeatable = true;
    }

    /// Records that an incarnation of the bridge crashed: its open calls have no caller any more.
    pub(super) fn bridge_crashed(&mut self, incarnation: u32, now: u64) {
        let open = self
            .calls
            .values_mut()
            .filter(|call| call.incarnation == incarnation);
        for call in open {
            call.ended.get_or_insert((now, CallOutcome::ConnectionLost));
        }
    }

    pub(super) fn is_open(&self, id: &CallId) -> bool {
        self.calls.get(id).is_some_and(|call| call.ended.is_none())
    }

    pub(super) fn outcome(&self, id: &CallId) -> Option<CallOutcome> {
        self.calls.get(id)?.ended.map(|(_, outcome)| outcome)
    }

    /// Returns the calls that have not ended.
    pub(super) fn open_calls(&self) -> Vec<&CallId> {
        let open = self.calls.iter().filter(|(_, call)| call.ended.is_none());
        open.map(|(id, _)| id).collect()
    }

    pub(super) fn count_made(&self) -> u64 {
        self.calls.len() as u64
    }

    pub(super) fn count_answered(&self) -> u64 {
        let answered = |call: &&Call| matches!(call.ended, Some((_, CallOutcome::Answered)));
        self.calls.values().filter(answered).count() as u64
    }

    /// Returns how often a document continued a call.
    pub(super) fn count_continued(&self) -> u64 {
        self.calls
            .values()
            .map(|call| u64::from(call.continued))
            .sum()
    }

    pub(super) fn count_executed(&self) -> u64 {
        let started = |call: &&Call| call.started.is_some();
        self.calls.values().filter(started).count() as u64
    }
}
