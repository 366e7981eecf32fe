//! The pause between two looks at something that sends no event.

use std::time::Duration;

/// Short beside what is waited for, and long beside a request to a bridge.
const POLL_PAUSE: Duration = Duration::from_millis(10);

/// Waits for a moment between two looks at something that sends no event. Looks without a pause would
/// take the processor from what they wait for.
pub async fn poll_pause() {
    tokio::time::sleep(POLL_PAUSE).await; // sleep: a poll's pause
}
