//! The calls of a query that are being made. AG-UI ends a run when only the client can continue,
//! and reads it here.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of calls that are being made, and of reports about calls that were not read yet.
#[derive(Debug, Default)]
pub(crate) struct CallActivity {
    /// Calls that wait for a person or for the client are not counted.
    busy: AtomicUsize,
}

impl CallActivity {
    /// Returns whether calls are being made, or reports about calls were not read yet.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::SeqCst) > 0
    }

    /// Ends the count of a report about a call. Only the reader of a query that ends its stream before
    /// the query ends has to do this.
    pub(crate) fn report_read(&self) {
        self.busy.fetch_sub(1, Ordering::SeqCst);
    }

    /// Counts a call as long as the returned value exists.
    pub(crate) fn begin(&self) -> BusyCall<'_> {
        self.busy.fetch_add(1, Ordering::SeqCst);
        BusyCall(self)
    }
}

/// A call that is being made.
#[derive(Debug)]
pub(crate) struct BusyCall<'a>(&'a CallActivity);

impl BusyCall<'_> {
    /// Counts a report about the call, which is sent next, until it is read.
    pub(crate) fn count_report(&self) {
        self.0.busy.fetch_add(1, Ordering::SeqCst);
    }

    /// Waits for something for which others need not wait. The call counts again afterwards.
    pub(crate) fn wait_outside(&self) -> WaitingCall<'_> {
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
pub(crate) struct WaitingCall<'a>(&'a CallActivity);

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
    fn a_report_about_a_call_counts_until_it_is_read() {
        let activity = CallActivity::default();
        let call = activity.begin();
        call.count_report();
        let waiting = call.wait_outside();
        assert!(activity.is_busy());
        activity.report_read();
        assert!(!activity.is_busy());
        drop(waiting);
        call.count_report();
        drop(call);
        assert!(activity.is_busy());
        activity.report_read();
        assert!(!activity.is_busy());
    }
}
