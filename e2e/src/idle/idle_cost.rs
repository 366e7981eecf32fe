//! The cost of ten thousand idle pages: how fast they connect, the memory and processor time that
//! they use, and how they affect the latency of other clients.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::{
    IdlePages, LatencySummary, PageDistribution, Server, Target, average, measure_latency,
};

/// How long latency is measured, without and with the pages, unless `rest` is shorter.
const CALLS_DURATION: Duration = Duration::from_secs(20);

/// The cost of idle pages.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct IdleCost {
    /// The pages.
    #[serde(flatten)]
    pub distribution: PageDistribution,
    /// How many pages connected and registered per second.
    pub pages_per_second: f64,
    /// Processor time of the bridge per page for that, in microseconds.
    pub connecting_us: f64,
    /// Resident memory per page in KiB, after the first heartbeats.
    pub kib: f64,
    /// Resident memory per page in KiB, at the end of the rest.
    pub kib_after_rest: f64,
    /// Processor time of the bridge during the rest, in percent of a core.
    pub cpu_at_rest: f64,
    /// The latency of calls before the pages connect.
    #[serde(rename = "alone")]
    pub baseline: LatencySummary,
    /// The latency of calls with the idle pages.
    #[serde(rename = "beside")]
    pub under_load: LatencySummary,
    /// The number of calls with the idle pages that took more than twice the p99 of the baseline.
    #[serde(rename = "over")]
    pub slow_calls: usize,
}

/// Connects the pages, and measures their cost while they do nothing for `rest`.
pub async fn measure_idle_cost(
    distribution: PageDistribution,
    rest: Duration,
    heartbeat: Duration,
) -> IdleCost {
    let bridge = Server::bridge(distribution.pages, heartbeat).await;
    let calls_duration = CALLS_DURATION.min(rest);
    let baseline = measure_latency(&bridge.address, calls_duration).await;

    let (before, cpu) = (bridge.resident_bytes(), bridge.cpu_time());
    let mut pages = IdlePages::new(Target::Bridge, &bridge.address, distribution);
    let connecting_time = pages.grow_to(distribution.pages).await;
    let connecting_cpu = bridge.cpu_time() - cpu;
    // Each page has had its first heartbeat by then: they start within one and a half intervals.
    tokio::time::sleep(heartbeat * 3 / 2).await; // sleep: it is what is measured
    let resident = bridge.resident_bytes();
    let cpu = bridge.cpu_time();
    tokio::time::sleep(rest).await; // sleep: it is what is measured
    let rest_cpu = bridge.cpu_time() - cpu;
    let resident_after_rest = bridge.resident_bytes();
    let under_load = measure_latency(&bridge.address, calls_duration).await;

    let kib = |bytes: u64| average(bytes.saturating_sub(before), distribution.pages) / 1024.0;
    IdleCost {
        distribution,
        pages_per_second: distribution.pages as f64 / connecting_time.as_secs_f64(),
        connecting_us: average(connecting_cpu.as_micros() as u64, distribution.pages),
        kib: kib(resident),
        kib_after_rest: kib(resident_after_rest),
        cpu_at_rest: 100.0 * rest_cpu.as_secs_f64() / rest.as_secs_f64().max(0.001),
        slow_calls: under_load.count_over(2 * baseline.permille(990)),
        baseline: (&baseline).into(),
        under_load: (&under_load).into(),
    }
}

impl fmt::Display for IdleCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PageDistribution {
            pages,
            per_token,
            sets,
            tools,
        } = self.distribution;
        writeln!(
            f,
            "{pages} pages, {per_token} per token, {} sets of {tools}: {:.0} pages/s, {:.0} µs of CPU \
             each; {:.1} KiB a page ({:.1} after the rest); at rest {:.2} % of a core",
            sets.name(),
            self.pages_per_second,
            self.connecting_us,
            self.kib,
            self.kib_after_rest,
            self.cpu_at_rest,
        )?;
        writeln!(f, "  calls without pages: {}", self.baseline)?;
        let (under_load, slow_calls) = (self.under_load, self.slow_calls);
        write!(
            f,
            "  calls with pages:    {under_load}, {slow_calls} over twice the p99 without pages"
        )
    }
}
