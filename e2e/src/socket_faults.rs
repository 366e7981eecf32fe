//! Schedules of faults over real sockets: a real bridge, the SDK's core on a real WebSocket, real
//! callers, and between page and bridge a proxy that breaks what passes through it.
//!
//! The seed decides what happens and when; the machine decides how fast. So a schedule is repeated
//! by its seed, but not to the letter: that is what [`simulation`](crate::simulation) is for. What is
//! promised is the same.

mod callers;
mod invariants;
mod page;
mod proxy;
mod schedule;

pub use schedule::{SocketSummary, run};
