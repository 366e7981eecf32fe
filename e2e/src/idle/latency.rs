//! Calls at a low, steady rate: how long one takes that nothing waits before.
//!
//! Page and caller have a thread of their own, so that the process of ten thousand pages does not
//! show in their times.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::{Caller, DefinitionSets, Latencies, Page, registration_message};

/// Between calls.
const CALL_INTERVAL: Duration = Duration::from_millis(10);

/// Before those that count.
const WARM_UP_CALLS: usize = 200;

const TOKEN: &str = "the-token-that-calls-0123456789abcdef";

/// How long calls took.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LatencySummary {
    /// How many there were.
    pub calls: usize,
    /// The middle one, in microseconds.
    pub p50_us: f64,
    /// 99 of a hundred took no longer.
    pub p99_us: f64,
    /// The one that took longest.
    pub slowest_us: f64,
}

/// Calls a page for so long.
pub(crate) async fn measure_latency(address: &str, lasts: Duration) -> Latencies {
    let address = address.to_owned();
    let calling = tokio::task::spawn_blocking(move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        runtime.block_on(time_calls(&address, lasts))
    });
    calling.await.unwrap()
}

async fn time_calls(address: &str, lasts: Duration) -> Latencies {
    let mut page = Page::open(address, TOKEN, "callee").await;
    page.register(&registration_message(DefinitionSets::Identical, 0, 10))
        .await;
    let callee = tokio::spawn(async move { page.serve(r#"{"ok":true}"#).await });
    let mut caller = Caller::connect(address, TOKEN).await;
    caller.calls("update_card_0", WARM_UP_CALLS).await;
    let times = lasts.as_millis() / CALL_INTERVAL.as_millis();
    let times = usize::try_from(times).unwrap_or(usize::MAX).max(1);
    let pace = caller
        .call_at_interval(CALL_INTERVAL, "update_card_0", times)
        .await;
    callee.abort();
    pace
}

impl From<&Latencies> for LatencySummary {
    fn from(pace: &Latencies) -> Self {
        let micros = |permille| pace.permille(permille).as_secs_f64() * 1e6;
        Self {
            calls: pace.len(),
            p50_us: micros(500),
            p99_us: micros(990),
            slowest_us: micros(1000),
        }
    }
}

impl fmt::Display for LatencySummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "p50 {:.0} µs, p99 {:.0} µs, slowest {:.0} µs of {}",
            self.p50_us, self.p99_us, self.slowest_us, self.calls
        )
    }
}
