//! Runs work that would block the threads that serve sockets: parsing, validating, encoding and
//! measuring long JSON, and reading the definitions of pages.
//!
//! Tokens take turns, and the work of one token never occupies every thread
//! ([`fair_queue`](super::fair_queue)), so that the others wait for a single piece of it at most.
//! Short and long work have separate threads: however much long work there is, short work waits for
//! short work only. On Linux, all of them make way for the threads that serve sockets. Work waits
//! as text and not as a parsed value, which takes many times the memory.
//!
//! A long request is scanned once by the thread that has received it, so that it can be routed. For
//! that it needs a [`ScanTurn`], so that some of these threads always serve the other sockets.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use bridge_auth::RealmId;
use bridge_edge::lower_thread_priority;
use bridge_protocol::ErrorCode;
use bridge_realm::realm::CallFailure;
use tokio::runtime::{self, Handle, Runtime, RuntimeFlavor};
use tokio::sync::oneshot;
use tokio::task;

use super::fair_queue::{FairQueue, QueueFull, QueueLimits, Ticket};
use super::work_order::{INLINE_LIMIT, WorkLength, WorkOrder};

/// The maximum number of pieces of short work, and of long work, of one token that wait.
const MAX_WAITING: usize = 256;

/// The maximum size of the JSON of one token that waits in short work, and in long work, in bytes.
pub(crate) const MAX_WAITING_BYTES: usize = 64 * 1024 * 1024;

/// The maximum size of the JSON that waits in the work of all tokens, in bytes.
pub(crate) const MAX_WAITING_BYTES_OF_ALL: usize = 256 * 1024 * 1024;

/// Why work was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WorkError {
    /// Too much work waits: of the token, of its address or of all tokens.
    #[error(
        "the bridge has too much to validate and to convert: wait until other calls with this token \
         have ended, and retry"
    )]
    QueueFull,
    /// The work panicked.
    #[error("the bridge failed while it read the data: report this, and retry with less")]
    Panicked,
}

impl WorkError {
    /// The failure of a call whose page has answered, when the answer was not read.
    pub(crate) fn after_call(self) -> CallFailure {
        let (code, reason) = match self {
            // The call itself was not refused.
            WorkError::QueueFull => (
                ErrorCode::ResultTooLarge,
                "the answer of the page was not read, because the bridge has too much to validate \
                 and to convert",
            ),
            WorkError::Panicked => (
                ErrorCode::InternalError,
                "the bridge failed while it read the answer of the page: report this",
            ),
        };
        let message = format!(
            "{reason}. The call has run nevertheless: unless its tool only reads, look what has \
             changed before you call it again"
        );
        CallFailure::new(code, message)
    }
}

impl From<WorkError> for CallFailure {
    fn from(error: WorkError) -> Self {
        let code = match error {
            WorkError::QueueFull => ErrorCode::CallLimitExceeded,
            WorkError::Panicked => ErrorCode::InternalError,
        };
        CallFailure::new(code, error.to_string())
    }
}

/// The threads for work, and the work that waits for them. Clones share them.
#[derive(Clone)]
pub(crate) struct CpuPool {
    short: Arc<WorkQueue>,
    long: Arc<WorkQueue>,
    scans: Arc<WorkQueue>,
    threads: Arc<WorkThreads>,
}

/// The permit to scan a long text on a thread that serves sockets. It is not held over an await.
#[must_use]
pub(crate) struct ScanTurn {
    _permit: QueuedWork,
}

/// A job is the sender that grants its work a thread.
type JobQueue = FairQueue<RealmId, oneshot::Sender<()>>;

type WorkQueue = Mutex<JobQueue>;

impl CpuPool {
    /// Creates a pool for this machine. One token can use all its processors.
    pub(crate) fn new() -> Self {
        Self::with_processors(thread::available_parallelism().map_or(1, usize::from))
    }

    fn with_processors(processors: usize) -> Self {
        let queue = |workers: usize, share: usize| {
            Arc::new(Mutex::new(FairQueue::new(QueueLimits {
                workers,
                share,
                waiting: MAX_WAITING,
                waiting_bytes: MAX_WAITING_BYTES,
            })))
        };
        // Half of the threads that serve sockets.
        let scans = (processors / 2).max(1);
        Self {
            short: queue(processors + 1, processors),
            long: queue(processors + 1, processors),
            scans: queue(scans, scans),
            threads: Arc::new(WorkThreads::new(2 * (processors + 1))),
        }
    }

