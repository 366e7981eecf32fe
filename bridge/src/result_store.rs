//! The results of calls that continue in the background, and of calls whose result was too large
//! for the client. A result is stored under a handle until a caller with the same token fetches it
//! or until it expires.
//!
//! [`retention`] decides what is stored and what is evicted; this module adds the clock, the tasks
//! and the channels on which callers wait for a result.

mod retention;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bridge_protocol::{CallId, ErrorCode, QueryId};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::budget::Party;
use crate::config::Results;
use bridge_auth::RealmId;
use bridge_mcp_results::tool_result::CallToolResult;
use bridge_realm::realm::CallFailure;
use retention::{RetentionLimits, RetentionState};

pub(crate) use retention::{ResultHandle, StoreFull};

/// Stores results under handles, for the callers of each realm.
#[derive(Debug)]
pub(crate) struct ResultStore {
    retention: Mutex<RetentionState<RealmId, StoredResult>>,
    limits: RetentionLimits,
    /// The calls in the background, and the task that removes expired results.
    tasks: TaskTracker,
    stopping: CancellationToken,
    expiry_scheduled: Notify,
}

/// A call that continues without its caller.
#[derive(Clone, Debug)]
pub(crate) struct BackgroundCall {
    /// The name of the tool, for messages.
    pub(crate) tool: String,
    pub(crate) call: CallId,
    pub(crate) started: tokio::time::Instant,
}

/// The entry that is stored under a handle.
#[derive(Clone, Debug)]
pub(crate) struct StoredResult {
    /// The name of the tool, for messages.
    pub(crate) tool: String,
    /// The call in the page, if it was running when it was stored.
    pub(crate) call: Option<CallId>,
    pub(crate) started: tokio::time::Instant,
    /// The query whose agent made the call.
    query: Option<QueryId>,
    receiver: watch::Receiver<Option<Arc<CallToolResult>>>,
}

impl StoredResult {
    /// Whether the agent of this query made the call.
    pub(crate) fn is_from_query(&self, query: &QueryId) -> bool {
        self.query.as_ref() == Some(query)
    }

    /// The result, if the call has ended.
    pub(crate) fn try_result(&self) -> Option<Arc<CallToolResult>> {
        self.receiver.borrow().clone()
    }

    /// Waits until the call has ended, and returns its result.
    pub(crate) async fn wait(&mut self) -> Arc<CallToolResult> {
        let result = self.receiver.wait_for(Option::is_some).await;
        match result.as_deref() {
            Ok(Some(result)) => Arc::clone(result),
            _ => Arc::new(result_lost(&self.tool)),
        }
    }
}

/// The reserved entry for the result of a call in the background. Dropping it without a result
/// completes the entry as lost.
#[derive(Debug)]
pub(crate) struct PendingResult {
    store: Arc<ResultStore>,
    realm: RealmId,
    handle: ResultHandle,
    tool: String,
    sender: watch::Sender<Option<Arc<CallToolResult>>>,
    completed: bool,
}

impl PendingResult {
    pub(crate) fn handle(&self) -> &ResultHandle {
        &self.handle
    }

    /// Stores the result of the call, which has this encoded size in bytes.
    pub(crate) fn complete(mut self, result: CallToolResult, bytes: usize) {
        let max_bytes = self.store.limits.bytes_per_owner();
        let (result, bytes) = if bytes > max_bytes {
            (result_too_large(&self.tool, bytes, max_bytes), 0)
        } else {
            (result, bytes)
        };
        self.mark_completed(bytes);
        self.sender.send_replace(Some(Arc::new(result)));
    }

    fn mark_completed(&mut self, bytes: usize) {
        self.completed = true;
        self.store.update(|retention, now| {
            retention.complete(self.realm, &self.handle, bytes, now);
        });
    }
}

impl Drop for PendingResult {
    fn drop(&mut self) {
        if !self.completed {
            // An entry without a result expires like one with a result.
            self.mark_completed(0);
        }
    }
}

impl ResultStore {
    /// Creates an empty store and spawns the task that removes expired results: call it within a
    /// tokio runtime.
    pub(crate) fn new(config: &Results) -> Arc<Self> {
        let limits = RetentionLimits {
            per_owner: config.max_kept_results,
            bytes: config.max_kept_bytes,
            ttl: config.result_ttl,
        };
        let store = Arc::new(Self {
            retention: Mutex::new(RetentionState::new(limits)),
            limits,
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
            expiry_scheduled: Notify::new(),
        });
        store.tasks.spawn(run_expiry(Arc::clone(&store)));
        store
    }

