use std::sync::mpsc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::*;

fn order(token: &str, length: WorkLength) -> WorkOrder {
    WorkOrder {
        realm: RealmId::from_token(token),
        length,
        bytes: 0,
    }
}

/// A pool for one processor: two pieces of work run at a time, one of each token.
fn pool() -> CpuPool {
    CpuPool::with_processors(1)
}

/// Queues as much work of a token as it may have running, and more that waits. The work ends when
/// the returned values are dropped.
pub(crate) fn occupy(
    pool: &CpuPool,
    realm: RealmId,
    length: WorkLength,
    waiting: usize,
) -> Vec<(mpsc::Sender<()>, BoxFuture<'static, ()>)> {
    let share = thread::available_parallelism().map_or(1, usize::from);
    let order = WorkOrder {
        realm,
        length,
        bytes: 0,
    };
    let occupy_one = |_| {
        let (gate, opened) = mpsc::channel::<()>();
        let pool = pool.clone();
        let work = move || {
            let _ = opened.recv();
        };
        let mut queued = async move {
            let _ = pool.run_admitted(order, work).await;
        }
        .boxed();
        // The first poll puts it into the queue.
        assert!((&mut queued).now_or_never().is_none());
        (gate, queued)
    };
    (0..share + waiting).map(occupy_one).collect()
}

type Work = BoxFuture<'static, Result<&'static str, WorkError>>;

/// Queues work that ends when the returned sender is used or dropped.
fn queue_gated(pool: &CpuPool, order: WorkOrder) -> (mpsc::Sender<()>, Work) {
    let (gate, opened) = mpsc::channel();
    let pool = pool.clone();
    let work = async move {
        let work = move || {
            let _ = opened.recv();
            "gated"
        };
        pool.run(order, work).await
    };
    let mut work = work.boxed();
    // The first poll puts it into the queue.
    assert!((&mut work).now_or_never().is_none());
    (gate, work)
}

fn queue(pool: &CpuPool, order: WorkOrder, name: &'static str) -> Work {
    let pool = pool.clone();
    let mut work = async move { pool.run(order, move || name).await }.boxed();
    assert!((&mut work).now_or_never().is_none());
    work
}

#[tokio::test]
async fn the_work_of_another_token_runs_while_that_of_one_token_waits() {
    let pool = pool();
    for length in [WorkLength::Short, WorkLength::Long] {
        let (gate, running) = queue_gated(&pool, order("a", length));
        let waiting: Vec<_> = (0..100)
            .map(|_| queue(&pool, order("a", length), "waited"))
            .collect();
        for _ in 0..3 {
            let other = pool.run(order("b", length), || "other").await;
            assert_eq!(other, Ok("other"), "{length:?}");
        }
        drop(gate);
        assert_eq!(running.await, Ok("gated"));
        for waited in waiting {
            assert_eq!(waited.await, Ok("waited"));
        }
    }
}

#[tokio::test]
async fn short_work_runs_while_every_thread_has_long_work() {
    let pool = pool();
    let long: Vec<_> = ["a", "b", "c"]
        .map(|token| queue_gated(&pool, order(token, WorkLength::Long)))
        .into();
    for token in ["a", "d"] {
        let short = pool.run(order(token, WorkLength::Short), || "short").await;
        assert_eq!(short, Ok("short"));
    }
    for (gate, work) in long {
        drop(gate);
        assert_eq!(work.await, Ok("gated"));
    }
}

#[tokio::test]
async fn too_much_waiting_work_of_a_token_is_refused() {
    let pool = pool();
    let short = order("a", WorkLength::Short);
    let (gate, running) = queue_gated(&pool, short);
    let waiting: Vec<_> = (0..MAX_WAITING)
        .map(|_| queue(&pool, short, "waited"))
        .collect();
    let refused = pool.run(short, || ()).await;
    assert_eq!(refused, Err(WorkError::QueueFull));
    let failure = CallFailure::from(WorkError::QueueFull);
    assert_eq!(failure.code, ErrorCode::CallLimitExceeded);
    assert!(failure.message.contains("retry"), "{}", failure.message);
    // Other tokens, and work that is limited otherwise, are not refused.
    assert_eq!(pool.run(order("b", WorkLength::Short), || 1).await, Ok(1));
    let mut admitted = pool.run_admitted(short, || "admitted").boxed();
    assert!((&mut admitted).now_or_never().is_none());

    // Work without a waiting caller leaves the queue.
    drop(waiting);
    let again = queue(&pool, short, "again");
    drop(gate);
    assert_eq!(running.await, Ok("gated"));
    assert_eq!(admitted.await, Ok("admitted"));
    assert_eq!(again.await, Ok("again"));
}

