//! Calls that go on without their caller, and results that were too large for it: kept under a
//! handle, until somebody with the same token asks for them or their time is over.
//!
//! [`shelf`] knows what is kept and what must go; this module adds the clock, the tasks and those
//! who wait for a result.

mod retention;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bridge_protocol::{CallId, ErrorCode, QueryId};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Results;
use crate::results::tool_result::ToolResult;
use bridge_auth::RealmId;
use bridge_realm::realm::CallFailure;
use retention::{RetentionLimits, RetentionState};

pub(crate) use retention::{ResultHandle, StoreFull};

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct ResultStore {
    retention: Mutex<RetentionState<RealmId, StoredResult>>,
    limits: RetentionLimits,
    /// The calls that go on, and the one that throws away what is too old.
    tasks: TaskTracker,
    stopping: CancellationToken,
    expiry_scheduled: Notify,
}

/// A call that goes on without its caller.
#[derive(Clone, Debug)]
pub(crate) struct BackgroundCall {
    /// For people.
    pub(crate) tool: String,
    pub(crate) call: CallId,
    pub(crate) started: tokio::time::Instant,
}

/// What lies under a handle.
#[derive(Clone, Debug)]
pub(crate) struct StoredResult {
    /// The tool, for people.
    pub(crate) tool: String,
    /// The call in the page, if it was under way when it came here.
    pub(crate) call: Option<CallId>,
    pub(crate) started: tokio::time::Instant,
    /// The query whose agent made the call.
    query: Option<QueryId>,
    receiver: watch::Receiver<Option<Arc<ToolResult>>>,
}

impl StoredResult {
    /// Whether the agent of this query made the call.
    pub(crate) fn is_from_query(&self, query: &QueryId) -> bool {
        self.query.as_ref() == Some(query)
    }

    /// The result, if it is there.
    pub(crate) fn try_result(&self) -> Option<Arc<ToolResult>> {
        self.receiver.borrow().clone()
    }

    /// The result, when it is there.
    pub(crate) async fn result(&mut self) -> Arc<ToolResult> {
        let result = self.receiver.wait_for(Option::is_some).await;
        match result.as_deref() {
            Ok(Some(result)) => Arc::clone(result),
            _ => Arc::new(result_lost(&self.tool)),
        }
    }
}

/// Where a call that goes on will leave its result.
#[derive(Debug)]
pub(crate) struct PendingResult {
    store: Arc<ResultStore>,
    realm: RealmId,
    handle: ResultHandle,
    tool: String,
    result: watch::Sender<Option<Arc<ToolResult>>>,
    completed: bool,
}

impl PendingResult {
    pub(crate) fn handle(&self) -> &ResultHandle {
        &self.handle
    }

    /// The call is over. `bytes`: the size of its result.
    pub(crate) fn complete(mut self, result: ToolResult, bytes: usize) {
        let most = self.store.limits.bytes;
        let (result, bytes) = if bytes > most {
            (result_too_large(&self.tool, bytes, most), 0)
        } else {
            (result, bytes)
        };
        self.mark_completed(bytes);
        self.result.send_replace(Some(Arc::new(result)));
    }

    fn mark_completed(&mut self, bytes: usize) {
        self.completed = true;
        self.store.update(|shelf, now| {
            shelf.complete(self.realm, &self.handle, bytes, now);
        });
    }
}

/// A call that was given up has a place no longer than a result.
impl Drop for PendingResult {
    fn drop(&mut self) {
        if !self.completed {
            self.mark_completed(0);
        }
    }
}

impl ResultStore {
    /// Must be called within a runtime: what is too old goes by itself.
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

    /// A place for the result of a call whose caller does not wait. `None` when the token has as
    /// many calls going on as may be kept. `query`: the one that the call is made for.
    pub(crate) fn reserve(
        self: &Arc<Self>,
        realm: RealmId,
        query: Option<QueryId>,
        call: BackgroundCall,
    ) -> Option<PendingResult> {
        let (result, receiver) = watch::channel(None);
        let handle = ResultHandle::random();
        let tool = call.tool;
        let stored = StoredResult {
            tool: tool.clone(),
            call: Some(call.call),
            started: call.started,
            query,
            receiver,
        };
        self.update(|shelf, now| shelf.insert_pending(realm, handle.clone(), stored, now))
            .ok()?;
        Some(PendingResult {
            store: Arc::clone(self),
            realm,
            handle,
            tool,
            result,
            completed: false,
        })
    }

    /// Keeps a result. `bytes`: its size. `query`: the one that the call was made for.
    pub(crate) fn insert(
        &self,
        realm: RealmId,
        query: Option<QueryId>,
        tool: &str,
        result: Arc<ToolResult>,
        bytes: usize,
    ) -> Result<ResultHandle, StoreFull> {
        let handle = ResultHandle::random();
        let record = StoredResult {
            tool: tool.to_owned(),
            call: None,
            started: tokio::time::Instant::now(),
            query,
            receiver: watch::channel(Some(result)).1,
        };
        self.update(|shelf, now| shelf.insert(realm, handle.clone(), record, bytes, now))?;
        Ok(handle)
    }

    /// What lies under a handle of this token.
    pub(crate) fn find(&self, realm: RealmId, handle: &str) -> Option<StoredResult> {
        self.update(|shelf, now| shelf.find(realm, handle, now).cloned())
    }

    /// Runs what goes on without its caller. It must end when the bridge stops.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// The bridge stops: comes back when the calls that went on have ended.
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
            let mut shelf = self.lock();
            let due = shelf.next_expiry();
            let outcome = event(&mut shelf, now);
            (outcome, due.is_none() && shelf.next_expiry().is_some())
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

/// Until the bridge stops.
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

fn result_too_large(tool: &str, bytes: usize, most: usize) -> ToolResult {
    ToolResult::from_failure(&CallFailure::new(
        ErrorCode::ResultTooLarge,
        format!(
            "`{tool}` has ended, but its result of {bytes} bytes cannot be kept, {most} is the \
             limit: ask for less, or raise `max_kept_bytes`"
        ),
    ))
}

fn result_lost(tool: &str) -> ToolResult {
    ToolResult::from_failure(&CallFailure::new(
        ErrorCode::InternalError,
        format!("the result of `{tool}` was lost in the bridge: call it again"),
    ))
}
