//! One task that reports the deadlines of all realms.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use bridge_auth::RealmId;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// How often definitions that are no longer used are dropped.
const HOUSEKEEPING_INTERVAL: Duration = Duration::from_secs(60);

/// Deadlines within this time of one another are reported together: the heartbeats of ten thousand
/// pages wake the task fifty times a second, not five hundred times.
const COALESCE_INTERVAL: Duration = Duration::from_millis(20);

/// How often the timer checks whether the bridge runs, while there are deadlines.
const STALL_CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// A check that is late by this much is a stall of the bridge itself.
const MIN_STALL: Duration = Duration::from_millis(500);

/// Receives the reports of the timer. The timer's task ends when the handler is dropped.
pub(super) trait TimerHandler: Send + Sync + 'static {
    /// The bridge did not run for this long: its process was stopped, its machine was paused, or its
    /// threads were busy. It is reported before the deadlines that have passed meanwhile.
    fn on_stall(&self, stall: Duration);

    /// The timer has run this much later than planned.
    fn on_wakeup(&self, lateness: Duration);

    /// A deadline of this realm has passed.
    fn on_deadline(&self, realm: RealmId);

    /// [`HOUSEKEEPING_INTERVAL`] has passed.
    fn on_housekeeping(&self);
}

/// A task that reports the deadlines of realms to a [`TimerHandler`].
#[derive(Debug, Default)]
pub(super) struct Timer {
    queue: Arc<DeadlineQueue>,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// The deadlines of the realms, the earliest first.
#[derive(Debug, Default)]
struct DeadlineQueue {
    due: Mutex<BTreeSet<(Instant, RealmId)>>,
    earlier_deadline: Notify,
}

impl Timer {
    /// Starts the task. It ends when the handler or the timer is dropped.
    pub(super) fn start(&self, handler: Weak<impl TimerHandler>) {
        let task = tokio::spawn(run(Arc::clone(&self.queue), handler));
        *lock(&self.task) = Some(task);
    }

    /// Schedules a report to the realm at this time. An entry that is no longer needed does no
    /// harm.
    pub(super) fn schedule(&self, at: Instant, realm: RealmId) {
        let mut due = lock(&self.queue.due);
        let is_earliest = due.first().is_none_or(|(first, _)| at < *first);
        due.insert((at, realm));
        if is_earliest {
            self.queue.earlier_deadline.notify_one();
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Some(task) = lock(&self.task).take() {
            task.abort();
        }
    }
}

async fn run(queue: Arc<DeadlineQueue>, handler: Weak<impl TimerHandler>) {
    let mut housekeeping = tokio::time::interval(HOUSEKEEPING_INTERVAL);
    let mut next_wakeup = tokio::time::Instant::now().into_std();
    loop {
        let first = lock(&queue.due).first().map(|(at, _)| *at);
        let next_check = tokio::time::Instant::now().into_std() + STALL_CHECK_INTERVAL;
        let wakeup = first.map(|at| at.max(next_wakeup).min(next_check));
        tokio::select! {
            () = sleep_until(wakeup) => {}
            () = queue.earlier_deadline.notified() => {}
            _ = housekeeping.tick() => {
                let Some(handler) = handler.upgrade() else { return };
                handler.on_housekeeping();
            }
        }
        let now = tokio::time::Instant::now().into_std();
        if let Some(late) = wakeup.and_then(|at| now.checked_duration_since(at)) {
            let Some(handler) = handler.upgrade() else {
                return;
            };
            handler.on_wakeup(late);
            if late >= MIN_STALL {
                // The stall may have begun right after the timer went to sleep.
                handler.on_stall(late + STALL_CHECK_INTERVAL);
            }
        }
        if now < next_wakeup {
            continue;
        }
        next_wakeup = now + COALESCE_INTERVAL;
        while let Some(realm) = queue.pop_due(now) {
            let Some(handler) = handler.upgrade() else {
                return;
            };
            handler.on_deadline(realm);
        }
    }
}

impl DeadlineQueue {
    fn pop_due(&self, now: Instant) -> Option<RealmId> {
        let mut due = lock(&self.due);
        if due.first().is_none_or(|(at, _)| *at > now) {
            return None;
        }
        due.pop_first().map(|(_, realm)| realm)
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct NoHandler;

    impl TimerHandler for NoHandler {
        fn on_stall(&self, _: Duration) {}
        fn on_wakeup(&self, _: Duration) {}
        fn on_deadline(&self, _: RealmId) {}
        fn on_housekeeping(&self) {}
    }

    /// Records what the timer reports.
    #[derive(Default)]
    struct Reports {
        reports: Mutex<Vec<String>>,
        last_lateness: Mutex<Duration>,
    }

    impl TimerHandler for Reports {
        fn on_stall(&self, stall: Duration) {
            lock(&self.reports).push(format!("stall of {stall:?}"));
        }

        fn on_wakeup(&self, lateness: Duration) {
            *lock(&self.last_lateness) = lateness;
        }

        fn on_deadline(&self, _: RealmId) {
            lock(&self.reports).push("deadline".to_owned());
        }

        fn on_housekeeping(&self) {}
    }

    #[tokio::test(start_paused = true)]
    async fn a_stall_is_reported_before_the_deadlines() {
        let handler = Arc::new(Reports::default());
        let timer = Timer::default();
        timer.start(Arc::downgrade(&handler));
        let realm = RealmId::from_token("token-of-a-test-0123456789");
        let start = tokio::time::Instant::now();
        timer.schedule((start + Duration::from_secs(5)).into_std(), realm);
        // The clock advances while the task does not run, as when the process is stopped.
        tokio::time::sleep(STALL_CHECK_INTERVAL / 2).await;
        tokio::time::advance(Duration::from_secs(6)).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
        let reports = lock(&handler.reports).clone();
        assert_eq!(reports.len(), 2, "{reports:?}");
        assert_eq!(reports[1], "deadline");
        let stall = Duration::from_secs(6) - STALL_CHECK_INTERVAL / 2 + STALL_CHECK_INTERVAL;
        assert_eq!(reports[0], format!("stall of {stall:?}"));
        let lateness = *lock(&handler.last_lateness);
        assert_eq!(lateness, stall - STALL_CHECK_INTERVAL);
        // A timer that wakes in time reports no stall.
        timer.schedule((start + Duration::from_secs(60)).into_std(), realm);
        tokio::time::sleep_until(start + Duration::from_secs(61)).await;
        assert_eq!(lock(&handler.reports)[2..], ["deadline"]);
        assert!(*lock(&handler.last_lateness) < Duration::from_millis(2));
    }

    #[tokio::test(start_paused = true)]
    async fn deadlines_within_the_interval_are_coalesced() {
        let handler = Arc::new(NoHandler);
        let timer = Timer::default();
        timer.start(Arc::downgrade(&handler));
        let realm = RealmId::from_token("token-of-a-test-0123456789");
        let start = tokio::time::Instant::now();
        let waiting = || lock(&timer.queue.due).len();
        // Lets the timer's task start.
        tokio::time::sleep(COALESCE_INTERVAL).await;
        let [first, second] = [2, 3].map(|turns| start.into_std() + turns * COALESCE_INTERVAL);
        for at in [first, first + COALESCE_INTERVAL / 4, second] {
            timer.schedule(at, realm);
        }
        tokio::time::sleep_until((first + COALESCE_INTERVAL / 2).into()).await;
        assert_eq!(waiting(), 2);
        tokio::time::sleep_until((second + COALESCE_INTERVAL / 2).into()).await;
        assert_eq!(waiting(), 0);
    }
}
