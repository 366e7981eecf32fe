//! The resources that a process uses, from `/proc` (Linux).

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// Measures the resources of a process.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    pid: u32,
}

/// The processor time of each thread that still runs, in nanoseconds, and of all threads that ever
/// ran, in ticks.
#[derive(Clone, Debug, Default)]
pub(super) struct CpuTime {
    threads: HashMap<String, u64>,
    ticks: u64,
}

/// USER_HZ is 100 on all common architectures.
const TICK: Duration = Duration::from_millis(10);

impl Meter {
    /// Creates a meter for the process with this id.
    pub fn new(pid: u32) -> Self {
        Self { pid }
    }

    pub(super) fn cpu(self) -> Result<CpuTime> {
        let mut threads = HashMap::new();
        for thread in fs::read_dir(self.path("task")).context("the process has ended")? {
            let thread = thread?;
            // A thread that ends meanwhile is included in the ticks.
            if let Ok(schedstat) = fs::read_to_string(thread.path().join("schedstat")) {
                let on_cpu = schedstat
                    .split(' ')
                    .next()
                    .and_then(|time| time.parse().ok());
                let name = thread.file_name().to_string_lossy().into_owned();
                threads.insert(name, on_cpu.unwrap_or(0));
            }
        }
        Ok(CpuTime {
            threads,
            ticks: self.ticks()?,
        })
    }

    /// The user and system time in ticks; see proc_pid_stat(5).
    fn ticks(self) -> Result<u64> {
        let stat = fs::read_to_string(self.path("stat")).context("the process has ended")?;
        // The process name may contain spaces; it ends with the last parenthesis.
        let (_, fields) = stat
            .rsplit_once(')')
            .context("the name is in parentheses")?;
        let times = fields.split_whitespace().skip(11).take(2);
        let times: Result<Vec<u64>, _> = times.map(str::parse).collect();
        Ok(times?.iter().sum())
    }

    /// The resident memory in bytes.
    pub fn memory(self) -> Result<u64> {
        let status = fs::read_to_string(self.path("status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
        Ok(1024 * kibibytes.context("no VmRSS")?.parse::<u64>()?)
    }

    /// The number of open file descriptors.
    pub fn descriptors(self) -> Result<usize> {
        Ok(fs::read_dir(self.path("fd"))?.count())
    }

    fn path(self, file: &str) -> String {
        format!("/proc/{}/{file}", self.pid)
    }
}

impl CpuTime {
    /// The processor time since `before`. The sum over the threads is exact, but lacks threads that
    /// have ended; their time is in the ticks, which may be two too few.
    pub(super) fn since(&self, before: &CpuTime) -> Duration {
        let threads = self.threads.iter().map(|(thread, time)| {
            let before = before.threads.get(thread).copied().unwrap_or(0);
            time.saturating_sub(before)
        });
        let exact = Duration::from_nanos(threads.sum());
        let ticks = TICK * u32::try_from(self.ticks - before.ticks).unwrap_or(u32::MAX);
        if ticks > exact + 2 * TICK {
            ticks
        } else {
            exact
        }
    }
}

/// The latencies of calls.
pub(super) struct Latencies(Vec<u32>);

impl Latencies {
    /// Creates them from microseconds.
    pub(super) fn from_micros(mut micros: Vec<u32>) -> Self {
        micros.sort_unstable();
        Self(micros)
    }

    pub(super) fn percentile(&self, percent: usize) -> f64 {
        let last = self.0.len().saturating_sub(1);
        f64::from(self.0.get(last * percent / 100).copied().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn processor_time_of_this_process_increases() {
        let meter = Meter::new(std::process::id());
        let before = meter.cpu().unwrap();
        let begin = Instant::now();
        while meter.cpu().unwrap().since(&before) < Duration::from_millis(1) {
            assert!(begin.elapsed() < Duration::from_secs(20));
        }
        assert!(meter.memory().unwrap() > 0);
        assert!(meter.descriptors().unwrap() > 0);
    }

    #[test]
    fn percentiles_are_measured_values() {
        let times = Latencies::from_micros((1..=200).rev().collect());
        assert_eq!((times.percentile(50), times.percentile(99)), (100.0, 198.0));
        assert_eq!(Latencies::from_micros(Vec::new()).percentile(99), 0.0);
    }
}
