//! The usage of processes: processor time, memory and open files.

use std::time::Duration;

use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

/// The maximum number of processes whose usage is added: a process decides how many it starts.
const MAX_PROCESSES: usize = 64;

/// The usage of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceUsage {
    /// When the process was started, in seconds since the Unix epoch.
    pub started_at: u64,
    /// The processor time of all of its threads.
    pub cpu_time: Duration,
    /// The memory that is not swapped out, in bytes.
    pub resident_bytes: u64,
    /// The number of open files, if the system reports it.
    pub open_files: Option<usize>,
    /// The maximum number of open files, if the system reports it.
    pub max_open_files: Option<usize>,
}

impl ResourceUsage {
    /// Reads the usage of this process. Returns `None` where the system does not report it.
    ///
    /// # Examples
    ///
    /// ```
    /// let usage = bridge_edge::ResourceUsage::of_this_process().unwrap();
    /// assert!(usage.resident_bytes > 0);
    /// ```
    pub fn of_this_process() -> Option<Self> {
        let (system, id) = refreshed(std::process::id())?;
        let process = system.process(id)?;
        Some(Self {
            open_files: process.open_files(),
            max_open_files: process.open_files_limit(),
            ..Self::of(process)
        })
    }

    /// Reads the usage of these processes and of those that they have started, as one sum since the
    /// start of the first. Open files are not counted. Returns `None` if none of them runs.
    pub fn of_trees(roots: &[u32]) -> Option<Self> {
        let mut ids = roots.to_vec();
        let mut next = 0;
        while next < ids.len() && ids.len() < MAX_PROCESSES {
            ids.extend(children(ids[next]));
            next += 1;
        }
        ids.truncate(MAX_PROCESSES);
        let usages = ids.into_iter().filter_map(|id| {
            let (system, id) = refreshed(id)?;
            system.process(id).map(Self::of)
        });
        usages.reduce(|sum, usage| Self {
            started_at: sum.started_at.min(usage.started_at),
            cpu_time: sum.cpu_time + usage.cpu_time,
            resident_bytes: sum.resident_bytes + usage.resident_bytes,
            ..sum
        })
    }

    fn of(process: &sysinfo::Process) -> Self {
        Self {
            started_at: process.start_time(),
            cpu_time: Duration::from_millis(process.accumulated_cpu_time()),
            resident_bytes: process.memory(),
            open_files: None,
            max_open_files: None,
        }
    }
}

/// Reads one process.
fn refreshed(id: u32) -> Option<(System, Pid)> {
    let mut system = System::new().ok()?;
    let id = Pid::from_u32(id);
    let kind = ProcessRefreshKind::nothing().with_cpu().with_memory();
    let processes = ProcessesToUpdate::Some(&[id]);
    system.refresh_processes_specifics(processes, false, kind.without_tasks());
    Some((system, id))
}

/// Returns the ids of the processes that a process has started. Only Linux lists them.
fn children(id: u32) -> Vec<u32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{id}/task")) else {
        return Vec::new();
    };
    let lists = threads.flatten().filter_map(|thread| {
        let list = std::fs::read_to_string(thread.path().join("children"));
        list.ok()
    });
    let mut children = Vec::new();
    for list in lists {
        children.extend(
            list.split_whitespace()
                .filter_map(|id| id.parse::<u32>().ok()),
        );
    }
    children
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn this_process_has_been_started_and_uses_memory_and_files() {
        let usage = ResourceUsage::of_this_process().unwrap();
        let now = std::time::SystemTime::now();
        let now = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        assert!(
            (now - 24 * 3600..=now + 1).contains(&usage.started_at),
            "{usage:?}"
        );
        assert!(usage.resident_bytes > 1024 * 1024, "{usage:?}");
        let (open, max) = (usage.open_files.unwrap(), usage.max_open_files.unwrap());
        assert!((3..=max).contains(&open), "{usage:?}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_counts_with_those_that_it_has_started() {
        // The shell waits for a program that waits for the end of its input.
        let mut shell = Command::new("sh");
        shell.args(["-c", "cat; :"]);
        let mut shell = shell
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while children(shell.id()).is_empty() {
            std::thread::yield_now();
        }
        let alone = refreshed(shell.id()).unwrap();
        let alone = ResourceUsage::of(alone.0.process(alone.1).unwrap());
        let together = ResourceUsage::of_trees(&[shell.id()]).unwrap();
        assert!(
            together.resident_bytes > alone.resident_bytes,
            "{together:?} {alone:?}"
        );
        assert_eq!(together.started_at, alone.started_at);
        drop(shell.stdin.take());
        shell.wait().unwrap();
        assert_eq!(ResourceUsage::of_trees(&[shell.id()]), None);
    }
}
