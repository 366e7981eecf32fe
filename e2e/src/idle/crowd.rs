//! Many pages that wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::task::JoinSet;

use super::{Page, Sets, Target, registration};

/// So many pages connect at the same time: fewer than `max_pending_pages`.
const AT_ONCE: usize = 64;

/// How the pages spread over tokens.
#[derive(Clone, Copy, Debug, Serialize)]
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
    target: Target,
    address: String,
    spread: Spread,
    pages: JoinSet<()>,
}

impl Crowd {
    /// Nobody yet.
    pub(crate) fn new(target: Target, address: &str, spread: Spread) -> Self {
        Self {
            target,
            address: address.to_owned(),
            spread,
            pages: JoinSet::new(),
        }
    }

    /// Connects and registers more, until there are so many: how long that took.
    pub(crate) async fn grow_to(&mut self, most: usize) -> Duration {
        let started = Instant::now();
        let next = Arc::new(AtomicUsize::new(self.pages.len()));
        let connecting = (0..AT_ONCE).map(|_| {
            let (address, next) = (self.address.clone(), Arc::clone(&next));
            let (target, spread) = (self.target, self.spread);
            tokio::spawn(async move {
                let mut pages = Vec::new();
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= most {
                        return pages;
                    }
                    pages.push(match target {
                        Target::Bridge => connected(&address, spread, n).await,
                        Target::Floor => Page::open_at_floor(&address, "idle").await,
                    });
                }
            })
        });
        let connecting: Vec<_> = connecting.collect();
        for connecting in connecting {
            for page in connecting.await.unwrap() {
                self.pages.spawn(page.live("null"));
            }
        }
        started.elapsed()
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
