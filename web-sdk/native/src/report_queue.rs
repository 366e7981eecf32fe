//! The reports of handlers that wait to be sent: a handler may report faster than the connection's
//! task sends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most reports of a program that wait. Further ones are dropped.
pub(crate) const MAX_WAITING_REPORTS: usize = 1_024;

/// Counts the reports that wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReportQueue(Arc<AtomicUsize>);

impl ReportQueue {
    /// Returns whether another report may wait, which then counts until [`ReportQueue::end`].
    pub(crate) fn begin(&self) -> bool {
        let increased = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |waiting| {
                (waiting < MAX_WAITING_REPORTS).then_some(waiting + 1)
            });
        increased.is_ok()
    }

    /// A report was sent.
    pub(crate) fn end(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_beyond_the_limit_is_dropped_until_another_one_was_sent() {
        let queue = ReportQueue::default();
        assert!((0..MAX_WAITING_REPORTS).all(|_| queue.begin()));
        assert!(!queue.begin());
        queue.end();
        assert!(queue.begin());
        assert!(!queue.begin());
    }
}
