//! The hidden command `read-sqlite`: reads a file of SQLite for one call of an agent, which kills
//! the process when the call takes too long.
//!
//! It reads a line with the request from stdin, prints the answer, and ends. Stdin must stay open: the
//! process ends with it, also while a statement runs.

use std::io::{Write, stdin, stdout};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bridge_output::print_to_stderr;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::super::error::DatabaseError;
use super::cancellation::Cancellation;
use super::file::{DatabaseFile, FileRequest};

/// The argument with which the program of an agent reads a file.
pub const READ_ARGUMENT: &str = "read-sqlite";

/// Maximum memory of SQLite in the process, in bytes, including the memory for sorting. Each call
/// of the source has a process.
const PROCESS_HEAP_BYTES: usize = 128 * 1024 * 1024;

/// The request of an agent to the process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ProcessRequest {
    pub(super) file: DatabaseFile,
    pub(super) request: FileRequest,
    /// The time for the answer.
    pub(super) time: Duration,
}

/// Reads a file as the agent asks on stdin.
pub fn read_for_agent() -> ExitCode {
    #[cfg(unix)]
    unix::end_with_stdin();
    let mut line = String::new();
    let request = match stdin().read_line(&mut line) {
        Ok(_) => serde_json::from_str::<ProcessRequest>(&line).ok(),
        Err(_) => None,
    };
    let Some(request) = request else {
        print_to_stderr(format_args!(
            "`{READ_ARGUMENT}` is a command for an agent of this version, and not for people"
        ));
        return ExitCode::FAILURE;
    };
    let answer = serde_json::to_vec(&read(request));
    match answer.map(|answer| stdout().write_all(&answer)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        // The agent has stopped waiting for it.
        _ => ExitCode::FAILURE,
    }
}

fn read(request: ProcessRequest) -> Result<String, DatabaseError> {
    let deadline = Instant::now() + request.time;
    #[cfg(unix)]
    unix::limit(request.time);
    limit_heap()?;
    let cancellation = Arc::new(Cancellation::new(deadline));
    request.file.read(request.request, &cancellation)
}

/// Limits the memory of SQLite. The limit can be made smaller afterwards, and not larger.
fn limit_heap() -> rusqlite::Result<()> {
    let connection = Connection::open_in_memory()?;
    connection.execute_batch(&format!("PRAGMA hard_heap_limit = {PROCESS_HEAP_BYTES}"))
}

#[cfg(unix)]
mod unix {
    use std::thread;
    use std::time::Duration;

    use rustix::process::{Resource, Rlimit, Signal, getpid, kill_process, setrlimit};

    use agent_tools::closed_stdin;

    /// Maximum private memory of the process, in bytes: more than SQLite may use.
    const MAX_DATA_BYTES: u64 = 256 * 1024 * 1024;

    /// How much longer than the call the process may use a processor. It ends by itself then, if
    /// the agent could not kill it.
    const MORE_CPU_TIME: Duration = Duration::from_secs(1);

    /// Starts a thread that kills the process when the other end of stdin is closed. SQLite may be in
    /// the middle of a statement, so nothing is waited for.
    pub(super) fn end_with_stdin() {
        thread::spawn(|| {
            closed_stdin::wait();
            let _ = kill_process(getpid(), Signal::KILL);
        });
    }

    /// Limits the memory and the time on a processor, where the system has such limits. SQLite has its
    /// own, and the agent kills the process: these are for a fault of one of them.
    pub(super) fn limit(time: Duration) {
        let seconds = |time: Duration| time.as_secs() + u64::from(time.subsec_nanos() > 0);
        let cpu_seconds = seconds(time + MORE_CPU_TIME);
        for (resource, current, maximum) in [
            (Resource::Data, MAX_DATA_BYTES, MAX_DATA_BYTES),
            // The signal of the first shows the agent why the process has ended.
            (Resource::Cpu, cpu_seconds, cpu_seconds + 1),
        ] {
            let limit = Rlimit {
                current: Some(current),
                maximum: Some(maximum),
            };
            let _ = setrlimit(resource, limit);
        }
    }
}
