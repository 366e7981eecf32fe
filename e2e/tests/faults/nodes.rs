//! Faults of several bridges that serve as one, under load. Each test is a row of the table of `cargo xtask
//! faults`, which runs them often and with three servers of NATS.

mod claims;
mod cuts;
mod drains;
mod kills;
mod nats;
mod stops;

/// The endings of calls when the connection to the owner or to the entry was lost.
const LOST: [&str; 3] = ["502 NodeLost", "reset", "stream ended"];
