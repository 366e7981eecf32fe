//! What lives as long as a query, beside what its realm knows.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// See the module documentation.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueryLifetime {
    pub(super) ended: CancellationToken,
    /// It is, and its agent is being told so.
    pub(super) agent_cancelled: CancellationToken,
    /// What its agent has asked and has not been answered in full.
    requests: TaskTracker,
    /// Its page is back.
    pub(super) page_attached: Arc<Notify>,
}

impl QueryLifetime {
    /// Held while a request of the agent is answered.
    pub(crate) fn track_request(&self) -> TaskTrackerToken {
        self.requests.token()
    }

    /// Cancelled when the query is over. Whoever cancels it cancels nothing else.
    pub(crate) fn ended_token(&self) -> CancellationToken {
        self.ended.child_token()
    }

    /// Resolves when its page is back after this was called, or the query is over.
    pub(crate) fn page_attached_or_ended(&self) -> impl Future<Output = ()> {
        let attached = Arc::clone(&self.page_attached).notified_owned();
        let ended = self.ended_token();
        async move {
            tokio::select! {
                () = attached => {}
                () = ended.cancelled() => {}
            }
        }
    }

    /// Resolves when the query is over and its agent has all its answers.
    pub(crate) async fn drained(&self) {
        self.ended.cancelled().await;
        self.requests.close();
        self.requests.wait().await;
    }
}
