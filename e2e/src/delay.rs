//! The passing of time in a schedule of faults over real sockets.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Lets the time of a schedule pass. It is never used to wait for something to have happened.
pub(crate) async fn delay(span: Duration) {
    sleep_until(Instant::now() + span).await;
}
