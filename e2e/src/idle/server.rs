//! The server that is measured, in a child process.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use tokio::process::Command;

use crate::ProcessGroup;

/// The kind of server that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// The bridge.
    Bridge,
    /// The floor that forwards bytes.
    Floor,
}

/// A server in a child process.
pub(crate) struct Server {
    process: ProcessGroup,
    pub(crate) address: String,
}

impl Server {
    /// Starts a server from the folder of this program.
    pub(crate) async fn start(target: Target, pages: usize, heartbeat: Duration) -> Self {
        match target {
            Target::Bridge => Self::bridge(pages, heartbeat).await,
            Target::Floor => {
                Self::start_process("floor", Command::new(sibling_program("floor"))).await
            }
        }
    }

    /// Starts a bridge whose limits allow this many pages, each with a token of its own.
    pub(crate) async fn bridge(pages: usize, heartbeat: Duration) -> Self {
        let mut command = Command::new(sibling_program("mcp-web-bridge"));
        let max_realms = (pages + 16).to_string();
        command.args(["--bind", "127.0.0.1:0", "--log", "warn"]);
        command.args(["--max-realms", &max_realms, "--max-sessions", &max_realms]);
        let connections = (2 * pages + 1_000).to_string();
        command.args(["--max-connections", &connections]);
        let heartbeat = format!("{}ms", heartbeat.as_millis());
        command.args(["--heartbeat", &heartbeat]);
        // A caller is silent while more pages connect.
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

    /// Returns the resident memory in bytes.
    pub(crate) fn resident_bytes(&self) -> u64 {
        self.process.meter().exact_memory().unwrap()
    }

    /// Returns the processor time of all threads so far.
    pub(crate) fn cpu_time(&self) -> Duration {
        self.process.meter().cpu_time_of_threads().unwrap()
    }
}

fn sibling_program(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let program = own.with_file_name(name);
    assert!(
        program.exists(),
        "{} does not exist: build it with `cargo build --profile profiling -p bridge -p e2e --bins`",
        program.display()
    );
    program
}
