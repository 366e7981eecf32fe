//! Limits how many lines of one kind the log has: peers decide how often their causes happen.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The time in which the lines of a kind are limited.
pub(crate) const LINE_INTERVAL: Duration = Duration::from_secs(1);

/// Limits the lines of one kind.
#[derive(Debug)]
pub(crate) struct LineLimit {
    max_lines: u32,
    lines: Mutex<Lines>,
}

#[derive(Debug, Default)]
struct Lines {
    /// When the first line of the current interval was logged.
    since: Option<Instant>,
    /// The number of lines in the current interval.
    count: u32,
    /// The events without a line since the last line.
    suppressed: u64,
}

impl LineLimit {
    /// Creates a limit of this number of lines in [`LINE_INTERVAL`].
    pub(crate) fn new(max_lines: u32) -> Self {
        Self {
            max_lines,
            lines: Mutex::default(),
        }
    }

    /// Returns the number of events without a line before this one, or `None` if this one has no
    /// line either.
    pub(crate) fn next_line(&self, now: Instant) -> Option<u64> {
        let mut lines = self.lines();
        if lines.is_over(now) {
            (lines.since, lines.count) = (Some(now), 0);
        }
        if lines.count == self.max_lines {
            lines.suppressed += 1;
            return None;
        }
        lines.count += 1;
        Some(std::mem::take(&mut lines.suppressed))
    }

    /// Returns the number of events that still have no line although a new interval could begin, so
    /// that the end of a burst is also logged.
    pub(crate) fn take_suppressed(&self, now: Instant) -> Option<u64> {
        let mut lines = self.lines();
        let is_due = lines.suppressed > 0 && lines.is_over(now);
        is_due.then(|| std::mem::take(&mut lines.suppressed))
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lines {
    fn is_over(&self, now: Instant) -> bool {
        let is_recent = |since: Instant| now.duration_since(since) < LINE_INTERVAL;
        !self.since.is_some_and(is_recent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_over_the_limit_are_counted_and_reported_by_the_next_or_on_request() {
        let limit = LineLimit::new(2);
        let start = Instant::now();
        let later = |interval: u32| start + interval * LINE_INTERVAL;
        let logged = [0; 5].map(|_| limit.next_line(start));
        assert_eq!(logged, [Some(0), Some(0), None, None, None]);
        assert_eq!(
            limit.take_suppressed(start),
            None,
            "the interval has not ended"
        );
        assert_eq!(limit.next_line(later(1)), Some(3));
        assert_eq!(limit.next_line(later(1)), Some(0));
        assert_eq!(limit.next_line(later(1)), None);
        assert_eq!(limit.take_suppressed(later(2)), Some(1));
        assert_eq!(limit.take_suppressed(later(3)), None);
        assert_eq!(limit.next_line(later(3)), Some(0));
    }
}
