//! Child processes that never outlive their journey.

use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;

use crate::with_deadline;

/// A child process in a process group of its own, with everything it printed.
///
/// The group is killed on drop, so that what the child started ends with it.
#[derive(Debug)]
pub struct ProcessGroup {
    name: String,
    leader: Pid,
    child: Child,
    output: Arc<Mutex<Vec<String>>>,
    printed: watch::Receiver<usize>,
}

impl ProcessGroup {
    /// Starts `command` without standard input. `name` is for messages.
    pub fn start(name: &str, mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        let leader = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let output = Arc::new(Mutex::new(Vec::new()));
        let (count, printed) = watch::channel(0);
        let count = Arc::new(count);
        collect_lines(child.stdout.take(), output.clone(), count.clone());
        collect_lines(child.stderr.take(), output.clone(), count);
        Self {
            name: name.to_owned(),
            leader: leader.expect("a child that was just started has an id"),
            child,
            output,
            printed,
        }
    }

    /// Waits until the child prints a line that contains `text`, and returns that line.
    ///
    /// Fails with all output when the child ends without printing it.
    pub async fn wait_for_line(&mut self, text: &str) -> String {
        let line = self.wait_for_line_or_end(text).await;
        line.unwrap_or_else(|| panic!("{} ended; it printed:\n{}", self.name, self.log()))
    }

    /// The same; `None` when the child ends without printing it.
    pub async fn wait_for_line_or_end(&mut self, text: &str) -> Option<String> {
        let what = format!("{} to print {text:?}", self.name);
        with_deadline(what, async {
            loop {
                let has_ended = self.printed.has_changed().is_err();
                let line = self.lines().into_iter().find(|line| line.contains(text));
                if line.is_some() || has_ended {
                    return line;
                }
                // An error says that it has ended: the next look is the last.
                let _ = self.printed.changed().await;
            }
        })
        .await
    }

    /// Waits for the child's end and all that it printed. False when it goes on for longer.
    pub async fn wait_for_end(&mut self, time: Duration) -> bool {
        let ended = async {
            while self.printed.changed().await.is_ok() {}
            self.child.wait().await.expect("a child can be waited for");
        };
        tokio::time::timeout(time, ended).await.is_ok()
    }

    /// Interrupts the group (SIGINT), as a person does with Ctrl-C.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// The processes that the child started, directly or not, whose command line contains `text`.
    pub fn descendants(&self, text: &str) -> Vec<Pid> {
        let mut family = vec![self.leader];
        let mut found = Vec::new();
        let all: Vec<_> = processes().collect();
        while let Some(parent) = family.pop() {
            for (pid, _) in all.iter().filter(|(_, its)| *its == parent) {
                family.push(*pid);
                if command_line(*pid).contains(text) {
                    found.push(*pid);
                }
            }
        }
        found
    }

    /// Everything printed so far, standard output and error together.
    pub fn log(&self) -> String {
        self.lines().join("\n")
    }

    /// The leader's process id.
    pub fn id(&self) -> u32 {
        self.leader.as_raw_nonzero().get().cast_unsigned()
    }

    /// The processor time that the leader has used so far (Linux).
    pub fn cpu_time(&self) -> Duration {
        let stat = self.proc_file("stat");
        // proc_pid_stat(5): the name may have spaces, and ends with the last parenthesis.
        let (_, fields) = stat.rsplit_once(')').expect("the name is in parentheses");
        let ticks = fields.split_whitespace().skip(11).take(2);
        let ticks: u64 = ticks.map(|ticks| ticks.parse::<u64>().unwrap()).sum();
        // USER_HZ is 100 on every architecture that matters.
        Duration::from_millis(ticks * 10)
    }

    /// The most memory that the leader has used so far, in bytes (Linux).
    pub fn peak_memory(&self) -> u64 {
        let status = self.proc_file("status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
        1024 * kibibytes.expect("a size").parse::<u64>().unwrap()
    }

    /// The memory that the leader has now, in bytes (Linux).
    pub(crate) fn resident_memory(&self) -> u64 {
        let rollup = self.proc_file("smaps_rollup");
        let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:"));
        let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
        1024 * kibibytes.expect("a size").parse::<u64>().unwrap()
    }

    /// The processor time of all its threads, by the scheduler's clock: `stat` counts in
    /// hundredths of a second. A thread that has ended no longer counts.
    pub(crate) fn cpu_of_threads(&self) -> Duration {
        let tasks = format!("/proc/{}/task", self.leader.as_raw_nonzero());
        let threads = std::fs::read_dir(tasks).expect("the child runs").flatten();
        let used = threads.filter_map(|thread| {
            let schedstat = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
            schedstat.split(' ').next()?.parse::<u64>().ok()
        });
        Duration::from_nanos(used.sum())
    }

    pub(crate) fn proc_file(&self, file: &str) -> String {
        let pid = self.leader.as_raw_nonzero();
        std::fs::read_to_string(format!("/proc/{pid}/{file}")).expect("the child runs")
    }

    /// Kills the group (as a crash would) and waits until the child is gone.
    pub async fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.wait_until_gone().await;
    }

    /// Asks the group to end (SIGTERM) and waits until the child is gone.
    pub async fn terminate(&mut self) {
        self.signal(Signal::TERM);
        self.wait_until_gone().await;
    }

    async fn wait_until_gone(&mut self) {
        let what = format!("{} to end", self.name);
        with_deadline(what, self.child.wait())
            .await
            .expect("a child can be waited for");
    }

    fn signal(&self, signal: Signal) {
        // A group that has already ended is no error.
        let _ = kill_process_group(self.leader, signal);
    }

    fn lines(&self) -> Vec<String> {
        self.output.lock().expect("no holder panics").clone()
    }
}

/// Every process and its parent, from `/proc/PID/stat` (proc_pid_stat(5)).
fn processes() -> impl Iterator<Item = (Pid, Pid)> {
    let entries = std::fs::read_dir("/proc").expect("this is Linux");
    entries.flatten().filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        // The second field, the name, may contain spaces; the parent is the second after it.
        let (_, after_name) = stat.rsplit_once(')')?;
        let parent = after_name.split_whitespace().nth(1)?.parse().ok()?;
        Some((Pid::from_raw(pid)?, Pid::from_raw(parent)?))
    })
}

fn command_line(pid: Pid) -> String {
    let path = format!("/proc/{}/cmdline", pid.as_raw_nonzero());
    let line = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&line).into_owned()
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if self.child.id().is_some() {
            self.signal(Signal::KILL);
        }
    }
}

fn collect_lines(
    pipe: Option<impl AsyncRead + Unpin + Send + 'static>,
    output: Arc<Mutex<Vec<String>>>,
    count: Arc<watch::Sender<usize>>,
) {
    let mut lines = BufReader::new(pipe.expect("the pipe was asked for")).lines();
    // The task ends with the pipe, and the pipe with the group.
    tokio::spawn(async move {
        while let Ok(Some(line)) = lines.next_line().await {
            output.lock().expect("no holder panics").push(line);
            count.send_modify(|count| *count += 1);
        }
    });
}
