//! The directories that implement the port, in one test binary.

#![allow(clippy::unwrap_used)]

mod contract;
mod in_memory;
#[cfg(target_os = "linux")]
mod nats;
