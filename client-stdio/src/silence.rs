//! Recognizes a connection that stays open although nothing arrives on it any more.
//!
//! The bridge begins each answer within two seconds and sends a comment in a stream every four. Once
//! such a comment has arrived, a longer silence means that the connection is dead: the bridge hangs,
//! or the network between has dropped the connection without a word. A server that sends no comments
//! is waited for without a limit, and so is a bridge before its first comment: a proxy between may
//! hold comments back until the answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The limit of silence at one URL. Clones share what is known of the bridge there, which a restart
/// does not change.
#[derive(Debug, Clone)]
pub(crate) struct SilenceLimit {
    limit: Duration,
    /// Whether a comment has arrived.
    sends_comments: Arc<AtomicBool>,
}

impl SilenceLimit {
    pub(crate) fn new(limit: Duration) -> Self {
        Self {
            limit,
            sends_comments: Arc::default(),
        }
    }

    /// Returns the longest silence of a bridge that sends comments.
    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    /// Records a chunk that begins a line of an event stream. The bridge sends a comment as a separate
    /// chunk. A comment in one chunk with an event may be one that a proxy has held back.
    pub(crate) fn record(&self, chunk: &[u8]) {
        let mut lines = chunk.split(|byte| matches!(byte, b'\r' | b'\n'));
        let has_comment = chunk.contains(&b':');
        if has_comment && lines.all(|line| line.is_empty() || line.starts_with(b":")) {
            self.sends_comments.store(true, Ordering::Relaxed);
        }
    }

    /// Waits for something from the bridge. Returns `None` after a silence of this length, if the
    /// bridge sends comments. This method is cancel safe if the future is.
    pub(crate) async fn within<T>(
        &self,
        limit: Duration,
        future: impl Future<Output = T>,
    ) -> Option<T> {
        tokio::pin!(future);
        loop {
            match tokio::time::timeout(limit, &mut future).await {
                Ok(output) => return Some(output),
                Err(_) if self.sends_comments.load(Ordering::Relaxed) => return None,
                Err(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn only_a_bridge_that_sends_comments_has_a_limit() {
        let silence = SilenceLimit::new(LIMIT);
        for chunk in [
            "",
            "\n",
            "data: :\n\n",
            ":\n\ndata: 1\n\n",
            ": keepalive\r\n\r\n:\r\n\r\nid: 1\r\n\r\n",
        ] {
            silence.record(chunk.as_bytes());
        }
        let (after, started) = (10 * LIMIT, Instant::now());
        assert!(silence.within(LIMIT, sleep(after)).await.is_some());
        assert_eq!(started.elapsed(), after);
        silence.clone().record(b":\n\n");
        let started = Instant::now();
        assert!(silence.within(LIMIT, sleep(after)).await.is_none());
        assert_eq!(started.elapsed(), LIMIT);
        assert!(silence.within(LIMIT, sleep(LIMIT / 2)).await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_comment_in_another_stream_counts_for_a_wait_that_has_begun() {
        let silence = SilenceLimit::new(LIMIT);
        let comment = async {
            sleep(LIMIT / 2).await;
            silence.record(b": keepalive\n\n");
        };
        let started = Instant::now();
        let waiting = silence.within(LIMIT, std::future::pending::<()>());
        let (outcome, ()) = tokio::join!(waiting, comment);
        assert!(outcome.is_none());
        assert_eq!(started.elapsed(), LIMIT);
    }
}