#[tokio::test]
async fn the_bytes_of_waiting_work_of_a_token_are_limited() {
    let pool = pool();
    let half = WorkOrder::for_json(RealmId::from_token("a"), MAX_WAITING_BYTES / 2);
    assert_eq!(half.length, WorkLength::Long);
    let (gate, running) = queue_gated(&pool, half);
    assert_eq!(pool.waiting_count(), 0);
    let waiting: Vec<_> = (0..2).map(|_| queue(&pool, half, "waited")).collect();
    assert_eq!(pool.waiting_count(), 2);
    assert_eq!(pool.run(half, || ()).await, Err(WorkError::QueueFull));
    drop(waiting);
    assert_eq!(pool.waiting_count(), 0);
    drop(gate);
    assert_eq!(running.await, Ok("gated"));
}

#[tokio::test]
async fn a_panic_ends_only_its_own_work() {
    let pool = pool();
    for _ in 0..5 {
        let failed: Result<(), _> = pool
            .run(order("a", WorkLength::Short), || panic!("a test"))
            .await;
        assert_eq!(failed, Err(WorkError::Panicked));
    }
    assert_eq!(pool.run(order("a", WorkLength::Short), || 1).await, Ok(1));
}

#[tokio::test]
async fn work_that_was_granted_a_thread_but_not_begun_gives_it_back() {
    let pool = pool();
    let short = order("a", WorkLength::Short);
    let (gate, running) = queue_gated(&pool, short);
    let granted = queue(&pool, short, "granted");
    drop(gate);
    assert_eq!(running.await, Ok("gated"));
    // By now it has the thread, but it has not been polled since.
    drop(granted);
    assert_eq!(pool.run(short, || "next").await, Ok("next"));
}

#[tokio::test]
async fn long_texts_are_scanned_one_at_a_time_and_tokens_take_turns() {
    let pool = pool();
    let scan = |token: &str| {
        let (pool, realm) = (pool.clone(), RealmId::from_token(token));
        let mut turn = async move { pool.scan_turn(realm, INLINE_LIMIT + 1).await }.boxed();
        let is_granted = (&mut turn).now_or_never();
        (is_granted, turn)
    };
    let (granted, _) = scan("a");
    let first = granted.unwrap().unwrap();
    let waiting: Vec<_> = (0..20).map(|_| scan("a").1).collect();
    let (granted, other) = scan("b");
    assert!(first.is_some() && granted.is_none());
    // Short texts need no turn.
    let short = pool.scan_turn(RealmId::from_token("a"), INLINE_LIMIT).await;
    assert!(matches!(short, Ok(None)));
    drop(first);
    // The other token waits for one text of the first, and the next one for one of the other.
    let second = other.now_or_never().unwrap().unwrap();
    let mut waiting = waiting.into_iter();
    let mut next = waiting.next().unwrap();
    assert!((&mut next).now_or_never().is_none());
    drop(second);
    let third = next.now_or_never().unwrap().unwrap();
    // Texts without a waiting caller leave the queue.
    drop(waiting);
    drop(third);
    assert!(scan("a").0.unwrap().unwrap().is_some());
}

/// The nice value of this thread (proc_pid_stat(5), field 19).
#[cfg(target_os = "linux")]
fn nice_value() -> i32 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    fields.split_whitespace().nth(16).unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn work_makes_way_for_the_threads_of_the_server() {
    let pool = pool();
    let work = pool.run(order("token", WorkLength::Long), nice_value);
    let server = tokio::spawn(async { nice_value() });
    assert!(work.await.unwrap() > server.await.unwrap());
}
