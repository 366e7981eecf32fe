//! Whole schedules of faults over the two state machines of the page socket, without sockets.
//!
//! The bridge's realm and the SDK's core meet on a simulated wire, with the real frames. A seed
//! decides everything: who calls when, how long each frame takes, when a line is cut and after
//! which byte, who notices and when, when the bridge crashes, a tab freezes, is reloaded or taken
//! over, when tokens end. Virtual time: a schedule of minutes runs in milliseconds.
//!
//! The [`Oracle`](oracle::Oracle) holds what happens against what is promised:
//! - no call is executed twice, whatever is sent again;
//! - each call has exactly one ending, at its caller;
//! - a call that ended before its page got to it is not executed later;
//! - when the faults are over, every page that was not taken over is connected again and answers;
//! - when everybody has left, nothing is left, on either side.

mod callers;
mod event_queue;
mod faults;
mod invariants;
mod network;
mod tab;
mod work;
mod world;

use std::ops::AddAssign;

/// What happened in schedules, so that a run can show that it was worth its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Schedules.
    pub schedules: u64,
    /// Calls that were made.
    pub calls: u64,
    /// Those that ended with a result.
    pub answered: u64,
    /// Handlers that were started.
    pub executed: u64,
    /// Faults.
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
        self.faults += other.faults;
        self.frames += other.frames;
        self.connections += other.connections;
    }
}

/// Runs the schedule of a seed. With `trace` all that happens is printed.
///
/// # Panics
/// When a promise is broken.
pub fn run(seed: u64, trace: bool) -> Summary {
    world::World::new(seed, trace).run()
}
