//! One task that wakes realms when something in them is due.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::Hub;
use bridge_auth::RealmId;

/// How often definitions that nobody wants any more are forgotten.
const HOUSEKEEPING_INTERVAL: Duration = Duration::from_secs(60);

/// What becomes due within so much of the last turn is dealt with together: the heartbeats of ten
/// thousand pages are fifty turns in a second, not five hundred.
const COALESCE_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Debug, Default)]
pub(super) struct Timer {
    queue: Arc<DeadlineQueue>,
    task: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct DeadlineQueue {
    due: Mutex<BTreeSet<(Instant, RealmId)>>,
    earlier_deadline: Notify,
}

impl Timer {
    pub(super) fn start(&self, hub: &Arc<Hub>) {
        let task = tokio::spawn(run(Arc::clone(&self.queue), Arc::downgrade(hub)));
        *lock(&self.task) = Some(task);
    }

    /// Wakes the realm at that time. An entry that is no longer needed does no harm.
    pub(super) fn schedule(&self, at: Instant, realm: RealmId) {
        let mut due = lock(&self.queue.due);
        let is_first = due.first().is_none_or(|(first, _)| at < *first);
        due.insert((at, realm));
        if is_first {
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

async fn run(queue: Arc<DeadlineQueue>, hub: Weak<Hub>) {
    let mut housekeeping = tokio::time::interval(HOUSEKEEPING_INTERVAL);
    let mut next_wakeup = tokio::time::Instant::now().into_std();
    loop {
        let first = lock(&queue.due).first().map(|(at, _)| *at);
        tokio::select! {
            () = sleep_until(first.map(|at| at.max(next_wakeup))) => {}
            () = queue.earlier_deadline.notified() => {}
            _ = housekeeping.tick() => {
                let Some(hub) = hub.upgrade() else { return };
                hub.compact_definitions();
            }
        }
        let now = tokio::time::Instant::now().into_std();
        if now < next_wakeup {
            continue;
        }
        next_wakeup = now + COALESCE_INTERVAL;
        while let Some(realm) = queue.pop_due(now) {
            let Some(hub) = hub.upgrade() else { return };
            hub.on_deadline(realm);
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
    use crate::config::Config;
    use bridge_realm::definition::DefinitionRegistry;

    #[tokio::test(start_paused = true)]
    async fn deadlines_within_the_interval_are_coalesced() {
        let hub = Hub::new(
            Config::default(),
            DefinitionRegistry::new(|_, _| Ok(()), 1000),
            Arc::<crate::agent_queries::AgentQueries>::default(),
        );
        let realm = RealmId::from_token("token-of-a-test-0123456789");
        let start = tokio::time::Instant::now();
        let waiting = || lock(&hub.timer.queue.due).len();
        // The task has begun.
        tokio::time::sleep(COALESCE_INTERVAL).await;
        let [first, second] = [2, 3].map(|turns| start.into_std() + turns * COALESCE_INTERVAL);
        for at in [first, first + COALESCE_INTERVAL / 4, second] {
            hub.timer.schedule(at, realm);
        }
        tokio::time::sleep_until((first + COALESCE_INTERVAL / 2).into()).await;
        assert_eq!(waiting(), 2);
        tokio::time::sleep_until((second + COALESCE_INTERVAL / 2).into()).await;
        assert_eq!(waiting(), 0);
    }
}
