//! Many pages that do nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::task::JoinSet;

use super::{DefinitionSets, Page, Target, registration_message};

/// How many pages connect at the same time: fewer than `max_pending_pages`.
const MAX_CONNECTING: usize = 64;

/// The number of pages, their tokens and their tools.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PageDistribution {
    /// The number of pages.
    pub pages: usize,
    /// The number of pages with the same token.
    pub per_token: usize,
    /// Whether the pages register the same tools.
    pub sets: DefinitionSets,
    /// The number of tools of each page.
    pub tools: usize,
}

/// Connected pages. They disconnect when this is dropped.
pub(crate) struct IdlePages {
    target: Target,
    address: String,
    distribution: PageDistribution,
    pages: JoinSet<()>,
}

impl IdlePages {
    /// Creates a group without pages.
    pub(crate) fn new(target: Target, address: &str, distribution: PageDistribution) -> Self {
        Self {
            target,
            address: address.to_owned(),
            distribution,
            pages: JoinSet::new(),
        }
    }

    /// Connects pages until there are `count`, and returns how long that took.
    pub(crate) async fn grow_to(&mut self, count: usize) -> Duration {
        let start = Instant::now();
        let next = Arc::new(AtomicUsize::new(self.pages.len()));
        let connecting = (0..MAX_CONNECTING).map(|_| {
            let (address, next) = (self.address.clone(), Arc::clone(&next));
            let (target, distribution) = (self.target, self.distribution);
            tokio::spawn(async move {
                let mut pages = Vec::new();
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= count {
                        return pages;
                    }
                    pages.push(match target {
                        Target::Bridge => open_page(&address, distribution, n).await,
                        Target::Floor => Page::open_at_floor(&address, "idle").await,
                    });
                }
            })
        });
        let connecting: Vec<_> = connecting.collect();
        for pages in connecting {
            for page in pages.await.unwrap() {
                self.pages.spawn(page.serve("null"));
            }
        }
        start.elapsed()
    }
}

async fn open_page(address: &str, distribution: PageDistribution, n: usize) -> Page {
    let token = format!(
        "idle-token-{:08}-0123456789abcdef",
        n / distribution.per_token
    );
    let session = format!("5f0c9a52-7b1e-4c7e-9d1f-{n:012}");
    let mut page = Page::open(address, &token, &session).await;
    page.register(&registration_message(
        distribution.sets,
        n,
        distribution.tools,
    ))
    .await;
    page
}
