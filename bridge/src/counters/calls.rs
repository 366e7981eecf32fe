//! The number and the durations of calls, by their kind and their outcome.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bridge_protocol::ErrorCode;

/// The upper bounds of the buckets in which calls are counted by their durations. Calls that take
/// longer are counted in one more bucket.
pub(crate) const DURATION_BOUNDS: [Duration; 16] = [
    Duration::from_millis(1),
    Duration::from_millis(2),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(25),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_millis(2500),
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(30),
    Duration::from_secs(60),
    Duration::from_secs(120),
];

const BUCKETS: usize = DURATION_BOUNDS.len() + 1;

/// The kind of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallKind {
    Tool,
    Prompt,
    Resource,
    Completion,
    /// The rest of a tool call, for whose result the client has got a handle.
    Background,
}

impl CallKind {
    /// All kinds.
    pub(crate) const ALL: [Self; 5] = [
        Self::Tool,
        Self::Prompt,
        Self::Resource,
        Self::Completion,
        Self::Background,
    ];

    /// The name of the kind in metrics and logs.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::Completion => "completion",
            Self::Background => "background",
        }
    }
}

/// How a round of a call has ended for its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CountedEnd {
    /// The client gets a result.
    Completed,
    /// The client gets a handle: the call continues in the background.
    Background,
    /// The client must answer requests of the page, and then repeats the call.
    InputRequired,
    /// The client has cancelled the call, or has disconnected.
    Cancelled,
    /// The client gets a failure. A failure that a handler has returned as its result has no code.
    Failed(Option<ErrorCode>),
    /// The connection of the client was gone before it had taken the answer.
    Undelivered,
}

impl CountedEnd {
    const OUTCOMES: usize = 6;

    /// All outcomes, those that have a code without it.
    pub(crate) const ALL: [Self; Self::OUTCOMES] = [
        Self::Completed,
        Self::Background,
        Self::InputRequired,
        Self::Cancelled,
        Self::Failed(None),
        Self::Undelivered,
    ];

    /// The name of the outcome in metrics and logs.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "ok",
            Self::Background => "background",
            Self::InputRequired => "input_required",
            Self::Cancelled => "cancelled",
            Self::Failed(_) => "failed",
            Self::Undelivered => "undelivered",
        }
    }

    const fn index(self) -> usize {
        match self {
            Self::Completed => 0,
            Self::Background => 1,
            Self::InputRequired => 2,
            Self::Cancelled => 3,
            Self::Failed(_) => 4,
            Self::Undelivered => 5,
        }
    }
}

/// The calls that have ended.
#[derive(Debug, Default)]
pub(crate) struct CallCounters([KindCounters; CallKind::ALL.len()]);

#[derive(Debug, Default)]
struct KindCounters {
    /// The durations of the calls of each outcome.
    durations: [DurationCounters; CountedEnd::OUTCOMES],
    failures: FailureCounters,
}

/// The failures without a code, and then those of each code in the order of [`ErrorCode::ALL`].
#[derive(Debug)]
struct FailureCounters([AtomicU64; 1 + ErrorCode::ALL.len()]);

/// Calls by their durations.
#[derive(Debug, Default)]
struct DurationCounters {
    buckets: [AtomicU64; BUCKETS],
    sum_micros: AtomicU64,
}

/// The number of calls in each bucket of [`DURATION_BOUNDS`], and the sum of their durations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Durations {
    pub(crate) buckets: [u64; BUCKETS],
    pub(crate) sum: Duration,
}

impl Default for FailureCounters {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; 1 + ErrorCode::ALL.len()])
    }
}

impl CallCounters {
    /// Counts a call that has ended.
    pub(crate) fn count(&self, kind: CallKind, end: CountedEnd, duration: Duration) {
        let counters = &self.0[kind as usize];
        counters.durations[end.index()].count(duration);
        if let CountedEnd::Failed(code) = end {
            counters.failures.of(code).fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The durations of the calls with this outcome, whatever their code.
    pub(crate) fn durations(&self, kind: CallKind, end: CountedEnd) -> Durations {
        let counters = &self.0[kind as usize].durations[end.index()];
        Durations {
            buckets: counters.buckets.each_ref().map(load),
            sum: Duration::from_micros(load(&counters.sum_micros)),
        }
    }

    /// The number of calls that have failed, for each code with any.
    pub(crate) fn failures(
        &self,
        kind: CallKind,
    ) -> impl Iterator<Item = (Option<ErrorCode>, u64)> {
        let failures = &self.0[kind as usize].failures;
        let codes = ErrorCode::ALL.iter().copied().map(Some);
        let counts = std::iter::once(None).chain(codes);
        let counts = counts.map(|code| (code, load(failures.of(code))));
        counts.filter(|(_, count)| *count > 0)
    }
}

impl Durations {
    /// The number of calls.
    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

impl FailureCounters {
    fn of(&self, code: Option<ErrorCode>) -> &AtomicU64 {
        // The codes have no explicit values, so they are numbered from 0.
        &self.0[code.map_or(0, |code| 1 + code as usize)]
    }
}

impl DurationCounters {
    fn count(&self, duration: Duration) {
        let bucket = DURATION_BOUNDS.partition_point(|bound| *bound < duration);
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.sum_micros.fetch_add(micros, Ordering::Relaxed);
    }
}

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_kind_outcome_code_and_duration() {
        let counters = CallCounters::default();
        let millis = Duration::from_millis;
        counters.count(CallKind::Tool, CountedEnd::Completed, millis(1));
        counters.count(CallKind::Tool, CountedEnd::Completed, millis(200_000));
        let timeout = CountedEnd::Failed(Some(ErrorCode::CallTimeout));
        counters.count(CallKind::Tool, timeout, millis(3));
        counters.count(CallKind::Prompt, CountedEnd::Failed(None), millis(3));

        let completed = counters.durations(CallKind::Tool, CountedEnd::Completed);
        assert_eq!(completed.count(), 2);
        assert_eq!(
            (completed.buckets[0], completed.buckets[BUCKETS - 1]),
            (1, 1)
        );
        assert_eq!(completed.sum, millis(200_001));
        let failed = counters.durations(CallKind::Tool, CountedEnd::Failed(None));
        assert_eq!((failed.count(), failed.buckets[2]), (1, 1));
        let failures = |kind| counters.failures(kind).collect::<Vec<_>>();
        let code = Some(ErrorCode::CallTimeout);
        assert_eq!(failures(CallKind::Tool), [(code, 1)]);
        assert_eq!(failures(CallKind::Prompt), [(None, 1)]);
        assert_eq!(failures(CallKind::Resource), []);
    }

    #[test]
    fn codes_and_outcomes_are_numbered_in_order() {
        for (index, code) in ErrorCode::ALL.iter().enumerate() {
            assert_eq!(*code as usize, index);
        }
        for (index, end) in CountedEnd::ALL.iter().enumerate() {
            assert_eq!(end.index(), index);
        }
        for (index, kind) in CallKind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, index);
        }
    }
}
