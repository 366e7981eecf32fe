//! What lives as long as a query, beside what its realm knows.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// See the module documentation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Life {
    pub(super) over: CancellationToken,
    /// It is, and its agent is being told so.
    pub(super) stopped: CancellationToken,
    /// What its agent has asked and has not been answered in full.
    requests: TaskTracker,
    /// Its page is back.
    pub(super) has_page: Arc<Notify>,
}

impl Life {
    /// Held while a request of the agent is answered.
    pub(crate) fn request(&self) -> TaskTrackerToken {
        self.requests.token()
    }

    /// Cancelled when the query is over. Whoever cancels it cancels nothing else.
    pub(crate) fn over(&self) -> CancellationToken {
        self.over.child_token()
    }

    /// Resolves when its page is back after this was called, or the query is over.
    pub(crate) fn page_or_end(&self) -> impl Future<Output = ()> {
        let back = Arc::clone(&self.has_page).notified_owned();
        let over = self.over();
        async move {
            tokio::select! {
                () = back => {}
                () = over.cancelled() => {}
            }
        }
    }

    /// Resolves when the query is over and its agent has all its answers.
    pub(crate) async fn end(&self) {
        self.over.cancelled().await;
        self.requests.close();
        self.requests.wait().await;
    }
}
