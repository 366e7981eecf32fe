//! What is promised, and whether it is kept.

use std::collections::BTreeMap;

use bridge_protocol::limits::STALE_AFTER;
use bridge_protocol::{CallId, ErrorCode};

/// How a call ended for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallOutcome {
    Answered,
    Failed(ErrorCode),
    /// The bridge crashed, and the caller's connection with it.
    ConnectionLost,
}

impl CallOutcome {
    /// The caller was told that the page did not take the call, and to do it again. The receipt may
    /// have been lost or late; but what is not executed by then never is.
    fn means_not_executed(self) -> bool {
        matches!(
            self,
            CallOutcome::Failed(ErrorCode::PageSuspended | ErrorCode::PageBusy)
        )
    }
}

#[derive(Debug)]
struct Call {
    /// The life of the bridge that it was made in.
    incarnation: u32,
    started: Option<u64>,
    ended: Option<(u64, CallOutcome)>,
}

/// Every call that was ever made, and what became of it.
#[derive(Debug, Default)]
pub(super) struct InvariantChecker {
    calls: BTreeMap<CallId, Call>,
}

impl InvariantChecker {
    pub(super) fn call_made(&mut self, call: &CallId, life: u32) {
        let made = Call {
            incarnation: life,
            started: None,
            ended: None,
        };
        let former = self.calls.insert(call.clone(), made);
        assert!(former.is_none(), "{call} was made twice");
    }

    pub(super) fn call_ended(&mut self, id: &CallId, how: CallOutcome, now: u64) {
        let call = self.calls.get_mut(id).expect("only calls end");
        assert!(
            call.ended.is_none(),
            "{id} has two endings: {:?} and {how:?} at {now}",
            call.ended
        );
        call.ended = Some((now, how));
    }

    /// A page starts a handler.
    pub(super) fn call_started(&mut self, id: &CallId, now: u64) {
        let call = self.calls.get_mut(id).expect("only calls are started");
        assert!(
            call.started.is_none(),
            "{id} is executed twice: at {:?} and {now}",
            call.started
        );
        call.started = Some(now);
        if let Some((ended, how)) = call.ended.filter(|(ended, _)| *ended < now) {
            // What is on its way when a call ends cannot be stopped; it is not old, though. A page
            // whose first question was answered slowly waits twice as long for the second answer.
            let late = now - ended;
            assert!(
                !how.means_not_executed() && u128::from(late) <= 2 * STALE_AFTER.as_millis(),
                "{id} ended at {ended} ({how:?}) and is executed {late} ms later"
            );
        }
    }

    /// A life of the bridge is over: what is open has no caller any more.
    pub(super) fn bridge_crashed(&mut self, life: u32, now: u64) {
        let open = self
            .calls
            .values_mut()
            .filter(|call| call.incarnation == life);
        for call in open {
            call.ended.get_or_insert((now, CallOutcome::ConnectionLost));
        }
    }

    pub(super) fn is_open(&self, id: &CallId) -> bool {
        self.calls.get(id).is_some_and(|call| call.ended.is_none())
    }

    pub(super) fn outcome(&self, id: &CallId) -> Option<(u64, CallOutcome)> {
        self.calls.get(id)?.ended
    }

    /// Those without an ending.
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

    pub(super) fn count_executed(&self) -> u64 {
        let started = |call: &&Call| call.started.is_some();
        self.calls.values().filter(started).count() as u64
    }
}
