//! The deadline for everything that a test waits for.

use std::fmt::Display;
use std::time::Duration;

/// The maximum duration of a wait; only a broken program exceeds it.
const DEADLINE: Duration = Duration::from_secs(20);

/// Waits for something that must happen, and panics after 20 s with a message that contains `what`.
pub async fn with_deadline<T>(what: impl Display, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future)
        .await
        .unwrap_or_else(|_| panic!("waited {DEADLINE:?} for {what}"))
}
