//! Pages that do nothing, by the thousand: what each costs a bridge, and what it costs the others.
//!
//! The program `idle` prints the figures of `docs/benchmarks.md`. Its pages are one process of raw
//! sockets, so that most of a core is left for the bridge.

mod beside;
mod bridge;
mod caller;
mod crowd;
mod definitions;
mod page;
mod registering;
mod resting;

pub use beside::beside;
pub use crowd::Spread;
pub use definitions::Sets;
pub use registering::registering;
pub use resting::resting;

pub(crate) use bridge::IdleBridge;
pub(crate) use caller::{Caller, Pace};
pub(crate) use crowd::Crowd;
pub(crate) use definitions::registration;
pub(crate) use page::Page;

/// What each of `n` has of a total.
pub(crate) fn per(total: u64, n: usize) -> f64 {
    total as f64 / n.max(1) as f64
}
