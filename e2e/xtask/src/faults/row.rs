//! A row of the table of faults.

use std::fmt;

/// A row with a number of servers of NATS.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row {
    pub(super) test: String,
    pub(super) nats_servers: usize,
}

impl fmt::Display for Row {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} (NATS {})", self.test, self.nats_servers)
    }
}
