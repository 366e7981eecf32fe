//! The slots for the processes of all servers. When all are in use, the one that was idle for longest
//! makes room.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::activity::Activity;
use crate::timeouts::SLOT_TIMEOUT;

/// The maximum number of processes of all servers.
const MAX_PROCESSES: usize = 16;

/// How many of them may be those of single users, so that the shared ones have room.
const MAX_USER_PROCESSES: usize = 10;

/// The slots for the processes of all servers.
#[derive(Debug)]
pub struct ProcessSlots {
    all: Arc<Semaphore>,
    of_users: Arc<Semaphore>,
    processes: Mutex<Vec<RunningProcess>>,
}

/// A process that has a slot.
#[derive(Debug)]
struct RunningProcess {
    activity: Weak<Activity>,
    is_of_user: bool,
}

/// The slot of one process.
#[derive(Debug)]
pub(crate) struct ProcessSlot {
    _all: OwnedSemaphorePermit,
    _of_user: Option<OwnedSemaphorePermit>,
}

impl Default for ProcessSlots {
    fn default() -> Self {
        Self {
            all: Arc::new(Semaphore::new(MAX_PROCESSES)),
            of_users: Arc::new(Semaphore::new(MAX_USER_PROCESSES)),
            processes: Mutex::default(),
        }
    }
}

impl ProcessSlots {
    /// Takes a slot for a process that all users share, or for one of a user. If none is free, the
    /// process that was idle for longest ends. Returns `None` if no slot becomes free in time.
    pub(super) async fn acquire(&self, is_of_user: bool) -> Option<ProcessSlot> {
        let of_user = if is_of_user {
            Some(
                self.take(&self.of_users, |process| process.is_of_user)
                    .await?,
            )
        } else {
            None
        };
        Some(ProcessSlot {
            _all: self.take(&self.all, |_| true).await?,
            _of_user: of_user,
        })
    }

    /// Takes a permit. If none is free, one of these processes makes room.
    async fn take(
        &self,
        semaphore: &Arc<Semaphore>,
        can_end: impl Fn(&RunningProcess) -> bool,
    ) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = Arc::clone(semaphore).try_acquire_owned() {
            return Some(permit);
        }
        if let Some(idle) = self.idle_for_longest(can_end) {
            idle.stop();
        }
        let waiting = timeout(SLOT_TIMEOUT, Arc::clone(semaphore).acquire_owned());
        waiting.await.ok()?.ok()
    }

    /// Adds a process that has a slot.
    pub(super) fn add(&self, activity: &Arc<Activity>, is_of_user: bool) {
        let mut processes = self.lock();
        processes.retain(|it| it.activity.strong_count() > 0);
        processes.push(RunningProcess {
            activity: Arc::downgrade(activity),
            is_of_user,
        });
    }

    fn idle_for_longest(&self, can_end: impl Fn(&RunningProcess) -> bool) -> Option<Arc<Activity>> {
        let processes = self.lock();
        let candidates = processes.iter().filter(|process| can_end(process));
        let open = candidates.filter_map(|process| process.activity.upgrade());
        let idle = open.filter_map(|it| Some((it.idle_since()?, it)));
        idle.min_by_key(|(since, _)| *since).map(|(_, it)| it)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<RunningProcess>> {
        self.processes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a server has no slot.
pub(super) fn no_room() -> String {
    format!(
        "{MAX_PROCESSES} servers run, or {MAX_USER_PROCESSES} of single users, which is the maximum, \
         and all of them are in use"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn processes_of_users_leave_room_for_shared_ones() {
        let slots = ProcessSlots::default();
        let mut taken = Vec::new();
        let mut busy = Vec::new();
        for _ in 0..MAX_USER_PROCESSES {
            let slot = slots.acquire(true).await.unwrap();
            let activity = Arc::new(Activity::new());
            slots.add(&activity, true);
            taken.push(slot);
            busy.push(activity);
        }
        let calls: Vec<_> = busy.iter().map(|activity| activity.begin_call()).collect();
        assert!(
            slots.acquire(true).await.is_none(),
            "all of them are in use"
        );
        for _ in MAX_USER_PROCESSES..MAX_PROCESSES {
            taken.push(slots.acquire(false).await.unwrap());
        }
        assert!(slots.acquire(false).await.is_none());
        drop(calls);
        assert!(slots.acquire(true).await.is_none());
        assert!(
            busy.iter().any(|activity| activity.is_stopping()),
            "one was asked to end"
        );
    }
}
