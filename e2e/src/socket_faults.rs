//! Schedules of faults over real sockets: a real bridge, the SDK's core on a real WebSocket, real
//! callers, and a proxy between page and bridge that breaks connections.
//!
//! The seed determines what happens and when; the machine determines how fast. A seed therefore
//! repeats a schedule only approximately, while [`simulation`](crate::simulation) repeats it
//! exactly. The guarantees are the same.

mod callers;
mod invariants;
mod page;
mod proxy;
mod schedule;

pub use schedule::{SocketSummary, run};
