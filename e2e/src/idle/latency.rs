//! The latency of calls at a low, constant rate, so that no call waits for another one.
//!
//! Page and caller have a thread of their own, so that the process with ten thousand pages does not
//! affect their latency.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::{Caller, DefinitionSets, Page, registration_message};
use crate::latencies::Latencies;

/// The time between calls.
const CALL_INTERVAL: Duration = Duration::from_millis(10);

/// The number of calls before those that are measured.
const WARM_UP_CALLS: usize = 200;

const TOKEN: &str = "the-token-that-calls-0123456789abcdef";

/// The latency of calls.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LatencySummary {
    /// The number of calls.
    pub calls: usize,
    /// The median, in microseconds.
    pub p50_us: f64,
    /// The 99th percentile, in microseconds.
    pub p99_us: f64,
    /// The slowest call, in microseconds.
    pub slowest_us: f64,
}

/// Measures the latency of calls to one page for this long.
pub(crate) async fn measure_latency(address: &str, duration: Duration) -> Latencies {
    let address = address.to_owned();
    let calling = tokio::task::spawn_blocking(move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        runtime.block_on(time_calls(&address, duration))
    });
    calling.await.unwrap()
}

async fn time_calls(address: &str, duration: Duration) -> Latencies {
    let mut page = Page::open(address, TOKEN, "callee").await;
    page.register(&registration_message(DefinitionSets::Identical, 0, 10))
        .await;
    let callee = tokio::spawn(async move { page.serve(r#"{"ok":true}"#).await });
    let mut caller = Caller::connect(address, TOKEN).await;
    caller.call_repeatedly("update_card_0", WARM_UP_CALLS).await;
    let times = duration.as_millis() / CALL_INTERVAL.as_millis();
    let times = usize::try_from(times).unwrap_or(usize::MAX).max(1);
    let latencies = caller
        .call_at_interval(CALL_INTERVAL, "update_card_0", times)
        .await;
    callee.abort();
    latencies
}

impl From<&Latencies> for LatencySummary {
    fn from(latencies: &Latencies) -> Self {
        Self {
            calls: latencies.len(),
            p50_us: latencies.permille_us(500),
            p99_us: latencies.permille_us(990),
            slowest_us: latencies.permille_us(1000),
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
