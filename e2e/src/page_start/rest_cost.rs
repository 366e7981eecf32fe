//! The cost of a page that has started and does nothing.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::setup::{StartSetup, Visit};
use super::start_page::StartPage;

/// Records timers, listeners and calls of JavaScript.
const OBSERVER: &str = include_str!("../../start/observe.js");

/// What remains of a page's start while the page does nothing.
#[derive(Clone, Debug, Serialize)]
pub struct RestCost {
    /// The name of the page.
    pub page: &'static str,
    /// The timers that are pending, such as `setTimeout 60000 ms`.
    pub timers: Vec<String>,
    /// The listeners on `window` and `document`, such as `window focus`.
    pub listeners: Vec<String>,
    /// The size of all WebAssembly memories, in KiB.
    pub wasm_memory_kib: f64,
    /// How often JavaScript was called within each of the durations.
    pub wake_ups: Vec<WakeUps>,
}

/// How often the browser called JavaScript.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct WakeUps {
    /// The duration, in seconds.
    pub seconds: u64,
    /// The number of calls: timers that fired, and listeners that received an event.
    pub count: u64,
}

/// What the observer has recorded.
#[derive(Deserialize)]
struct Record {
    timers: Vec<String>,
    listeners: Vec<String>,
    memory_bytes: f64,
    wake_ups: u64,
}

impl StartSetup {
    /// Opens a page, and observes it for these durations, in seconds and in ascending order. All of
    /// them start when the page's start is over.
    pub async fn measure_rest(&self, page: StartPage, durations: &[u64]) -> RestCost {
        let mut visit = self.visit(page, Some(OBSERVER)).await;
        visit.registered_ms().await;
        let first = Record::read(&visit).await;
        let mut wake_ups = Vec::new();
        let mut elapsed = 0;
        for &seconds in durations {
            let rest = Duration::from_secs(seconds - elapsed);
            tokio::time::sleep(rest).await; // sleep: it is what is measured
            elapsed = seconds;
            let record = Record::read(&visit).await;
            wake_ups.push(WakeUps {
                seconds,
                count: record.wake_ups - first.wake_ups,
            });
        }
        RestCost {
            page: page.name(),
            timers: first.timers,
            listeners: first.listeners,
            wasm_memory_kib: first.memory_bytes / 1024.0,
            wake_ups,
        }
    }
}

impl Record {
    async fn read(visit: &Visit) -> Self {
        let record = visit.evaluate(
            "({
               timers: [...startRecord.timers.values()],
               listeners: startRecord.listeners.map((listener) => listener.name),
               memory_bytes: [...startRecord.memories].reduce((sum, { buffer }) => sum + buffer.byteLength, 0),
               wake_ups: startRecord.wakeUps,
             })",
        );
        serde_json::from_value(record.await).unwrap()
    }
}

impl fmt::Display for RestCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} at rest: timers [{}], listeners [{}], {:.0} KiB of WebAssembly memory",
            self.page,
            self.timers.join(", "),
            self.listeners.join(", "),
            self.wasm_memory_kib
        )?;
        for WakeUps { seconds, count } in &self.wake_ups {
            write!(f, ", {count} calls in {seconds} s")?;
        }
        Ok(())
    }
}
