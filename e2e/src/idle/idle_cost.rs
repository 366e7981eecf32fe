//! Ten thousand pages at rest: how fast they come, what they take, and whether anybody else
//! notices.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::{
    IdlePages, LatencySummary, PageDistribution, Server, Target, average, measure_latency,
};

/// How long calls are timed, before the pages come and beside them, unless the rest is shorter.
const CALLS_DURATION: Duration = Duration::from_secs(20);

/// What was measured of pages that do nothing.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct IdleCost {
    /// What they are.
    #[serde(flatten)]
    pub spread: PageDistribution,
    /// How fast they connected and registered.
    pub pages_per_second: f64,
    /// Processor time of the bridge for one of them to do so, in microseconds.
    pub connecting_us: f64,
    /// Resident memory of each, in KiB, when all had answered heartbeats.
    pub kib: f64,
    /// The same at the end of the rest.
    pub kib_after_rest: f64,
    /// Processor time of the bridge at rest, in hundredths of a core.
    pub cpu_at_rest: f64,
    /// Calls before the pages came.
    pub alone: LatencySummary,
    /// Calls beside them.
    pub beside: LatencySummary,
    /// Calls of those beside them that took more than twice `alone.p99_us`.
    pub over: usize,
}

/// Lets the pages come, and watches them for so long.
pub async fn measure_idle_cost(
    spread: PageDistribution,
    rest: Duration,
    heartbeat: Duration,
) -> IdleCost {
    let bridge = Server::bridge(spread.pages, heartbeat).await;
    let calls_for = CALLS_DURATION.min(rest);
    let alone = measure_latency(&bridge.address, calls_for).await;

    let (before, cpu) = (bridge.resident_bytes(), bridge.cpu_time());
    let mut crowd = IdlePages::new(Target::Bridge, &bridge.address, spread);
    let took = crowd.grow_to(spread.pages).await;
    let connecting = bridge.cpu_time() - cpu;
    // The first heartbeat of each has come by then: they begin within one and a half intervals.
    tokio::time::sleep(heartbeat * 3 / 2).await; // sleep: it is what is measured
    let resident = bridge.resident_bytes();
    let cpu = bridge.cpu_time();
    tokio::time::sleep(rest).await; // sleep: it is what is measured
    let resting = bridge.cpu_time() - cpu;
    let later = bridge.resident_bytes();
    let beside = measure_latency(&bridge.address, calls_for).await;

    let kib = |bytes: u64| average(bytes.saturating_sub(before), spread.pages) / 1024.0;
    IdleCost {
        spread,
        pages_per_second: spread.pages as f64 / took.as_secs_f64(),
        connecting_us: average(connecting.as_micros() as u64, spread.pages),
        kib: kib(resident),
        kib_after_rest: kib(later),
        cpu_at_rest: 100.0 * resting.as_secs_f64() / rest.as_secs_f64().max(0.001),
        over: beside.count_over(2 * alone.permille(990)),
        alone: (&alone).into(),
        beside: (&beside).into(),
    }
}

impl fmt::Display for IdleCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PageDistribution {
            pages,
            per_token,
            sets,
            tools,
        } = self.spread;
        writeln!(
            f,
            "{pages} pages, {per_token} per token, {} sets of {tools}: {:.0} pages/s, {:.0} µs of CPU \
             each; {:.1} KiB a page (after a rest {:.1}); at rest {:.2} % of a core",
            sets.name(),
            self.pages_per_second,
            self.connecting_us,
            self.kib,
            self.kib_after_rest,
            self.cpu_at_rest,
        )?;
        writeln!(f, "  calls alone : {}", self.alone)?;
        let (beside, over) = (self.beside, self.over);
        write!(
            f,
            "  calls beside: {beside}, {over} over twice the p99 alone"
        )
    }
}
