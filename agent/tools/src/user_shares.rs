//! How many calls run at the same time, and how many of them may be those of one user.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The permits for the calls of one source, or for those of the page in one turn.
#[derive(Debug)]
pub struct UserShares {
    all: Arc<Semaphore>,
    max_per_user: usize,
    users: Users,
}

/// The users who call or wait.
type Users = Arc<Mutex<HashMap<String, UserShare>>>;

/// The permits of a user who calls or waits.
#[derive(Debug)]
struct UserShare {
    permits: Arc<Semaphore>,
    /// How many calls use or wait for them.
    calls: usize,
}

/// The permit for one call.
#[derive(Debug)]
pub struct CallPermit {
    _own: OwnedSemaphorePermit,
    _shared: OwnedSemaphorePermit,
    _user: UserEntry,
}

/// A call in the table of users.
#[derive(Debug)]
struct UserEntry {
    users: Users,
    user: String,
}

impl UserShares {
    /// Creates the shares for calls of which at most `max_calls` run at the same time, and at most
    /// `max_per_user` of one user.
    pub fn new(max_calls: usize, max_per_user: usize) -> Self {
        Self {
            all: Arc::new(Semaphore::new(max_calls)),
            max_per_user,
            users: Users::default(),
        }
    }

    /// Waits for a permit. A user first waits for earlier calls of the same user: at most
    /// `max_per_user` calls of one user are in the queue of all users.
    pub async fn acquire(&self, user: &str) -> CallPermit {
        let (entry, own) = self.enter(user);
        // Neither semaphore is ever closed.
        #[allow(clippy::unwrap_used, reason = "the semaphores are never closed")]
        let (own, shared) = {
            let own = own.acquire_owned().await.unwrap();
            let shared = Arc::clone(&self.all).acquire_owned().await.unwrap();
            (own, shared)
        };
        CallPermit {
            _own: own,
            _shared: shared,
            _user: entry,
        }
    }

    fn enter(&self, user: &str) -> (UserEntry, Arc<Semaphore>) {
        let mut users = lock(&self.users);
        let share = users.entry(user.to_owned()).or_insert_with(|| UserShare {
            permits: Arc::new(Semaphore::new(self.max_per_user)),
            calls: 0,
        });
        share.calls += 1;
        let entry = UserEntry {
            users: Arc::clone(&self.users),
            user: user.to_owned(),
        };
        (entry, Arc::clone(&share.permits))
    }
}

fn lock(users: &Users) -> MutexGuard<'_, HashMap<String, UserShare>> {
    users.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for UserEntry {
    fn drop(&mut self) {
        let mut users = lock(&self.users);
        if let Some(share) = users.get_mut(&self.user) {
            share.calls -= 1;
            if share.calls == 0 {
                users.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn one_user_leaves_permits_to_others() {
        let shares = UserShares::new(3, 2);
        let first = shares.acquire("ada").await;
        let second = shares.acquire("ada").await;
        assert!(shares.acquire("ada").now_or_never().is_none());
        let other = shares.acquire("bob").await;
        assert!(
            shares.acquire("bob").now_or_never().is_none(),
            "all are in use"
        );
        drop(first);
        let third = shares.acquire("ada").await;
        drop((second, other, third));
        assert!(lock(&shares.users).is_empty());
    }
}
