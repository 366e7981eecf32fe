//! Child processes that never outlive their test.

use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;

use crate::meter::Meter;
use crate::with_deadline;

/// A child process in its own process group, and everything that it has printed.
///
/// The group is killed on drop, so that processes that the child started end with it. The child has
/// ended then, so that another can use its port.
#[derive(Debug)]
pub struct ProcessGroup {
    name: String,
    leader: Pid,
    child: Child,
    output: Arc<Mutex<Vec<String>>>,
    printed: watch::Receiver<usize>,
}

impl ProcessGroup {
    /// Starts `command` without standard input. `name` is used in messages.
    pub fn start(name: &str, command: Command) -> Self {
        Self::spawn(name, command, Stdio::null())
    }

    /// Starts `command` with a standard input that closes with this process.
    pub(crate) fn start_with_input(name: &str, command: Command) -> Self {
        Self::spawn(name, command, Stdio::piped())
    }

    fn spawn(name: &str, mut command: Command, input: Stdio) -> Self {
        let mut child = command
            .stdin(input)
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

    /// Writes a line to the standard input of a child that has one.
    pub(crate) async fn write_line(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("the child has an input");
        let line = format!("{line}\n");
        input.write_all(line.as_bytes()).await.unwrap();
    }

    /// Waits until the child prints a line that contains `text`, and returns that line. Panics with
    /// the whole output if the child ends without printing it.
    pub async fn wait_for_line(&mut self, text: &str) -> String {
        let line = self.wait_for_line_or_end(text).await;
        line.unwrap_or_else(|| panic!("{} ended; it printed:\n{}", self.name, self.log()))
    }

    /// Waits until the child prints a line that contains `text`, and returns that line, or `None`
    /// if the child ends without printing it.
    pub async fn wait_for_line_or_end(&mut self, text: &str) -> Option<String> {
        let what = format!("{text:?}");
        self.find_line(&what, |line| line.contains(text)).await
    }

    /// Waits until the child prints a line that is a number, and returns it.
    pub async fn wait_for_number(&mut self) -> u32 {
        let line = self.find_line("a number", |line| line.trim().parse::<u32>().is_ok());
        let line = line.await.and_then(|line| line.trim().parse().ok());
        line.unwrap_or_else(|| panic!("{} ended; it printed:\n{}", self.name, self.log()))
    }

    /// Waits for a line, or for the end of the child.
    async fn find_line(&mut self, what: &str, fits: impl Fn(&str) -> bool) -> Option<String> {
        let what = format!("{} to print {what}", self.name);
        with_deadline(what, async {
            loop {
                let has_ended = self.printed.has_changed().is_err();
                let line = self.lines().into_iter().find(|line| fits(line));
                if line.is_some() || has_ended {
                    return line;
                }
                // An error means that the child has ended: the next iteration is the last one.
                let _ = self.printed.changed().await;
            }
        })
        .await
    }

    /// Waits until the child has ended and its output is complete. Returns `false` after `timeout`.
    pub async fn wait_for_end(&mut self, timeout: Duration) -> bool {
        let ended = async {
            while self.printed.changed().await.is_ok() {}
            self.child.wait().await.expect("a child can be waited for");
        };
        tokio::time::timeout(timeout, ended).await.is_ok()
    }

    /// Interrupts the group (SIGINT), like a user with Ctrl-C.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Returns the descendants of the child whose command line contains `text`.
    pub fn descendants(&self, text: &str) -> Vec<Pid> {
        let mut family = vec![self.leader];
        let mut found = Vec::new();
        let all: Vec<_> = processes().collect();
        while let Some(parent) = family.pop() {
            for (pid, _) in all.iter().filter(|(_, its_parent)| *its_parent == parent) {
                family.push(*pid);
                if command_line(*pid).contains(text) {
                    found.push(*pid);
                }
            }
        }
        found
    }

    /// Returns everything printed so far, on standard output and standard error.
    pub fn log(&self) -> String {
        self.lines().join("\n")
    }

    /// Returns the process id of the group's leader.
    pub fn id(&self) -> u32 {
        self.leader.as_raw_nonzero().get().cast_unsigned()
    }

    /// Returns a meter for the leader's resources.
    pub fn meter(&self) -> Meter {
        Meter::new(self.id())
    }

    /// Stops the group (SIGSTOP) until [`ProcessGroup::unpause`].
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets the group run again (SIGCONT).
    pub fn unpause(&self) {
        self.signal(Signal::CONT);
    }

    /// Kills the group like a crash, and waits until the child has ended.
    pub async fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.wait_until_gone().await;
    }

    /// Asks the group to end (SIGTERM).
    pub fn request_end(&self) {
        self.signal(Signal::TERM);
    }

    /// Asks the group to end (SIGTERM), and waits until the child has ended.
    pub async fn terminate(&mut self) {
        self.request_end();
        self.wait_until_gone().await;
    }

    /// Waits until the child has ended.
    pub async fn wait_until_gone(&mut self) {
        let what = format!("{} to end", self.name);
        with_deadline(what, self.child.wait())
            .await
            .expect("a child can be waited for");
    }

    fn signal(&self, signal: Signal) {
        // It is not an error if the group has already ended.
        let _ = kill_process_group(self.leader, signal);
    }

    fn lines(&self) -> Vec<String> {
        self.output.lock().expect("no holder panics").clone()
    }
}

/// Returns the ids of all processes and their parents, from `/proc/PID/stat` (proc_pid_stat(5)).
fn processes() -> impl Iterator<Item = (Pid, Pid)> {
    let entries = std::fs::read_dir("/proc").expect("this is Linux");
    entries.flatten().filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        // The second field, the name, may contain spaces; the parent is the second field after it.
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
            // The runtime reads the status later.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            let _ = waitid(WaitId::Pid(self.leader), options);
        }
    }
}

fn collect_lines(
    pipe: Option<impl AsyncRead + Unpin + Send + 'static>,
    output: Arc<Mutex<Vec<String>>>,
    count: Arc<watch::Sender<usize>>,
) {
    let mut lines = BufReader::new(pipe.expect("the output is piped")).lines();
    // The task ends when the pipe closes, and the pipe closes when the group has ended.
    tokio::spawn(async move {
        while let Ok(Some(line)) = lines.next_line().await {
            output.lock().expect("no holder panics").push(line);
            count.send_modify(|count| *count += 1);
        }
    });
}
