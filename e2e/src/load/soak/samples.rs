//! The counts of a soak, and the resources that the bridge uses.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;

use crate::meter::Meter;

/// Counts of what has happened so far.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) answered: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) cancelled: AtomicU64,
    pub(super) connected: AtomicU64,
    pub(super) mcp_sessions: AtomicU64,
}

pub(super) fn increment(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// The counts at one moment, and what the bridge used then.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// Seconds since the start.
    pub seconds: u64,
    /// Resident memory in bytes.
    pub memory: u64,
    /// Open file descriptors.
    pub descriptors: usize,
    /// Calls with a correct answer.
    pub answered: u64,
    /// Calls that failed because their page was gone.
    pub failed: u64,
    /// Calls that were cancelled.
    pub cancelled: u64,
    /// Connections of pages that were opened.
    pub connected: u64,
    /// MCP sessions that were opened.
    pub mcp_sessions: u64,
}

impl Counters {
    pub(super) fn sample(&self, meter: Meter, elapsed: Duration) -> Result<Sample> {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Ok(Sample {
            seconds: elapsed.as_secs(),
            memory: meter.memory()?,
            descriptors: meter.descriptors()?,
            answered: load(&self.answered),
            failed: load(&self.failed),
            cancelled: load(&self.cancelled),
            connected: load(&self.connected),
            mcp_sessions: load(&self.mcp_sessions),
        })
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:>5} s: {:.1} MiB, {} descriptors; calls: {} answered, {} failed with their pages, {} \
cancelled; {} connections of pages, {} MCP sessions",
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

/// All samples of a soak.
#[derive(Clone, Debug, Default)]
pub struct SampleSeries(Vec<Sample>);

impl SampleSeries {
    pub(super) fn push(&mut self, sample: Sample) {
        self.0.push(sample);
    }

    /// Returns the samples, in the order of time.
    pub fn samples(&self) -> &[Sample] {
        &self.0
    }

    /// Returns the ratio of memory and of descriptors in the last quarter to those in the second
    /// one, on average; 1.0 means no growth. The first quarter is for warming up.
    pub fn growth(&self) -> (f64, f64) {
        let quarter = self.0.len() / 4;
        let mean = |samples: &[Sample], value: fn(&Sample) -> f64| {
            samples.iter().map(value).sum::<f64>() / samples.len().max(1) as f64
        };
        let growth = |value: fn(&Sample) -> f64| {
            let early = mean(&self.0[quarter..quarter * 2], value);
            let late = mean(&self.0[self.0.len() - quarter..], value);
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
        let max = self.0.iter().map(|sample| sample.memory).max();
        write!(
            f,
            "the last quarter compared with the second: {memory:.2} times the memory, \
             {descriptors:.2} times the descriptors; at most {:.1} MiB",
            to_mib(max.unwrap_or(0))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_compares_the_last_quarter_with_the_second() {
        let mut series = SampleSeries::default();
        for (second, memory) in [50, 100, 100, 150].into_iter().enumerate() {
            let counters = Counters::default();
            let sample = counters.sample(Meter::new(std::process::id()), Duration::ZERO);
            series.push(Sample {
                seconds: second as u64,
                memory,
                descriptors: 10,
                ..sample.unwrap()
            });
        }
        assert_eq!(series.growth(), (1.5, 1.0));
        assert_eq!(SampleSeries::default().growth(), (1.0, 1.0));
    }
}
