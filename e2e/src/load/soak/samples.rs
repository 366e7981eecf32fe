use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;

use crate::load::Meter;

/// What has happened so far.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) answered: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) cancelled: AtomicU64,
    pub(super) connected: AtomicU64,
    pub(super) mcp_sessions: AtomicU64,
}

pub(super) fn increment(what: &AtomicU64) {
    what.fetch_add(1, Ordering::Relaxed);
}

/// What had happened at one moment, and what the bridge held then.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// Seconds since the start.
    pub seconds: u64,
    /// Resident memory in bytes.
    pub memory: u64,
    /// Open descriptors.
    pub descriptors: usize,
    /// Calls that were answered right.
    pub answered: u64,
    /// Calls that failed, because their page was gone.
    pub failed: u64,
    /// Calls that were given up.
    pub cancelled: u64,
    /// Connections of pages.
    pub connected: u64,
    /// MCP sessions that were opened.
    pub mcp_sessions: u64,
}

impl Counters {
    pub(super) fn sample(&self, meter: Meter, since: Duration) -> Result<Sample> {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Ok(Sample {
            seconds: since.as_secs(),
            memory: meter.memory()?,
            descriptors: meter.descriptors()?,
            answered: of(&self.answered),
            failed: of(&self.failed),
            cancelled: of(&self.cancelled),
            connected: of(&self.connected),
            mcp_sessions: of(&self.mcp_sessions),
        })
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:>5} s: {:.1} MiB, {} descriptors; calls: {} answered, {} failed with their pages, {} \
             given up; {} connections of pages, {} MCP sessions",
            self.seconds,
            to_mib(self.memory),
            self.descriptors,
            self.answered,
            self.failed,
            self.cancelled,
            self.connected,
            self.mcp_sessions
        )
    }
}

fn to_mib(bytes: u64) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}

/// What the bridge held from the start to the end.
#[derive(Clone, Debug, Default)]
pub struct SampleSeries(Vec<Sample>);

impl SampleSeries {
    pub(super) fn push(&mut self, sample: Sample) {
        self.0.push(sample);
    }

    /// The samples, in the order of time.
    pub fn samples(&self) -> &[Sample] {
        &self.0
    }

    /// How much more memory, and how many more descriptors, it held on average in the last quarter
    /// than in the second: 1.0 is as much. The first quarter is for warming up.
    pub fn growth(&self) -> (f64, f64) {
        let quarter = self.0.len() / 4;
        let mean = |samples: &[Sample], of: fn(&Sample) -> f64| {
            samples.iter().map(of).sum::<f64>() / samples.len().max(1) as f64
        };
        let growth = |of: fn(&Sample) -> f64| {
            let early = mean(&self.0[quarter..quarter * 2], of);
            let late = mean(&self.0[self.0.len() - quarter..], of);
            if early > 0.0 { late / early } else { 1.0 }
        };
        (
            growth(|sample| sample.memory as f64),
            growth(|sample| sample.descriptors as f64),
        )
    }
}

impl fmt::Display for SampleSeries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (memory, descriptors) = self.growth();
        let most = self.0.iter().map(|sample| sample.memory).max();
        write!(
            f,
            "the last quarter beside the second: {memory:.2} times the memory, {descriptors:.2} times \
             the descriptors; at most {:.1} MiB",
            to_mib(most.unwrap_or(0))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_compares_the_last_quarter_with_the_second() {
        let mut held = SampleSeries::default();
        for (second, memory) in [50, 100, 100, 150].into_iter().enumerate() {
            let tally = Counters::default();
            let sample = tally.sample(Meter::new(std::process::id()), Duration::ZERO);
            held.push(Sample {
                seconds: second as u64,
                memory,
                descriptors: 10,
                ..sample.unwrap()
            });
        }
        assert_eq!(held.growth(), (1.5, 1.0));
        assert_eq!(SampleSeries::default().growth(), (1.0, 1.0));
    }
}
