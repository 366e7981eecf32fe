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

/// The processor time of each thread that still runs, and of all threads that ever ran.
#[derive(Clone, Debug, Default)]
pub struct CpuTime {
    threads: HashMap<String, Duration>,
    total: Duration,
}

/// The resolution of the processor time of a process: USER_HZ is 100 on all common architectures.
const TICK: Duration = Duration::from_millis(10);

impl Meter {
    /// Creates a meter for the process with this id.
    pub fn new(pid: u32) -> Self {
        Self { pid }
    }

    /// Returns the processor time so far. The difference of two of them is exact.
    pub fn cpu(self) -> Result<CpuTime> {
        Ok(CpuTime {
            threads: self.threads()?,
            total: self.cpu_time()?,
        })
    }

    /// Returns the processor time of each thread that still runs, by the clock of the scheduler.
    fn threads(self) -> Result<HashMap<String, Duration>> {
        let mut threads = HashMap::new();
        for thread in fs::read_dir(self.path("task")).context("the process has ended")? {
            let thread = thread?;
            // A thread may end meanwhile.
            if let Ok(schedstat) = fs::read_to_string(thread.path().join("schedstat")) {
                let nanos = schedstat
                    .split(' ')
                    .next()
                    .and_then(|time| time.parse().ok());
                let name = thread.file_name().to_string_lossy().into_owned();
                threads.insert(name, Duration::from_nanos(nanos.unwrap_or(0)));
            }
        }
        Ok(threads)
    }

    /// Returns the processor time of the threads that still run, by the clock of the scheduler,
    /// which is more precise than [`cpu_time`](Self::cpu_time).
    pub fn cpu_time_of_threads(self) -> Result<Duration> {
        Ok(self.threads()?.values().sum())
    }

    /// Returns the user and system time in hundredths of a second; see proc_pid_stat(5).
    pub(crate) fn cpu_time(self) -> Result<Duration> {
        let stat = fs::read_to_string(self.path("stat")).context("the process has ended")?;
        // The process name may contain spaces; it ends with the last parenthesis.
        let (_, fields) = stat
            .rsplit_once(')')
            .context("the name is in parentheses")?;
        let mut times = fields.split_whitespace().skip(11);
        let mut time = || -> Result<Duration> {
            let ticks: u32 = times.next().context("a time is missing")?.parse()?;
            Ok(TICK * ticks)
        };
        Ok(time()? + time()?)
    }

    /// Returns the peak of the resident memory in bytes.
    pub fn peak_memory(self) -> Result<u64> {
        self.size("status", "VmHWM:")
    }

    /// Returns the resident memory in bytes. Unlike that in `status`, it is exact; see
    /// proc_pid_status(5).
    pub fn exact_memory(self) -> Result<u64> {
        self.size("smaps_rollup", "Rss:")
    }

    fn size(self, file: &str, field: &str) -> Result<u64> {
        let text = fs::read_to_string(self.path(file)).context("the process has ended")?;
        let line = text.lines().find_map(|line| line.strip_prefix(field));
        let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
        Ok(1024
            * kibibytes
                .with_context(|| format!("no {field}"))?
                .parse::<u64>()?)
    }

    fn path(self, file: &str) -> String {
        format!("/proc/{}/{file}", self.pid)
    }
}

impl CpuTime {
    /// Returns the processor time since `before`. The sum over the threads is exact, but lacks
    /// threads that have ended; their time is in the total, which may be two ticks too small.
    pub fn since(&self, before: &CpuTime) -> Duration {
        let threads = self.threads.iter().map(|(thread, time)| {
            let before = before.threads.get(thread).copied().unwrap_or_default();
            time.saturating_sub(before)
        });
        let exact: Duration = threads.sum();
        let total = self.total.saturating_sub(before.total);
        if total > exact + 2 * TICK {
            total
        } else {
            exact
        }
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
        assert!(meter.exact_memory().unwrap() > 0);
    }
}
