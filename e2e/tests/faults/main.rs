//! Seeded schedules of faults. A failure prints its seed. To run only that schedule, with a trace
//! of all events: `MCP_WEB_FAULT_SEED=… cargo test -p e2e --test faults simulated`, or
//! `MCP_WEB_SOCKET_FAULT_SEED=…` with `sockets`, which has no trace.
#![allow(clippy::unwrap_used)]

mod nodes;
mod simulated;
mod sockets;
