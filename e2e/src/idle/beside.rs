//! A realm beside others: what a call and a list cost when there are many other sessions.

use super::{Caller, Crowd, IdleBridge, Page, Sets, Spread, per, registration};

const REQUESTS: usize = 5_000;
const TOKEN: &str = "the-token-that-calls-0123456789abcdef";

/// Prints CPU per call and per list beside each of these numbers of other pages.
pub async fn beside(others: &[usize]) {
    let most = others.iter().copied().max().unwrap_or_default();
    for &pages in others {
        let bridge = IdleBridge::start(most).await;
        let mut page = Page::open(&bridge.address, TOKEN, "callee").await;
        page.register(&registration(Sets::Identical, 0, 10)).await;
        let callee = tokio::spawn(async move { page.live(r#"{"ok":true}"#).await });
        let spread = Spread {
            pages,
            per_token: 1,
            sets: Sets::Distinct,
            tools: 10,
        };
        let _crowd = Crowd::gather(&bridge.address, spread).await;
        let mut caller = Caller::connect(&bridge.address, TOKEN).await;
        caller.calls("update_card_0", 500).await;
        caller.lists(500).await;
        let mut figures = Vec::new();
        for _ in 0..3 {
            let cpu = bridge.cpu();
            let calls = caller.calls("update_card_0", REQUESTS).await;
            let between = bridge.cpu();
            let lists = caller.lists(REQUESTS).await;
            let after = bridge.cpu();
            figures.push((
                between - cpu,
                after - between,
                calls.permille(500),
                lists.permille(500),
            ));
        }
        callee.abort();
        let call = figures.iter().min_by_key(|it| it.0).unwrap();
        let list = figures.iter().min_by_key(|it| it.1).unwrap();
        println!(
            "beside {pages} others: {:.1} µs of CPU per call (p50 {:?}), {:.1} µs per list (p50 {:?})",
            per(call.0.as_nanos() as u64, REQUESTS) / 1e3,
            call.2,
            per(list.1.as_nanos() as u64, REQUESTS) / 1e3,
            list.3,
        );
    }
}
