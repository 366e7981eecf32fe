//! Reads a file in a separate process, which is killed when the time of the call is over or its
//! caller has stopped waiting.
//!
//! SQLite looks at the time only in loops of its instructions: a hundred `LIKE` of long texts, or a
//! search for a hundred thousand words, run for minutes. The process also ends with the agent.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use super::super::error::DatabaseError;
use super::super::request::Slot;
use super::file::{DatabaseFile, FileRequest};
use super::read_command::{ProcessRequest, READ_ARGUMENT};

/// Maximum length of the output of a process, in bytes. It is a JSON string, which is about twice
/// as long as the answer, or a list of tables, which has no other limit.
const MAX_OUTPUT_BYTES: usize = 4 * 1024 * 1024;

/// Maximum length of the messages of a process for the log, in bytes.
pub(super) const MAX_LOG_BYTES: usize = 4096;

/// Reads a file with a program that has the hidden commands of the agent. The slot is free when the
/// process has ended. Dropping the future kills it.
pub(super) async fn read(
    program: &Path,
    file: &DatabaseFile,
    request: FileRequest,
    slot: Slot,
) -> Result<String, DatabaseError> {
    let request = ProcessRequest {
        file: file.clone(),
        request,
        time: slot.deadline.saturating_duration_since(Instant::now()),
    };
    let mut line = serde_json::to_vec(&request).map_err(|_| DatabaseError::Fault)?;
    line.push(b'\n');
    let mut child = command(program).spawn().map_err(|error| {
        tracing::warn!(%error, "the process that reads a database cannot be started");
        DatabaseError::Unavailable
    })?;
    let cancelled = CancellationToken::new();
    let _guard = cancelled.clone().drop_guard();
    let reading = tokio::spawn(async move {
        let answer = tokio::select! {
            answer = exchange(&mut child, &line) => answer,
            () = cancelled.cancelled() => Err(DatabaseError::Timeout),
        };
        // It fails if the process has ended, and otherwise waits until it has.
        let _ = child.kill().await;
        drop(slot);
        answer
    });
    reading.await.unwrap_or(Err(DatabaseError::Fault))
}

fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .arg(READ_ARGUMENT)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // If the runtime of the agent ends before the call.
        .kill_on_drop(true);
    // Signals that a terminal sends to the agent are for the agent alone.
    #[cfg(unix)]
    command.process_group(0);
    command
}

/// Sends the request, and receives the answer and what is for the log.
async fn exchange(child: &mut Child, line: &[u8]) -> Result<String, DatabaseError> {
    let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(mut stdin), Some(stdout), Some(stderr)) = streams else {
        return Err(DatabaseError::Fault);
    };
    // A process that has ended before is known by its missing answer.
    let _ = stdin.write_all(line).await;
    let (output, log) = tokio::join!(
        read_at_most(stdout, MAX_OUTPUT_BYTES),
        read_at_most(stderr, MAX_LOG_BYTES)
    );
    for line in String::from_utf8_lossy(&log).lines() {
        tracing::warn!("{line}");
    }
    if output.len() > MAX_OUTPUT_BYTES {
        tracing::warn!("the answer of the process that reads a database is too long");
        return Err(DatabaseError::Fault);
    }
    let status = child.wait().await.map_err(|_| DatabaseError::Fault)?;
    // The process ends when its stdin does.
    drop(stdin);
    serde_json::from_slice(&output).unwrap_or_else(|_| Err(failure(status)))
}

/// Reads until the end, and at most one byte more than what is allowed.
async fn read_at_most(stream: impl AsyncRead + Unpin, max_bytes: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    // The part that was read before an error counts.
    let _ = stream
        .take(max_bytes as u64 + 1)
        .read_to_end(&mut bytes)
        .await;
    bytes
}

/// Returns why a process has ended without an answer.
fn failure(status: ExitStatus) -> DatabaseError {
    tracing::warn!(
        %status,
        "the process that reads a database has ended without an answer: restart the agent if its \
         program was replaced"
    );
    #[cfg(unix)]
    {
        use rustix::process::Signal;
        use std::os::unix::process::ExitStatusExt;

        match status.signal().and_then(Signal::from_named_raw) {
            Some(Signal::XCPU) => return DatabaseError::Timeout,
            // Where memory cannot be had, and from the system when it has none.
            Some(Signal::ABORT | Signal::KILL) => return DatabaseError::OutOfMemory,
            _ => {}
        }
    }
    DatabaseError::Fault
}
