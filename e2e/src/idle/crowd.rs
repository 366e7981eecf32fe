//! Many pages that wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::{Page, Sets, registration};

/// So many pages connect at the same time: fewer than `max_pending_pages`.
const AT_ONCE: usize = 64;

/// How the pages spread over tokens.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    /// How many pages there are.
    pub pages: usize,
    /// How many of them have the same token.
    pub per_token: usize,
    /// What they register.
    pub sets: Sets,
    /// How many tools each.
    pub tools: usize,
}

/// Connected pages. They leave when it is dropped.
pub(crate) struct Crowd {
    _pages: JoinSet<()>,
    /// Until all were registered.
    pub(crate) took: Duration,
}

impl Crowd {
    /// Connects and registers all of them.
    pub(crate) async fn gather(address: &str, spread: Spread) -> Self {
        let started = Instant::now();
        let next = Arc::new(AtomicUsize::new(0));
        let connecting = (0..AT_ONCE).map(|_| {
            let (address, next) = (address.to_owned(), Arc::clone(&next));
            tokio::spawn(async move {
                let mut pages = Vec::new();
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= spread.pages {
                        return pages;
                    }
                    pages.push(connected(&address, spread, n).await);
                }
            })
        });
        let connecting: Vec<_> = connecting.collect();
        let mut pages = JoinSet::new();
        for connecting in connecting {
            for page in connecting.await.unwrap() {
                pages.spawn(page.live("null"));
            }
        }
        Self {
            _pages: pages,
            took: started.elapsed(),
        }
    }
}

async fn connected(address: &str, spread: Spread, n: usize) -> Page {
    let token = format!("idle-token-{:08}-0123456789abcdef", n / spread.per_token);
    let session = format!("5f0c9a52-7b1e-4c7e-9d1f-{n:012}");
    let mut page = Page::open(address, &token, &session).await;
    page.register(&registration(spread.sets, n, spread.tools))
        .await;
    page
}
