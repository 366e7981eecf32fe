//! Calls that go on without their caller, and results that were too large for it: kept under a
//! handle, until somebody with the same token asks for them or their time is over.
//!
//! [`shelf`] knows what is kept and what must go; this module adds the clock, the tasks and those
//! who wait for a result.

mod shelf;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bridge_protocol::{CallId, ErrorCode, QueryId};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth::RealmId;
use crate::config::Results;
use crate::realm::Failure;
use crate::result::ToolResult;
use shelf::{Limits, Shelf};

pub(crate) use shelf::{Handle, NoRoom};

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Kept {
    shelf: Mutex<Shelf<RealmId, Record>>,
    limits: Limits,
    /// The calls that go on, and the one that throws away what is too old.
    tasks: TaskTracker,
    stopping: CancellationToken,
    earlier: Notify,
}

/// A call that goes on without its caller.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    /// For people.
    pub(crate) tool: String,
    pub(crate) call: CallId,
    pub(crate) started: tokio::time::Instant,
}

/// What lies under a handle.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// The tool, for people.
    pub(crate) tool: String,
    /// The call in the page, if it was under way when it came here.
    pub(crate) call: Option<CallId>,
    pub(crate) started: tokio::time::Instant,
    /// The query whose agent made the call.
    query: Option<QueryId>,
    result: watch::Receiver<Option<Arc<ToolResult>>>,
}

impl Record {
    /// Whether the agent of this query made the call.
    pub(crate) fn is_of(&self, query: &QueryId) -> bool {
        self.query.as_ref() == Some(query)
    }

    /// The result, if it is there.
    pub(crate) fn ended(&self) -> Option<Arc<ToolResult>> {
        self.result.borrow().clone()
    }

    /// The result, when it is there.
    pub(crate) async fn result(&mut self) -> Arc<ToolResult> {
        let result = self.result.wait_for(Option::is_some).await;
        match result.as_deref() {
            Ok(Some(result)) => Arc::clone(result),
            _ => Arc::new(lost(&self.tool)),
        }
    }
}

/// Where a call that goes on will leave its result.
#[derive(Debug)]
pub(crate) struct Place {
    kept: Arc<Kept>,
    realm: RealmId,
    handle: Handle,
    tool: String,
    result: watch::Sender<Option<Arc<ToolResult>>>,
    settled: bool,
}

impl Place {
    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// The call is over. `bytes`: the size of its result.
    pub(crate) fn end(mut self, result: ToolResult, bytes: usize) {
        let most = self.kept.limits.bytes;
        let (result, bytes) = if bytes > most {
            (unkeepable(&self.tool, bytes, most), 0)
        } else {
            (result, bytes)
        };
        self.settle(bytes);
        self.result.send_replace(Some(Arc::new(result)));
    }

    fn settle(&mut self, bytes: usize) {
        self.settled = true;
        self.kept.change(|shelf, now| {
            shelf.ended(self.realm, &self.handle, bytes, now);
        });
    }
}

/// A call that was given up has a place no longer than a result.
impl Drop for Place {
    fn drop(&mut self) {
        if !self.settled {
            self.settle(0);
        }
    }
}

impl Kept {
    /// Must be called within a runtime: what is too old goes by itself.
    pub(crate) fn new(config: &Results) -> Arc<Self> {
        let limits = Limits {
            per_owner: config.max_kept_results,
            bytes: config.max_kept_bytes,
            ttl: config.result_ttl,
        };
        let kept = Arc::new(Self {
            shelf: Mutex::new(Shelf::new(limits)),
            limits,
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
            earlier: Notify::new(),
        });
        kept.tasks.spawn(throw_away(Arc::clone(&kept)));
        kept
    }

    /// A place for the result of a call whose caller does not wait. `None` when the token has as
    /// many calls going on as may be kept. `query`: the one that the call is made for.
    pub(crate) fn place(
        self: &Arc<Self>,
        realm: RealmId,
        query: Option<QueryId>,
        call: Running,
    ) -> Option<Place> {
        let (result, waiting) = watch::channel(None);
        let handle = Handle::random();
        let tool = call.tool;
        let record = Record {
            tool: tool.clone(),
            call: Some(call.call),
            started: call.started,
            query,
            result: waiting,
        };
        self.change(|shelf, now| shelf.started(realm, handle.clone(), record, now))
            .ok()?;
        Some(Place {
            kept: Arc::clone(self),
            realm,
            handle,
            tool,
            result,
            settled: false,
        })
    }

    /// Keeps a result. `bytes`: its size. `query`: the one that the call was made for.
    pub(crate) fn keep(
        &self,
        realm: RealmId,
        query: Option<QueryId>,
        tool: &str,
        result: Arc<ToolResult>,
        bytes: usize,
    ) -> Result<Handle, NoRoom> {
        let handle = Handle::random();
        let record = Record {
            tool: tool.to_owned(),
            call: None,
            started: tokio::time::Instant::now(),
            query,
            result: watch::channel(Some(result)).1,
        };
        self.change(|shelf, now| shelf.kept(realm, handle.clone(), record, bytes, now))?;
        Ok(handle)
    }

    /// What lies under a handle of this token.
    pub(crate) fn find(&self, realm: RealmId, handle: &str) -> Option<Record> {
        self.change(|shelf, now| shelf.find(realm, handle, now).cloned())
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

    fn change<T>(&self, event: impl FnOnce(&mut Shelf<RealmId, Record>, Instant) -> T) -> T {
        let now = tokio::time::Instant::now().into_std();
        let (outcome, is_earlier) = {
            let mut shelf = self.lock();
            let due = shelf.next_expiry();
            let outcome = event(&mut shelf, now);
            (outcome, due.is_none() && shelf.next_expiry().is_some())
        };
        if is_earlier {
            self.earlier.notify_one();
        }
        outcome
    }

    fn lock(&self) -> MutexGuard<'_, Shelf<RealmId, Record>> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Until the bridge stops.
async fn throw_away(kept: Arc<Kept>) {
    loop {
        let due = kept.lock().next_expiry();
        let expiry = async {
            match due {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = kept.stopping.cancelled() => return,
            () = expiry => {}
            () = kept.earlier.notified() => {}
        }
        kept.lock().expire(tokio::time::Instant::now().into_std());
    }
}

fn unkeepable(tool: &str, bytes: usize, most: usize) -> ToolResult {
    ToolResult::failure(&Failure::new(
        ErrorCode::ResultTooLarge,
        format!(
            "`{tool}` has ended, but its result of {bytes} bytes cannot be kept, {most} is the \
             limit: ask for less, or raise `max_kept_bytes`"
        ),
    ))
}

fn lost(tool: &str) -> ToolResult {
    ToolResult::failure(&Failure::new(
        ErrorCode::InternalError,
        format!("the result of `{tool}` was lost in the bridge: call it again"),
    ))
}
