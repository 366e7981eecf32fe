//! Runs work that takes longer than a socket can wait on threads of its own.

use std::sync::LazyLock;
use std::thread;

use tokio::sync::Semaphore;

/// From this many bytes on, JSON is read, shaped, checked and measured here: about a millisecond of
/// work.
pub const INLINE_LIMIT: usize = 256 * 1024;

/// As many permits as there are processors: more threads would be no faster, and each may hold a
/// large value. What comes when all are taken waits; work that is done inline never waits.
static PERMITS: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(thread::available_parallelism().map_or(1, usize::from)));

/// Runs `work` away from the threads that serve sockets. `None` when it panicked.
///
/// The work must not call this function: it would wait for a permit that it holds itself.
pub async fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    // The permit is released when the work is done, also if nobody waits for it any more.
    let permit = PERMITS.acquire().await;
    let done = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    done.await.ok()
}
