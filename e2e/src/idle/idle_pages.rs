//! Many pages that wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::task::JoinSet;

use super::{DefinitionSets, Page, Target, registration_message};

/// So many pages connect at the same time: fewer than `max_pending_pages`.
const MAX_CONNECTING: usize = 64;

/// How the pages spread over tokens.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PageDistribution {
    /// How many pages there are.
    pub pages: usize,
    /// How many of them have the same token.
    pub per_token: usize,
    /// What they register.
    pub sets: DefinitionSets,
    /// How many tools each.
    pub tools: usize,
}

/// Connected pages. They leave when it is dropped.
pub(crate) struct IdlePages {
    target: Target,
    address: String,
    spread: PageDistribution,
    pages: JoinSet<()>,
}

impl IdlePages {
    /// Nobody yet.
    pub(crate) fn new(target: Target, address: &str, spread: PageDistribution) -> Self {
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
        let connecting = (0..MAX_CONNECTING).map(|_| {
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
                        Target::Bridge => open_page(&address, spread, n).await,
                        Target::Floor => Page::open_at_floor(&address, "idle").await,
                    });
                }
            })
        });
        let connecting: Vec<_> = connecting.collect();
        for connecting in connecting {
            for page in connecting.await.unwrap() {
                self.pages.spawn(page.serve("null"));
            }
        }
        started.elapsed()
    }
}

async fn open_page(address: &str, spread: PageDistribution, n: usize) -> Page {
    let token = format!("idle-token-{:08}-0123456789abcdef", n / spread.per_token);
    let session = format!("5f0c9a52-7b1e-4c7e-9d1f-{n:012}");
    let mut page = Page::open(address, &token, &session).await;
    page.register(&registration_message(spread.sets, n, spread.tools))
        .await;
    page
}
