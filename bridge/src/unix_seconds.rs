//! The time of the system's clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the seconds since 1970.
pub(crate) fn unix_seconds() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}
