//! Seeded schedules of faults. The seed of a failing one is printed: run it alone, with all that
//! happens in it, by `MCP_WEB_FAULT_SEED=… cargo test -p e2e --test faults simulated`, or with `MCP_WEB_SOCKET_FAULT_SEED`
//! and `sockets`.
#![allow(clippy::unwrap_used)]

mod simulated;
mod sockets;
