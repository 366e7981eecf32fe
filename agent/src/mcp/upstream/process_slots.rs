//! The slots for the processes of all servers. When all are in use, the one that was idle for longest
//! makes room.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::activity::Activity;

/// The maximum number of processes of all servers.
pub(crate) const MAX_PROCESSES: usize = 16;

/// How long a start waits for a slot after a process was asked to make room.
const ROOM_TIMEOUT: Duration = Duration::from_secs(5);

/// The slots for the processes of all servers.
#[derive(Debug)]
pub(crate) struct ProcessSlots {
    free: Arc<Semaphore>,
    /// The use of the connections whose processes have slots.
    connections: Mutex<Vec<Weak<Activity>>>,
}

impl Default for ProcessSlots {
    fn default() -> Self {
        Self {
            free: Arc::new(Semaphore::new(MAX_PROCESSES)),
            connections: Mutex::default(),
        }
    }
}

impl ProcessSlots {
    /// Takes a slot. If none is free, the connection that was idle for longest is closed.
    pub(super) async fn acquire(&self) -> Result<OwnedSemaphorePermit, String> {
        let free = Arc::clone(&self.free);
        if let Ok(slot) = Arc::clone(&free).try_acquire_owned() {
            return Ok(slot);
        }
        let all_busy = || {
            format!("{MAX_PROCESSES} servers run, which is the maximum, and all of them are in use")
        };
        let idle = self.idle_for_longest().ok_or_else(all_busy)?;
        idle.stop();
        match timeout(ROOM_TIMEOUT, free.acquire_owned()).await {
            Ok(Ok(slot)) => Ok(slot),
            _ => Err(all_busy()),
        }
    }

    /// Adds a connection whose process has a slot.
    pub(super) fn add(&self, connection: &Arc<Activity>) {
        let mut connections = self.lock();
        connections.retain(|it| it.strong_count() > 0);
        connections.push(Arc::downgrade(connection));
    }

    fn idle_for_longest(&self) -> Option<Arc<Activity>> {
        let connections = self.lock();
        let open = connections.iter().filter_map(Weak::upgrade);
        let idle = open.filter_map(|it| Some((it.idle_since()?, it)));
        idle.min_by_key(|(since, _)| *since).map(|(_, it)| it)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<Activity>>> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