    /// Reserves an entry for the result of a call that continues in the background, whose bytes
    /// count for this party. `None` if the realm has as many calls running as it may store. `query` is the query whose agent made the
    /// call.
    pub(crate) fn reserve(
        self: &Arc<Self>,
        party: Party<RealmId>,
        query: Option<QueryId>,
        call: BackgroundCall,
    ) -> Option<PendingResult> {
        let (sender, receiver) = watch::channel(None);
        let handle = ResultHandle::random();
        let tool = call.tool;
        let stored = StoredResult {
            tool: tool.clone(),
            call: Some(call.call),
            started: call.started,
            query,
            receiver,
        };
        self.update(|retention, now| retention.insert_pending(party, handle.clone(), stored, now))
            .ok()?;
        Some(PendingResult {
            store: Arc::clone(self),
            realm: party.member,
            handle,
            tool,
            sender,
            completed: false,
        })
    }

    /// Stores a result of this encoded size in bytes, which count for this party. `query` is the query whose agent made the
    /// call.
    pub(crate) fn insert(
        &self,
        party: Party<RealmId>,
        query: Option<QueryId>,
        tool: &str,
        result: Arc<CallToolResult>,
        bytes: usize,
    ) -> Result<ResultHandle, StoreFull> {
        let handle = ResultHandle::random();
        let stored = StoredResult {
            tool: tool.to_owned(),
            call: None,
            started: tokio::time::Instant::now(),
            query,
            receiver: watch::channel(Some(result)).1,
        };
        self.update(|retention, now| retention.insert(party, handle.clone(), stored, bytes, now))?;
        Ok(handle)
    }

    /// Returns what is stored under a handle of this realm.
    pub(crate) fn find(&self, realm: RealmId, handle: &str) -> Option<StoredResult> {
        self.update(|retention, now| retention.find(realm, handle, now).cloned())
    }

    /// Whether results of a realm are stored, or its calls run in the background.
    pub(crate) fn has_realm(&self, realm: RealmId) -> bool {
        self.lock().has_owner(&realm)
    }

    /// Removes everything that is stored for a realm.
    pub(crate) fn remove_realm(&self, realm: RealmId) {
        self.lock().remove_owner(realm);
    }

    /// The bytes of all results.
    pub(crate) fn bytes(&self) -> usize {
        self.lock().bytes()
    }

    /// Spawns the task of a call in the background. It must end when the bridge stops.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// Waits until the calls in the background have ended.
    pub(crate) async fn stop(&self) {
        self.stopping.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn update<T>(
        &self,
        event: impl FnOnce(&mut RetentionState<RealmId, StoredResult>, Instant) -> T,
    ) -> T {
        let now = tokio::time::Instant::now().into_std();
        let (outcome, is_earlier) = {
            let mut retention = self.lock();
            let due = retention.next_expiry();
            let outcome = event(&mut retention, now);
            (outcome, due.is_none() && retention.next_expiry().is_some())
        };
        if is_earlier {
            self.expiry_scheduled.notify_one();
        }
        outcome
    }

    fn lock(&self) -> MutexGuard<'_, RetentionState<RealmId, StoredResult>> {
        self.retention
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes expired results until the bridge stops.
async fn run_expiry(store: Arc<ResultStore>) {
    loop {
        let due = store.lock().next_expiry();
        let expiry = async {
            match due {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = store.stopping.cancelled() => return,
            () = expiry => {}
            () = store.expiry_scheduled.notified() => {}
        }
        store.lock().expire(tokio::time::Instant::now().into_std());
    }
}

fn result_too_large(tool: &str, bytes: usize, max_bytes: usize) -> CallToolResult {
    CallToolResult::from_failure(&CallFailure::new(
        ErrorCode::ResultTooLarge,
        format!(
            "`{tool}` has ended, but its result of {bytes} bytes cannot be kept: the results of one \
             token may have {max_bytes}, half of `max_kept_bytes`. Ask for less, or raise it"
        ),
    ))
}

fn result_lost(tool: &str) -> CallToolResult {
    CallToolResult::from_failure(&CallFailure::new(
        ErrorCode::InternalError,
        format!(
            "the result of `{tool}` was lost in the bridge, and the page may have done what it \
             does: if that changes anything, look whether it did before you call it again"
        ),
    ))
}
