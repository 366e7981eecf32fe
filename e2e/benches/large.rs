//! The cost of large results of one page for the small calls of another page: 100 results of 10 MiB
//! in a row, and at the same time a small call every 10 ms, whether the previous one is answered or
//! not.
//!
//! `cargo build --release -p bridge -p client-stdio && cargo bench -p e2e --bench large`. Exits
//! with 1 when the 99th percentile of the small calls reaches 50 ms.
#![allow(clippy::print_stderr, clippy::print_stdout)]
#![allow(clippy::unwrap_used)]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use e2e::{BulkClient, Era, LargeResult, McpClient, NativeItem, NativePage, TestBed, Transport};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

const RESULTS: usize = 100;
const RESULT_BYTES: usize = 10 * 1024 * 1024;
const SMALL_CALL_INTERVAL: Duration = Duration::from_millis(10);
const BASELINE_CALLS: usize = 500;
const P99_LIMIT: Duration = Duration::from_millis(50);

fn main() -> ExitCode {
    let runtime = Runtime::new().unwrap();
    let mut is_slow = false;
    for transport in [Transport::Http, Transport::Stdio] {
        for large in [LargeResult::Text, LargeResult::Rows] {
            is_slow |= runtime.block_on(measure(transport, large)) >= P99_LIMIT;
        }
    }
    ExitCode::from(u8::from(is_slow))
}

/// Prints the latency of small calls, and returns its 99th percentile under load.
async fn measure(transport: Transport, large: LargeResult) -> Duration {
    // The limit of the client, so that no result is truncated.
    let bed = TestBed::bridge_with(&["--max-client-result-bytes", "67108864"]).await;
    let items = vec![large.tool("large", RESULT_BYTES)];
    let _large = NativePage::open(&bed, "large", items).await;
    let _small = NativePage::open(&bed, "small", vec![NativeItem::echo()]).await;
    let client = Arc::new(McpClient::connect(&bed, transport, Era::Discover).await);

    let baseline = small_calls(&client, async {
        let mut ticks = tokio::time::interval(SMALL_CALL_INTERVAL);
        for _ in 0..BASELINE_CALLS {
            ticks.tick().await;
        }
    });
    let baseline = LatencySummary::new(baseline.await);
    let (begin, cpu) = (Instant::now(), bed.cpu_time());
    let mut bulk = BulkClient::new(&bed, transport);
    let under_load = small_calls(&client, async {
        for _ in 0..RESULTS {
            let answer = bulk.call("large").await;
            let excerpt = String::from_utf8_lossy(&answer[..answer.len().min(1000)]);
            assert!(answer.len() > RESULT_BYTES, "{excerpt}");
        }
    });
    let under_load = LatencySummary::new(under_load.await);

    let per_result = |total: Duration| total.as_secs_f64() * 1000.0 / RESULTS as f64;
    let ratio = under_load.p99.as_secs_f64() / baseline.p99.as_secs_f64();
    println!("{transport:?}, {RESULTS} results of {RESULT_BYTES} bytes ({large:?}):");
    println!("  small calls without load: {baseline}");
    println!("  small calls under load:   {under_load}; p99 {ratio:.1} times that without load");
    println!(
        "  a large result: {:.0} ms; CPU of the bridge with small calls {:.0} ms; its memory at most {} MiB",
        per_result(begin.elapsed()),
        per_result(bed.cpu_time() - cpu),
        bed.peak_memory() / (1024 * 1024),
    );
    under_load.p99
}

/// Returns the latencies of small calls, one every [`SMALL_CALL_INTERVAL`], until `work` is done.
async fn small_calls(client: &Arc<McpClient>, work: impl Future<Output = ()>) -> Vec<Duration> {
    let mut calls = JoinSet::new();
    let mut ticks = tokio::time::interval(SMALL_CALL_INTERVAL);
    tokio::pin!(work);
    loop {
        let due = tokio::select! {
            () = &mut work => break,
            due = ticks.tick() => due,
        };
        let client = Arc::clone(client);
        calls.spawn(async move {
            client.call("echo", json!({ "id": 1 })).await.unwrap();
            due.elapsed()
        });
    }
    calls.join_all().await
}

struct LatencySummary {
    count: usize,
    p50: Duration,
    p99: Duration,
    longest: Duration,
}

impl LatencySummary {
    fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |percent: usize| times[(times.len() - 1) * percent / 100];
        Self {
            count: times.len(),
            p50: at(50),
            p99: at(99),
            longest: at(100),
        }
    }
}

impl std::fmt::Display for LatencySummary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        let (p50, p99, longest) = (ms(self.p50), ms(self.p99), ms(self.longest));
        let count = self.count;
        write!(
            f,
            "p50 {p50:.1} ms, p99 {p99:.1} ms, longest {longest:.1} ms of {count}"
        )
    }
}
