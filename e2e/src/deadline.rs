//! The deadline for everything that a test waits for.

use std::fmt::Display;
use std::time::Duration;

/// The longest time that a test waits for one event. It is long enough for a cold start of Chromium and
/// for results of 20 MB on a busy machine with two cores: the bridge computes long results with a low
/// priority.
pub const DEADLINE: Duration = Duration::from_secs(120);

/// Waits for `event`, and panics after [`DEADLINE`] with a message that contains `what`.
pub async fn with_deadline<T>(what: impl Display, event: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, event).await {
        Ok(value) => value,
        Err(_) => panic!("waited {} s for {what}", DEADLINE.as_secs()),
    }
}
