//! A bound for the reports that wait to be sent: handlers may report faster than the connection's
//! task sends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of waiting reports of a program. Further ones are dropped.
pub(crate) const MAX_WAITING_REPORTS: usize = 1_024;

/// Counts the waiting reports.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReportQueue(Arc<AtomicUsize>);

impl ReportQueue {
    /// Returns whether another report may wait. If so, it counts until [`ReportQueue::end`].
    pub(crate) fn begin(&self) -> bool {
        let increased = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |waiting| {
                (waiting < MAX_WAITING_REPORTS).then_some(waiting + 1)
            });
        increased.is_ok()
    }

    /// Removes a report that was sent from the count.
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
