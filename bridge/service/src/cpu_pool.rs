//! Runs work that would block a socket for too long on separate threads.

use std::sync::LazyLock;
use std::thread;

use tokio::sync::Semaphore;

/// JSON of at least this many bytes is parsed, converted, validated and measured in the pool,
/// because that takes about a millisecond.
pub const INLINE_LIMIT: usize = 256 * 1024;

/// The number of permits is that of the processors: more threads would not be faster, and each may
/// hold a large value. Work waits while all permits are taken; work that is done inline never
/// waits.
static PERMITS: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(thread::available_parallelism().map_or(1, usize::from)));

/// Runs `work` outside the threads that serve sockets. Returns `None` if it panicked.
///
/// The work must not call this function: it would wait for a permit that it holds itself.
pub async fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    // The permit is released when the work is done, even if the caller no longer waits for it.
    let permit = PERMITS.acquire().await;
    let done = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    done.await.ok()
}
