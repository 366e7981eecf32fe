//! The sockets of pages that have not authenticated yet.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::party::{PageOrigin, PageParty};
use super::pool::{PoolPermit, PoolUse, SharedPool};

/// Limits the pages that have not authenticated yet. At the limit, the page that has been silent
/// for longest makes room, of those whose address or origin has the most.
#[derive(Debug)]
pub(crate) struct PendingPages(SharedPool<PageOrigin, PendingPage>);

#[derive(Clone, Debug)]
struct PendingPage {
    connected_at: Instant,
    /// Whether the page has sent its token, which is being verified.
    is_authenticating: Arc<AtomicBool>,
    evicted: CancellationToken,
}

/// A page that has not authenticated yet, until it is dropped.
#[derive(Debug)]
pub(crate) struct PendingPagePermit {
    page: PendingPage,
    permit: Mutex<Option<PoolPermit<PageOrigin, PendingPage>>>,
}

impl PendingPages {
    pub(crate) fn new(capacity: usize) -> Self {
        Self(SharedPool::new(capacity))
    }

    /// Adds a page.
    ///
    /// # Errors
    ///
    /// When the limit is reached and no other page makes room: how much of it the party uses.
    pub(crate) fn try_acquire(&self, party: &PageParty) -> Result<PendingPagePermit, PoolUse> {
        let page = PendingPage {
            connected_at: Instant::now(),
            is_authenticating: Arc::default(),
            evicted: CancellationToken::new(),
        };
        let silent_since = |page: &PendingPage| {
            let is_silent = !page.is_authenticating.load(Ordering::Relaxed);
            is_silent.then_some(page.connected_at)
        };
        loop {
            if let Some(permit) = self.0.try_acquire(party, page.clone()) {
                return Ok(PendingPagePermit {
                    page,
                    permit: Mutex::new(Some(permit)),
                });
            }
            match self.0.evict(party, silent_since) {
                Some(silent) => silent.evicted.cancel(),
                None => return Err(self.0.used_by(party)),
            }
        }
    }

    /// The number of pages.
    pub(crate) fn count(&self) -> usize {
        self.0.count()
    }
}

impl PendingPagePermit {
    /// Records that the page has sent its token.
    pub(crate) fn set_authenticating(&self) {
        self.page.is_authenticating.store(true, Ordering::Relaxed);
    }

    /// Gives the place to another page: this one has authenticated, and waits for something else.
    pub(crate) fn release(&self) {
        *self.permit.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Waits until another page needs the place of this one. A page that has sent its token keeps it.
    pub(crate) async fn evicted(&self) {
        self.page.evicted.cancelled().await;
        if self.page.is_authenticating.load(Ordering::Relaxed) {
            std::future::pending().await
        }
    }
}
