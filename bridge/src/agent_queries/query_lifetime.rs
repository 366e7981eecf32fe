//! The signals of a query outside its realm: that it has ended, and that its page is attached
//! again.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// A handle to the signals of one query. Clones refer to the same query.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueryLifetime {
    /// Cancelled when the query has ended.
    pub(super) ended: CancellationToken,
    /// Cancelled when the query has ended and its agent is being notified.
    pub(super) agent_cancelled: CancellationToken,
    /// The requests of the agent that have not been answered completely.
    requests: TaskTracker,
    /// Notified when the page of the query is attached again.
    pub(super) page_attached: Arc<Notify>,
}

impl QueryLifetime {
    /// Marks a request of the agent as running while the returned token is held.
    pub(crate) fn track_request(&self) -> TaskTrackerToken {
        self.requests.token()
    }

    /// Returns a child token that is cancelled when the query ends. Cancelling it has no effect on
    /// the query.
    pub(crate) fn ended_token(&self) -> CancellationToken {
        self.ended.child_token()
    }

    /// Resolves when the page is attached after this function was called, or when the query ends.
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

    /// Resolves when the query has ended and all requests of its agent are answered.
    pub(crate) async fn drained(&self) {
        self.ended.cancelled().await;
        self.requests.close();
        self.requests.wait().await;
    }
}
