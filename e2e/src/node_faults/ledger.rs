//! The calls of a run: how often pages ran each, and how it ended for its caller.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::watch;

use super::ending::Ending;
use crate::with_deadline;

/// Where a call enters the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// At the balancer, which chooses a node.
    Balancer,
    /// At a node.
    Node(usize),
}

/// A call.
#[derive(Clone, Debug)]
pub struct CallRecord {
    /// The node that owned its user when the run began.
    pub owner: usize,
    /// Where it enters the cluster.
    pub entry: Entry,
    /// The caller, which makes one call after the other.
    pub(super) caller: usize,
    /// The tab of the user that runs it.
    pub(super) tab: usize,
    /// How often a page has begun it.
    pub(super) runs: u32,
    /// How many of these runs have not ended.
    pub(super) running: u32,
    pub(super) ended: Option<(Ending, Instant)>,
}

impl CallRecord {
    pub(super) fn new(owner: usize, entry: Entry, caller: usize, tab: usize) -> Self {
        Self {
            owner,
            entry,
            caller,
            tab,
            runs: 0,
            running: 0,
            ended: None,
        }
    }

    pub(super) fn is_ok(&self) -> bool {
        matches!(self.ended, Some((Ending::Ok, _)))
    }

    /// Whether a page runs it, and its caller waits.
    pub(super) fn is_in_flight(&self) -> bool {
        self.running > 0 && self.ended.is_none()
    }
}

/// The calls of a run, by their numbers. Pages and callers share it.
#[derive(Debug)]
pub struct Ledger {
    calls: Mutex<Vec<CallRecord>>,
    changes: watch::Sender<()>,
}

/// A page runs a call until this is dropped.
pub(super) struct RunningCall<'a> {
    ledger: &'a Ledger,
    call: u64,
}

impl Ledger {
    pub(super) fn new() -> Self {
        Self {
            calls: Mutex::default(),
            changes: watch::Sender::new(()),
        }
    }

    /// Records a call, and returns its number.
    pub(super) fn call_made(&self, record: CallRecord) -> u64 {
        let mut calls = self.calls();
        calls.push(record);
        calls.len() as u64 - 1
    }

    /// Records that a page begins to run a call.
    pub(super) fn call_started(&self, call: u64) -> RunningCall<'_> {
        self.change(call, |record| {
            record.runs += 1;
            record.running += 1;
        });
        RunningCall { ledger: self, call }
    }

    /// Records how a call ended for its caller.
    pub(super) fn call_ended(&self, call: u64, ending: Ending) {
        self.change(call, |record| record.ended = Some((ending, Instant::now())));
    }

    /// Returns the number of calls that were made.
    pub fn made(&self) -> usize {
        self.calls().len()
    }

    /// Waits until the calls fulfil a condition.
    pub(super) async fn wait_until(&self, what: &str, is_so: impl Fn(&[CallRecord]) -> bool) {
        let mut changes = self.changes.subscribe();
        let so = async {
            while !is_so(&self.calls()) {
                // The sender lives as long as `self`.
                let _ = changes.changed().await;
            }
        };
        with_deadline(what, so).await;
    }

    pub(super) fn calls(&self) -> MutexGuard<'_, Vec<CallRecord>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, call: u64, change: impl FnOnce(&mut CallRecord)) {
        let index = usize::try_from(call).unwrap();
        change(&mut self.calls()[index]);
        self.changes.send_replace(());
    }
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        self.ledger.change(self.call, |record| record.running -= 1);
    }
}
