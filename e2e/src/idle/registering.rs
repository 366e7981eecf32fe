//! Many pages of one token register many tools each: each page as fast as the first.

use std::time::Duration;

use super::{IdleBridge, Page, Sets, per, registration};

const TOKEN: &str = "the-token-of-all-0123456789abcdef";

/// Prints what the first, and each hundredth, of `pages` pages with `tools` tools took the bridge.
pub async fn registering(sets: Sets, pages: usize, tools: usize) {
    let bridge = IdleBridge::start(pages).await;
    let mut open = Vec::new();
    let mut hundred: Vec<Duration> = Vec::new();
    for n in 0..pages {
        let message = registration(sets, n, tools);
        let before = bridge.cpu();
        let mut page = Page::open(&bridge.address, TOKEN, &format!("page-{n}")).await;
        page.register(&message).await;
        hundred.push(bridge.cpu() - before);
        open.push(tokio::spawn(async move { page.live("null").await }));
    }
    let around = |n: usize| {
        // The median of the ten pages up to this one: one alone is at the mercy of the scheduler.
        let mut near: Vec<_> = hundred[n.saturating_sub(10)..n].to_vec();
        near.sort();
        near[near.len() / 2].as_micros()
    };
    let total: Duration = hundred.iter().sum();
    print!(
        "{pages} pages of one token, {} sets of {tools}: CPU per page",
        sets.name()
    );
    for n in [10, pages / 3, 2 * pages / 3, pages] {
        print!(", near page {n} {} µs", around(n.max(1)));
    }
    println!(
        "; {:.0} µs on average",
        per(total.as_micros() as u64, pages)
    );
}
