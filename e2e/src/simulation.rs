//! Schedules of faults over the two state machines of the page socket, without sockets.
//!
//! The bridge's realm and the SDK's core meet on a simulated network and exchange real frames. A
//! seed determines everything: when each call is made, how long each frame takes, when a connection
//! breaks and after which byte, which side notices the break and when, when the bridge crashes,
//! when a tab freezes, reloads or is taken over, and when tokens expire. Time is virtual: a
//! schedule of minutes runs in milliseconds.
//!
//! The module `invariants` compares what happens with the guarantees:
//! - no call is executed twice, whatever is sent again;
//! - each call ends exactly once for its caller;
//! - a call that ended before its page started it is not executed later;
//! - when the faults are over, every page that was not taken over reconnects and answers calls;
//! - when all tabs are closed, no state is left in the bridge.

mod event_queue;
mod invariants;
mod summary;
mod world;

pub use summary::Summary;

/// Runs the schedule of a seed. With `trace`, every event is printed.
///
/// # Panics
/// Panics when an invariant does not hold.
pub fn run(seed: u64, trace: bool) -> Summary {
    world::World::new(seed, trace).run()
}
