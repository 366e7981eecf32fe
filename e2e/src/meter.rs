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
pub(crate) struct CpuTime {
    threads: HashMap<String, Duration>,
    total: Duration,
    /// The part of the total that was not spent in the kernel.
    user: Duration,
}

/// The resolution of the processor time of a process: USER_HZ is 100 on all common architectures.
const TICK: Duration = Duration::from_millis(10);

impl Meter {
    /// Creates a meter for the process with this id.
    pub fn new(pid: u32) -> Self {
        Self { pid }
    }

    pub(crate) fn cpu(self) -> Result<CpuTime> {
        let threads = self.threads()?;
        let [user, kernel] = self.user_and_kernel_time()?;
        Ok(CpuTime {
            threads,
            total: user + kernel,
            user,
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
    pub(crate) fn cpu_time_of_threads(self) -> Result<Duration> {
        Ok(self.threads()?.values().sum())
    }

    /// Returns the user and system time in hundredths of a second.
    pub(crate) fn cpu_time(self) -> Result<Duration> {
        Ok(self.user_and_kernel_time()?.iter().sum())
    }

    /// Returns the user and the system time in hundredths of a second; see proc_pid_stat(5).
    fn user_and_kernel_time(self) -> Result<[Duration; 2]> {
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
        Ok([time()?, time()?])
    }

    /// Returns the resident memory in bytes.
    pub fn memory(self) -> Result<u64> {
        self.size("status", "VmRSS:")
    }

    /// Returns the peak of the resident memory in bytes.
    pub(crate) fn peak_memory(self) -> Result<u64> {
        self.size("status", "VmHWM:")
    }

    /// Returns the resident memory in bytes. Unlike [`memory`](Self::memory), this is exact; see
    /// proc_pid_status(5).
    pub(crate) fn exact_memory(self) -> Result<u64> {
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

    /// Returns the number of open file descriptors.
    pub fn descriptors(self) -> Result<usize> {
        Ok(fs::read_dir(self.path("fd"))?.count())
    }

    fn path(self, file: &str) -> String {
        format!("/proc/{}/{file}", self.pid)
    }
}

/// Returns the time in which any core of the machine was not idle; see proc_stat(5).
pub(crate) fn cpu_time_of_machine() -> Duration {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let times = stat.split_whitespace().skip(1).take(8);
    let times = times.map(|time| time.parse::<u32>().unwrap_or(0));
    // The fourth time is that of idle cores, and the fifth that of those that wait for a disk.
    let busy = times.enumerate().filter(|(n, _)| ![3, 4].contains(n));
    TICK * busy.map(|(_, time)| time).sum::<u32>()
}

impl CpuTime {
    /// Returns the part of the processor time since `before` that was not spent in the kernel, from
    /// 0 to 1. It is known to a tick.
    pub(crate) fn user_part_since(&self, before: &CpuTime) -> f64 {
        let total = self.total.saturating_sub(before.total);
        let user = self.user.saturating_sub(before.user);
        user.as_secs_f64() / total.max(TICK).as_secs_f64()
    }

    /// Returns the processor time since `before`. The sum over the threads is exact, but lacks
    /// threads that have ended; their time is in the total, which may be two ticks too small.
    pub(crate) fn since(&self, before: &CpuTime) -> Duration {
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
        assert!(cpu_time_of_machine() > Duration::ZERO);
        let before = meter.cpu().unwrap();
        let begin = Instant::now();
        while meter.cpu().unwrap().since(&before) < Duration::from_millis(1) {
            assert!(begin.elapsed() < Duration::from_secs(20));
        }
        let user = meter.cpu().unwrap().user_part_since(&CpuTime::default());
        assert!((0.0..=1.0).contains(&user), "{user}");
        assert!(meter.memory().unwrap() > 0);
        assert!(meter.descriptors().unwrap() > 0);
    }
}
