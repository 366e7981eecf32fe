//! Child processes, and what they print.

use std::process::Stdio;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader, Lines};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

/// A process that is killed with its handle.
///
/// It has its own process group: Ctrl-C in a terminal would reach it before it is passed on, and a second
/// signal ends a bridge at once.
pub(crate) struct Child {
    process: tokio::process::Child,
    group: Pid,
    /// Bridges end when it is closed, also if this program is killed.
    _input: Option<ChildStdin>,
}

/// The standard output and the standard error of a child.
pub(crate) struct Output {
    pub(crate) stdout: Lines<BufReader<ChildStdout>>,
    pub(crate) stderr: Lines<BufReader<ChildStderr>>,
}

impl Child {
    pub(crate) fn start(command: &mut Command) -> Result<(Self, Output)> {
        let program = command.as_std().get_program().display().to_string();
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{program} does not start"))?;
        let id = process.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let stdout = process.stdout.take().map(lines);
        let stderr = process.stderr.take().map(lines);
        let (Some(group), Some(stdout), Some(stderr)) = (id, stdout, stderr) else {
            anyhow::bail!("{program} has ended");
        };
        let child = Self {
            // Waiting for the process would close it.
            _input: process.stdin.take(),
            process,
            group,
        };
        Ok((child, Output { stdout, stderr }))
    }

    pub(crate) fn group(&self) -> Pid {
        self.group
    }

    /// Waits until the process has ended, and returns its status for messages.
    pub(crate) async fn ended(&mut self) -> String {
        match self.process.wait().await {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        }
    }

    /// Ends the process in order.
    pub(crate) async fn terminate(mut self) {
        signal_group(self.group, Signal::TERM);
        self.ended().await;
    }
}

/// Sends a signal to a process that has not been waited for, and to its children.
pub(crate) fn signal_group(group: Pid, signal: Signal) {
    // It is not an error if the group has already ended.
    let _ = kill_process_group(group, signal);
}

/// Reads lines until one contains a text. Returns `None` if the output ends before.
pub(crate) async fn find_line(
    lines: &mut Lines<BufReader<impl AsyncRead + Unpin>>,
    text: &str,
) -> Option<String> {
    while let Ok(Some(line)) = lines.next_line().await {
        if line.contains(text) {
            return Some(line);
        }
    }
    None
}

fn lines<R: AsyncRead>(output: R) -> Lines<BufReader<R>> {
    BufReader::new(output).lines()
}
