//! What a reader that ends its stream before the query ends has to know about the calls.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The calls that are being made, and the results of those that have ended.
#[derive(Debug, Default)]
pub(crate) struct CallActivity {
    /// The calls that are being made. Calls that wait for a person or for the client are not counted.
    busy: AtomicUsize,
    keeps_results: AtomicBool,
    /// The results as the model has them, by the id of the call.
    results: Mutex<HashMap<String, String>>,
}

impl CallActivity {
    /// Makes the results of calls available: their progress has only the errors.
    pub(crate) fn keep_results(&self) {
        self.keeps_results.store(true, Ordering::Relaxed);
    }

    /// Returns the result of a call that has ended. It is available once.
    pub(crate) fn take_result(&self, id: &str) -> Option<String> {
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        results.remove(id)
    }

    /// Returns whether calls are being made.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::SeqCst) > 0
    }

    /// Records the result of a call, before its end is reported.
    pub(super) fn record_result(&self, id: &str, text: &str) {
        if self.keeps_results.load(Ordering::Relaxed) {
            let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
            results.insert(id.to_owned(), text.to_owned());
        }
    }

    /// Counts a call as long as the returned value exists.
    pub(super) fn begin(&self) -> BusyCall<'_> {
        self.busy.fetch_add(1, Ordering::SeqCst);
        BusyCall(self)
    }
}

/// A call that is being made.
#[derive(Debug)]
pub(super) struct BusyCall<'a>(&'a CallActivity);

impl BusyCall<'_> {
    /// Waits for something of which others need not wait, too. The call counts again afterwards.
    pub(super) fn wait_outside(&self) -> WaitingCall<'_> {
        self.0.busy.fetch_sub(1, Ordering::SeqCst);
        WaitingCall(self.0)
    }
}

impl Drop for BusyCall<'_> {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A call that waits for a person or for the client.
#[derive(Debug)]
pub(super) struct WaitingCall<'a>(&'a CallActivity);

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        self.0.busy.fetch_add(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_waits_for_somebody_is_not_busy() {
        let activity = CallActivity::default();
        let first = activity.begin();
        let second = activity.begin();
        let waiting = first.wait_outside();
        assert!(activity.is_busy());
        drop(second);
        assert!(!activity.is_busy());
        drop(waiting);
        assert!(activity.is_busy());
        drop(first);
        assert!(!activity.is_busy());
    }

    #[test]
    fn results_are_recorded_for_readers_that_want_them() {
        let activity = CallActivity::default();
        activity.record_result("1", "red");
        assert_eq!(activity.take_result("1"), None);
        activity.keep_results();
        activity.record_result("2", "blue");
        assert_eq!(activity.take_result("2").as_deref(), Some("blue"));
        assert_eq!(activity.take_result("2"), None);
    }
}
