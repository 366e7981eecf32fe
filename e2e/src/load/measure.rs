//! What a process uses, from `/proc` (Linux).

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// Reads what a process has used.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    pid: u32,
}

/// The time on a processor of each thread that lives, in nanoseconds, and of all that ever lived, in
/// ticks.
#[derive(Clone, Debug, Default)]
pub(super) struct CpuTime {
    threads: HashMap<String, u64>,
    ticks: u64,
}

/// USER_HZ is 100 on every architecture that matters.
const TICK: Duration = Duration::from_millis(10);

impl Meter {
    /// Of the process with this id.
    pub fn new(pid: u32) -> Self {
        Self { pid }
    }

    pub(super) fn cpu(self) -> Result<CpuTime> {
        let mut threads = HashMap::new();
        for thread in fs::read_dir(self.path("task")).context("the process has ended")? {
            let thread = thread?;
            // A thread that ends meanwhile is counted among the ticks.
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

    /// User and system time; proc_pid_stat(5).
    fn ticks(self) -> Result<u64> {
        let stat = fs::read_to_string(self.path("stat")).context("the process has ended")?;
        // The name may have spaces, and ends with the last parenthesis.
        let (_, fields) = stat
            .rsplit_once(')')
            .context("the name is in parentheses")?;
        let times = fields.split_whitespace().skip(11).take(2);
        let times: Result<Vec<u64>, _> = times.map(str::parse).collect();
        Ok(times?.iter().sum())
    }

    /// Its resident memory, in bytes.
    pub fn memory(self) -> Result<u64> {
        let status = fs::read_to_string(self.path("status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
        Ok(1024 * kibibytes.context("no size")?.parse::<u64>()?)
    }

    /// Its open descriptors.
    pub fn descriptors(self) -> Result<usize> {
        Ok(fs::read_dir(self.path("fd"))?.count())
    }

    fn path(self, file: &str) -> String {
        format!("/proc/{}/{file}", self.pid)
    }
}

impl CpuTime {
    /// The time since `before`. That of threads is exact, but those that ended are not among them:
    /// their time shows in the ticks, which may be two short.
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

/// How long calls took.
pub(super) struct Latencies(Vec<u32>);

impl Latencies {
    /// Of microseconds, each.
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
    fn work_shows_in_the_processor_time_of_this_process() {
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
    fn percentiles_are_times_that_were_measured() {
        let times = Latencies::from_micros((1..=200).rev().collect());
        assert_eq!((times.percentile(50), times.percentile(99)), (100.0, 198.0));
        assert_eq!(Latencies::from_micros(Vec::new()).percentile(99), 0.0);
    }
}