    /// Runs work when it is the token's turn. Dropping the future removes work that has not begun.
    ///
    /// The work must not wait for other work of the pool, which may need the thread that it has.
    ///
    /// # Errors
    ///
    /// Too much work of the token waits, or the work panicked.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        order: WorkOrder,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, WorkError> {
        let queue = self.queue(order.length);
        let queued = enqueue(queue, order.realm, order.bytes, FairQueue::try_push)?;
        self.threads.run(queued.wait().await, work).await
    }

    /// Waits until a text may be scanned on this thread. Returns `None` for a short text, which needs
    /// no turn.
    ///
    /// # Errors
    ///
    /// Too many texts of the token wait.
    pub(crate) async fn scan_turn(
        &self,
        realm: RealmId,
        bytes: usize,
    ) -> Result<Option<ScanTurn>, WorkError> {
        if bytes <= INLINE_LIMIT {
            return Ok(None);
        }
        let queued = enqueue(&self.scans, realm, bytes, FairQueue::try_push)?;
        Ok(Some(ScanTurn {
            _permit: queued.wait().await,
        }))
    }

    /// Runs work of which a token has a limited number of pieces anyway, such as one for each of
    /// its pages. It may wait beside any other work.
    ///
    /// # Errors
    ///
    /// The work panicked.
    pub(crate) async fn run_admitted<T: Send + 'static>(
        &self,
        order: WorkOrder,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, WorkError> {
        let queue = self.queue(order.length);
        let push = |queue: &mut JobQueue, realm, bytes, grant| Ok(queue.push(realm, bytes, grant));
        let queued = enqueue(queue, order.realm, order.bytes, push)?;
        self.threads.run(queued.wait().await, work).await
    }

    /// The number of pieces of work that wait for their turn.
    pub(crate) fn waiting_count(&self) -> usize {
        let queues = [&self.short, &self.long, &self.scans];
        queues.map(|queue| lock(queue).waiting_count()).iter().sum()
    }

    /// The queue for work of this length.
    fn queue(&self, length: WorkLength) -> &Arc<WorkQueue> {
        match length {
            WorkLength::Short => &self.short,
            WorkLength::Long => &self.long,
        }
    }
}

/// Adds work of a token to a queue.
fn enqueue(
    queue: &Arc<WorkQueue>,
    realm: RealmId,
    bytes: usize,
    push: fn(&mut JobQueue, RealmId, usize, oneshot::Sender<()>) -> Result<Ticket, QueueFull>,
) -> Result<QueuedWork, WorkError> {
    let (grant, granted) = oneshot::channel();
    let mut locked = lock(queue);
    let ticket =
        push(&mut locked, realm, bytes, grant).map_err(|QueueFull| WorkError::QueueFull)?;
    start_all(&mut locked);
    drop(locked);
    Ok(QueuedWork {
        queue: Arc::clone(queue),
        realm,
        ticket,
        granted,
        is_permit: false,
    })
}

impl fmt::Debug for CpuPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuPool").finish_non_exhaustive()
    }
}

fn lock(queue: &WorkQueue) -> MutexGuard<'_, JobQueue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Grants threads to the work whose turn it is. The receivers exist, because work that is dropped
/// removes itself from the queue first.
fn start_all(queue: &mut JobQueue) {
    while let Some((realm, grant)) = queue.start_next() {
        if grant.send(()).is_err() {
            queue.finish(realm);
        }
    }
}

/// Threads that start with the first work, and end when there was none for a while.
///
/// They are the threads for blocking work of a runtime that has no other use. Those of a server's own
/// runtime may have to serve its sockets if it has several threads, and a thread keeps its low
/// priority.
struct WorkThreads {
    /// `None` if the threads could not be prepared: then the server's own runtime does the work.
    runtime: Option<Runtime>,
}

impl WorkThreads {
    fn new(threads: usize) -> Self {
        let runtime = runtime::Builder::new_current_thread()
            .max_blocking_threads(threads)
            .thread_name("work")
            .on_thread_start(lower_thread_priority)
            .build();
        Self {
            runtime: runtime.ok(),
        }
    }

    async fn run<T: Send + 'static>(
        &self,
        permit: QueuedWork,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, WorkError> {
        let work = move || {
            // The permit ends with the work, even if the caller no longer waits for it.
            let _permit = permit;
            work()
        };
        let task = match &self.runtime {
            Some(runtime) if is_multi_threaded() => runtime.spawn_blocking(work),
            _ => task::spawn_blocking(work),
        };
        task.await.map_err(|_| WorkError::Panicked)
    }
}

/// Whether the current runtime serves sockets with several threads.
pub(crate) fn is_multi_threaded() -> bool {
    let runtime = Handle::try_current();
    runtime.is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}

impl Drop for WorkThreads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Work that waits for a thread or, once it is granted, the permit to use one.
struct QueuedWork {
    queue: Arc<WorkQueue>,
    realm: RealmId,
    ticket: Ticket,
    granted: oneshot::Receiver<()>,
    /// Whether the grant was received.
    is_permit: bool,
}

impl QueuedWork {
    /// Waits for the permit.
    async fn wait(mut self) -> Self {
        // The sender is dropped only with the queue, which this holds.
        let _ = (&mut self.granted).await;
        self.is_permit = true;
        self
    }
}

impl Drop for QueuedWork {
    fn drop(&mut self) {
        let mut queue = lock(&self.queue);
        // Threads are granted under the lock.
        if self.is_permit || self.granted.try_recv().is_ok() {
            queue.finish(self.realm);
        } else {
            queue.remove(self.realm, self.ticket);
        }
        start_all(&mut queue);
    }
}

#[cfg(test)]
pub(crate) mod tests;
