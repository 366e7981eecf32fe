//! Schedules of faults over real sockets: a real bridge, the SDK's core on a real WebSocket, real
//! callers, and a proxy between page and bridge that breaks connections.
//!
//! The seed decides what happens and when; the machine decides how fast. A seed therefore repeats a
//! schedule, but not exactly: [`simulation`](crate::simulation) does. The guarantees are the same.

mod callers;
mod delay;
mod invariants;
mod page;
mod proxy;
mod schedule;

pub use schedule::{SocketSummary, run};
