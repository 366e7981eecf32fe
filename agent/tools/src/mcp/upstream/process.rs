//! The process of an MCP server over stdio.
//!
//! It is the leader of a process group, which is killed as a whole: `npx` alone starts three processes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::process_slots::ProcessSlot;
use super::stderr_tail::StderrTail;
use crate::timeouts::{EXIT_TIMEOUT, STDERR_TIMEOUT};

/// The variables of the agent that a server gets. Others may be secrets of the agent.
const INHERITED_VARIABLES: [&str; 5] = ["PATH", "HOME", "LANG", "TMPDIR", "USER"];

/// The argument with which the program of an agent runs a server: see [`crate::mcp::server_guard`].
pub const GUARD_ARGUMENT: &str = "run-server";

/// How to start a process.
#[derive(Clone)]
pub(super) struct ProcessSettings {
    pub(super) command: String,
    pub(super) arguments: Vec<String>,
    pub(super) variables: BTreeMap<String, String>,
    pub(super) folder: Option<String>,
    /// The program that ends the server when the agent was killed, if there is one.
    pub(super) guard: Option<PathBuf>,
}

/// A running process. It is stopped by [`ServerProcess::stop`].
#[derive(Debug)]
pub(super) struct ServerProcess {
    /// The id of the leader of the group, if the system has reported it.
    id: Option<u32>,
    stopping: CancellationToken,
    exited: CancellationToken,
    stderr: Arc<Mutex<StderrTail>>,
}

/// The streams of a process.
pub(super) struct ProcessStreams {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
}

impl ServerProcess {
    /// Starts a process, and a task of `tasks` that ends it. The slot is free when it has ended.
    pub(super) fn start(
        settings: &ProcessSettings,
        slot: ProcessSlot,
        tasks: &TaskTracker,
    ) -> Result<(Self, ProcessStreams), String> {
        let mut command = CommandWrap::from(command(settings));
        #[cfg(unix)]
        command.wrap(process_wrap::tokio::ProcessGroup::leader());
        #[cfg(windows)]
        command.wrap(process_wrap::tokio::JobObject);
        command.wrap(KillOnDrop);
        let mut child = command.spawn().map_err(|error| {
            let command = &settings.command;
            format!("`{command}` cannot be started: {error}")
        })?;
        let closed = || "its streams are closed".to_owned();
        let stdin = child.stdin().take().ok_or_else(closed)?;
        let stdout = child.stdout().take().ok_or_else(closed)?;
        let stderr = child.stderr().take().ok_or_else(closed)?;
        let process = Self {
            id: child.id(),
            stopping: CancellationToken::new(),
            exited: CancellationToken::new(),
            stderr: Arc::default(),
        };
        let reading = tokio::spawn(read_stderr(stderr, Arc::clone(&process.stderr)));
        let reading = AbortOnDropHandle::new(reading);
        let (stopping, exited) = (process.stopping.clone(), process.exited.clone());
        tasks.spawn(async move {
            supervise(child, stopping).await;
            // A process that the server has left behind may still have its stderr.
            let _ = timeout(STDERR_TIMEOUT, reading).await;
            exited.cancel();
            drop(slot);
        });
        Ok((process, ProcessStreams { stdin, stdout }))
    }

    /// Ends the process: its stdin must have been closed. It is killed if it does not end itself.
    pub(super) fn stop(&self) {
        self.stopping.cancel();
    }

    /// Returns the id of the process, unless it has ended.
    pub(super) fn id(&self) -> Option<u32> {
        self.id.filter(|_| !self.exited.is_cancelled())
    }

    /// Waits until the process and its group have ended.
    pub(super) async fn exited(&self) {
        self.exited.cancelled().await;
    }

    /// Returns the last lines that the server has written to stderr.
    pub(super) fn stderr_text(&self) -> String {
        let stderr = self.stderr.lock();
        stderr.unwrap_or_else(PoisonError::into_inner).text()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.stop();
    }
}

fn command(settings: &ProcessSettings) -> Command {
    let mut command = match &settings.guard {
        Some(guard) => {
            let mut command = Command::new(guard);
            command.args([GUARD_ARGUMENT, &settings.command]);
            command
        }
        None => Command::new(&settings.command),
    };
    command
        .args(&settings.arguments)
        .env_clear()
        .envs(inherited_variables())
        .envs(&settings.variables)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(folder) = &settings.folder {
        command.current_dir(folder);
    }
    command
}

fn inherited_variables() -> impl Iterator<Item = (&'static str, OsString)> {
    let names = INHERITED_VARIABLES.into_iter();
    names.filter_map(|name| Some((name, std::env::var_os(name)?)))
}

/// Waits for the end of a process, or ends it, and then all that it has started.
async fn supervise(mut child: Box<dyn ChildWrapper>, stopping: CancellationToken) {
    tokio::select! {
        _ = child.wait() => {}
        () = stopping.cancelled() => {
            let _ = timeout(EXIT_TIMEOUT, child.wait()).await;
        }
    }
    // The group may have members whose leader has ended.
    let _ = child.start_kill();
    let _ = timeout(EXIT_TIMEOUT, child.wait()).await;
}

async fn read_stderr(mut stderr: impl AsyncRead + Unpin, tail: Arc<Mutex<StderrTail>>) {
    let mut buffer = vec![0; 8192];
    while let Ok(bytes) = stderr.read(&mut buffer).await
        && bytes > 0
    {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.push(&buffer[..bytes]);
    }
}
