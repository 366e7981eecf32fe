//! Limits the lines about what other nodes and the directory do wrong.

use tokio::time::Instant;

use crate::lifecycle::LineLimit;

/// The maximum number of lines of each kind in a second. Such errors come with each request or renewal.
const MAX_LINES_PER_SECOND: u32 = 1;

/// The limit of each kind of line.
#[derive(Debug)]
pub(super) struct LogLimits {
    invalid_records: LineLimit,
    refusals: LineLimit,
}

impl Default for LogLimits {
    fn default() -> Self {
        Self {
            invalid_records: LineLimit::new(MAX_LINES_PER_SECOND),
            refusals: LineLimit::new(MAX_LINES_PER_SECOND),
        }
    }
}

impl LogLimits {
    /// Logs that a record was not written by a node of this cluster.
    pub(super) fn log_invalid_record(&self) {
        if let Some(suppressed) = self.invalid_records.next_line(Instant::now()) {
            tracing::warn!(
                suppressed,
                "a record in NATS was not written with `cluster_secret`, and is ignored: check the \
                 secrets of all bridges, and who else may write to their buckets"
            );
        }
    }

    /// Logs that another node has not accepted that a request comes from this one.
    pub(super) fn log_refusal(&self, address: &str) {
        if let Some(suppressed) = self.refusals.next_line(Instant::now()) {
            tracing::error!(
                address,
                suppressed,
                "another bridge refuses the requests of this one, its log says why: check the clocks \
                 and `cluster_secret` of both"
            );
        }
    }
}
