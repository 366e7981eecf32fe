//! The cost of loading a page: what it downloads and executes.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use super::setup::{StartSetup, Visit};
use super::spread::Spread;
use super::start_page::StartPage;
use crate::clients::http;
use crate::with_deadline;

/// What a page costs when it starts.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StartCost {
    /// The name of the page.
    pub page: &'static str,
    /// The number of loads, each in a new browser.
    pub loads: usize,
    /// The number of files that the page loads before the tool is registered, besides its HTML.
    pub files: Spread,
    /// The size of these files, as they are transferred.
    pub bytes: Spread,
    /// The time from the start of the navigation until the tool is registered, in milliseconds.
    pub registered_ms: Spread,
    /// How long scripts were compiled and ran, in milliseconds.
    pub script_ms: Spread,
    /// The processor time of the main thread, in milliseconds.
    pub thread_ms: Spread,
    /// The processor time of the page's process with all its threads, in milliseconds. Chromium
    /// counts hundredths of a second.
    pub process_ms: Spread,
    /// The JavaScript heap after a garbage collection, with what it refers to outside, in KiB.
    pub heap_kib: Spread,
}

/// The cost of one load.
struct Load {
    files: f64,
    bytes: f64,
    registered_ms: f64,
    script_ms: f64,
    thread_ms: f64,
    process_ms: f64,
    heap_kib: f64,
}

impl StartSetup {
    /// Loads each page this many times, one after the other.
    pub async fn measure_loads(&self, loads: usize) -> Vec<StartCost> {
        // The first browser reads its files from the disk.
        self.load(StartPage::Nothing).await;
        let mut all = StartPage::ALL.map(|page| (page, Vec::new()));
        for round in 0..loads {
            for page in StartPage::in_round(round) {
                let load = self.load(page).await;
                let of_page = all.iter_mut().find(|(other, _)| *other == page);
                of_page.expect("it contains all pages").1.push(load);
            }
        }
        let costs = all.iter().map(|(page, loads)| StartCost::of(*page, loads));
        costs.collect()
    }

    async fn load(&self, page: StartPage) -> Load {
        let mut visit = self.visit(page, None).await;
        let metrics = visit.browser.devtools("Performance.getMetrics", json!({}));
        let metrics = metrics.await;
        let metric_ms = |name| 1e3 * metric(&metrics, name);
        let heap_bytes = heap_bytes(&visit).await;
        let registered_ms = visit.registered_ms().await;
        let files = loaded_files(&visit, registered_ms).await;
        let mut bytes = 0;
        for url in &files {
            bytes += transferred_bytes(url).await;
        }
        Load {
            files: files.len() as f64,
            bytes: bytes as f64,
            registered_ms,
            script_ms: metric_ms("ScriptDuration") + metric_ms("V8CompileDuration"),
            thread_ms: metric_ms("ThreadTime"),
            process_ms: metric_ms("ProcessTime"),
            heap_kib: heap_bytes / 1024.0,
        }
    }
}

impl StartCost {
    fn of(page: StartPage, loads: &[Load]) -> Self {
        let spread = |figure: fn(&Load) -> f64| Spread::of(loads.iter().map(figure));
        Self {
            page: page.name(),
            loads: loads.len(),
            files: spread(|load| load.files),
            bytes: spread(|load| load.bytes),
            registered_ms: spread(|load| load.registered_ms),
            script_ms: spread(|load| load.script_ms),
            thread_ms: spread(|load| load.thread_ms),
            process_ms: spread(|load| load.process_ms),
            heap_kib: spread(|load| load.heap_kib),
        }
    }
}

/// Returns a metric of `Performance.getMetrics`: durations are in seconds.
fn metric(metrics: &Value, name: &str) -> f64 {
    let mut metrics = metrics["metrics"].as_array().into_iter().flatten();
    let metric = metrics.find(|metric| metric["name"] == name);
    let value = metric.and_then(|metric| metric["value"].as_f64());
    value.unwrap_or_else(|| panic!("Chromium has no metric {name}"))
}

async fn heap_bytes(visit: &Visit) -> f64 {
    let browser = &visit.browser;
    browser
        .devtools("HeapProfiler.collectGarbage", json!({}))
        .await;
    let usage = browser.devtools("Runtime.getHeapUsage", json!({})).await;
    ["usedSize", "backingStorageSize"]
        .map(|field| usage[field].as_f64().unwrap_or_default())
        .iter()
        .sum()
}

/// Returns the URLs that the page and its frames had loaded at that time.
async fn loaded_files(visit: &Visit, until_ms: f64) -> Vec<String> {
    let loaded = format!(
        "[window, ...Array.from(frames)].flatMap((frame) => frame.performance.getEntriesByType('resource')
           .filter((entry) => frame.performance.timeOrigin + entry.responseEnd
              <= performance.timeOrigin + {until_ms})
           .map((entry) => entry.name)).filter((url) => url.startsWith('http'))"
    );
    let urls = visit.evaluate(&loaded).await;
    serde_json::from_value(urls).unwrap()
}

/// Returns the size of a file as a browser receives it.
async fn transferred_bytes(url: &str) -> usize {
    let request = http().get(url).header("accept-encoding", "br").send();
    let response = with_deadline(url, request).await.unwrap();
    let response = response.error_for_status().unwrap();
    assert_eq!(response.headers()["content-encoding"], "br", "{url}");
    response.bytes().await.unwrap().len()
}

impl fmt::Display for StartCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {} loads: {:.0} bytes in {:.0} files; registered after {} ms; {} ms of scripts, {} ms \
             of processor time of the main thread, {} ms of all threads; {} KiB of heap",
            self.page,
            self.loads,
            self.bytes.median,
            self.files.median,
            self.registered_ms,
            self.script_ms,
            self.thread_ms,
            self.process_ms,
            self.heap_kib
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_found_by_name() {
        let metrics = json!({ "metrics": [
            { "name": "Timestamp", "value": 1991.375 },
            { "name": "ScriptDuration", "value": 0.025 },
        ] });
        assert_eq!(metric(&metrics, "ScriptDuration"), 0.025);
    }
}
