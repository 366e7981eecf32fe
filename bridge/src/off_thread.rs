//! Work that takes longer than a socket can wait: on threads of its own.

use std::sync::LazyLock;
use std::thread;

use tokio::sync::Semaphore;

/// From this many bytes on, JSON is read, shaped, checked and measured here: about a millisecond.
pub(crate) const INLINE_LIMIT: usize = 256 * 1024;

/// As many at a time as there are processors: more would be no faster, and each may hold a large
/// value. Others wait; what is quick never waits.
static PERMITS: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(thread::available_parallelism().map_or(1, usize::from)));

/// Does the work away from the threads that serve sockets. `None` when it panicked.
///
/// The work must not come here again: it would wait for room that it takes itself.
pub(crate) async fn spawn<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    // The room is given back when the work is done, also if nobody waits for it any more.
    let permit = PERMITS.acquire().await;
    let done = tokio::task::spawn_blocking(move || {
        let _room = permit;
        work()
    });
    done.await.ok()
}
