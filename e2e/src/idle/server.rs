//! The server whose cost is measured: a child process, read through `/proc`.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use tokio::process::Command;

use crate::ProcessGroup;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// The bridge.
    Bridge,
    /// The floor that passes bytes on.
    Floor,
}

/// A server in a process of its own.
pub(crate) struct Server {
    process: ProcessGroup,
    pub(crate) address: String,
}

impl Server {
    /// Starts the one that lies beside this program.
    pub(crate) async fn start(target: Target, pages: usize, heartbeat: Duration) -> Self {
        match target {
            Target::Bridge => Self::bridge(pages, heartbeat).await,
            Target::Floor => {
                Self::start_process("floor", Command::new(sibling_program("floor"))).await
            }
        }
    }

    /// A bridge with room for so many pages, of as many tokens.
    pub(crate) async fn bridge(pages: usize, heartbeat: Duration) -> Self {
        let mut command = Command::new(sibling_program("mcp-web-bridge"));
        let most = (pages + 16).to_string();
        command.args(["--bind", "127.0.0.1:0", "--log", "warn"]);
        command.args(["--max-realms", &most, "--max-sessions", &most]);
        let connections = (2 * pages + 1_000).to_string();
        command.args(["--max-connections", &connections]);
        let heartbeat = format!("{}ms", heartbeat.as_millis());
        command.args(["--heartbeat", &heartbeat]);
        // A caller may be silent while others come.
        command.args(["--request-head-within", "1h"]);
        Self::start_process("mcp-web-bridge", command).await
    }

    async fn start_process(name: &str, command: Command) -> Self {
        let mut process = ProcessGroup::start(name, command);
        let line = process.wait_for_line("listening on http://").await;
        let (_, address) = line.split_once("http://").unwrap();
        let address = address.trim().to_owned();
        Self { process, address }
    }

    /// Resident memory in bytes.
    pub(crate) fn resident_bytes(&self) -> u64 {
        self.process.resident_memory()
    }

    /// Processor time of all threads so far, by the scheduler's own clock: `stat` counts in
    /// hundredths of a second.
    pub(crate) fn cpu_time(&self) -> Duration {
        self.process.cpu_of_threads()
    }
}

fn sibling_program(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let program = own.with_file_name(name);
    assert!(
        program.exists(),
        "{} is not there: build it first, with `cargo build --profile profiling -p bridge -p e2e --bins`",
        program.display()
    );
    program
}
