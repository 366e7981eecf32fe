//! Ten thousand pages at rest: how fast they come, what they take, and whether anybody else
//! notices.

use std::time::Duration;

use super::{Caller, Crowd, IdleBridge, Pace, Page, Sets, Spread, per, registration};

const CALLS: usize = 3_000;
const TOKEN: &str = "the-token-that-calls-0123456789abcdef";

/// Prints one line of the table.
pub async fn resting(spread: Spread, rest: Duration) {
    let bridge = IdleBridge::start(spread.pages).await;
    let mut page = Page::open(&bridge.address, TOKEN, "callee").await;
    page.register(&registration(Sets::Identical, 0, 10)).await;
    let callee = tokio::spawn(async move { page.live(r#"{"ok":true}"#).await });
    let mut caller = Caller::connect(&bridge.address, TOKEN).await;
    caller.calls("update_card_0", 500).await;
    let alone = caller.calls("update_card_0", CALLS).await;

    let (before, cpu) = (bridge.resident(), bridge.cpu());
    let crowd = Crowd::gather(&bridge.address, spread).await;
    let connecting = bridge.cpu() - cpu;
    let just_connected = bridge.resident();
    // All of them have answered a heartbeat by then.
    tokio::time::sleep(Duration::from_secs(22)).await; // sleep: it is what is measured
    let resident = bridge.resident();
    let cpu = bridge.cpu();
    tokio::time::sleep(rest).await; // sleep: it is what is measured
    let resting = bridge.cpu() - cpu;
    let later = bridge.resident();
    let beside = caller.calls("update_card_0", CALLS).await;
    callee.abort();

    let kib = |bytes: u64| per(bytes.saturating_sub(before), spread.pages) / 1024.0;
    println!(
        "{} pages, {} per token, {} sets of {}: {:.0} pages/s, {:.0} µs of CPU each; {:.1} KiB a page \
         (just connected {:.1}, after a rest {:.1}); at rest {:.2} % of a core",
        spread.pages,
        spread.per_token,
        spread.sets.name(),
        spread.tools,
        spread.pages as f64 / crowd.took.as_secs_f64(),
        per(connecting.as_micros() as u64, spread.pages),
        kib(resident),
        kib(just_connected),
        kib(later),
        100.0 * resting.as_secs_f64() / rest.as_secs_f64().max(0.001),
    );
    print_pace("  calls alone ", &alone, &alone);
    print_pace("  calls beside", &beside, &alone);
}

fn print_pace(what: &str, pace: &Pace, alone: &Pace) {
    let limit = 2 * alone.permille(990);
    println!(
        "{what}: p50 {:?}, p99 {:?}, slowest {:?}; {} of {CALLS} over twice the unloaded p99 ({limit:?})",
        pace.permille(500),
        pace.permille(990),
        pace.slowest(),
        pace.over(limit),
    );
}
