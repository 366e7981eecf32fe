//! The counts of a run of schedules.

use std::ops::AddAssign;

/// Counts of what happened in schedules, which show how much a run has covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Schedules that were run.
    pub schedules: u64,
    /// Calls that were made.
    pub calls: u64,
    /// Calls that ended with a result.
    pub answered: u64,
    /// Handlers that were started.
    pub executed: u64,
    /// Calls that another document continued.
    pub continued: u64,
    /// Faults that were injected.
    pub faults: u64,
    /// Frames that arrived.
    pub frames: u64,
    /// Connections that were opened.
    pub connections: u64,
}

impl AddAssign for Summary {
    fn add_assign(&mut self, other: Self) {
        self.schedules += other.schedules;
        self.calls += other.calls;
        self.answered += other.answered;
        self.executed += other.executed;
        self.continued += other.continued;
        self.faults += other.faults;
        self.frames += other.frames;
        self.connections += other.connections;
    }
}
