//! Pages that do nothing, by the thousand: what each costs a bridge, and what it costs the others.
//!
//! The program `idle` prints the figures of `docs/benchmarks.md`. Its pages are one process of raw
//! sockets, so that most of a core is left for the bridge; calls that are timed have a thread of their
//! own beside them.

mod beside;
mod caller;
mod crowd;
mod definitions;
mod descriptors;
mod page;
mod registering;
mod resting;
mod server;
mod steady;

pub use beside::{Beside, beside};
pub use crowd::Spread;
pub use definitions::Sets;
pub use descriptors::room_for;
pub use registering::{Near, Registering, registering};
pub use resting::{Resting, resting};
pub use server::Target;
pub use steady::Times;

pub(crate) use caller::{Caller, Pace};
pub(crate) use crowd::Crowd;
pub(crate) use definitions::registration;
pub(crate) use page::Page;
pub(crate) use server::Server;
pub(crate) use steady::steady;

/// What each of `n` has of a total.
pub(crate) fn per(total: u64, n: usize) -> f64 {
    total as f64 / n.max(1) as f64
}
