//! The number of files that the process may open. Each connection is one.

use rlimit::{Resource, increase_nofile_limit};

/// Raises the soft limit of open files to the hard limit. The soft limit is often 1,024, for the
/// sake of programs that use `select`, and a server with that limit stops accepting connections
/// long before it has the maximum number of them. Does nothing on Windows, which has no such limit.
pub fn raise_open_file_limit() {
    let before = Resource::NOFILE.get_soft().ok();
    match increase_nofile_limit(u64::MAX) {
        Ok(limit) => tracing::debug!(before, limit, "the limit of open files"),
        Err(error) => tracing::warn!(%error, "the limit of open files cannot be raised"),
    }
}
