//! The one deadline of the journeys.

use std::fmt::Display;
use std::time::Duration;

/// Long enough for a cold Chromium on a busy machine with two cores.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// Waits for `event` and fails the journey after [`DEADLINE`], saying what was awaited.
pub async fn with_deadline<T>(what: impl Display, event: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, event).await {
        Ok(value) => value,
        Err(_) => panic!("waited {} s for {what}", DEADLINE.as_secs()),
    }
}
