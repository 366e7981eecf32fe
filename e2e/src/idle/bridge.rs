//! The bridge whose cost is measured: a child process, read through `/proc`.

use std::path::PathBuf;
use std::time::Duration;

use tokio::process::Command;

use crate::ProcessGroup;

/// A bridge in a process of its own.
pub(crate) struct IdleBridge {
    process: ProcessGroup,
    pub(crate) address: String,
}

impl IdleBridge {
    /// Starts the `mcp-web-bridge` that lies beside this program, with room for `pages`.
    pub(crate) async fn start(pages: usize) -> Self {
        let program = beside_this_program("mcp-web-bridge");
        let mut command = Command::new(&program);
        let most = (pages + 16).to_string();
        command.args(["--bind", "127.0.0.1:0"]);
        command.args(["--max-realms", &most, "--max-sessions", &most]);
        // The caller is silent while the pages are watched.
        command.args(["--request-head-within", "1h"]);
        let mut process = ProcessGroup::start("mcp-web-bridge", command);
        let line = process.line_with("listening on http://").await;
        let (_, address) = line.split_once("http://").unwrap();
        let address = address.trim().to_owned();
        Self { process, address }
    }

    /// Resident memory in bytes.
    pub(crate) fn resident(&self) -> u64 {
        let rollup = self.process.proc("smaps_rollup");
        let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:"));
        let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
        1024 * kibibytes.unwrap().parse::<u64>().unwrap()
    }

    /// Processor time of all threads so far, by the scheduler's own clock: `stat` counts in
    /// hundredths of a second.
    pub(crate) fn cpu(&self) -> Duration {
        self.process.cpu_of_threads()
    }
}

fn beside_this_program(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let program = own.with_file_name(name);
    assert!(
        program.exists(),
        "{} is not there: build it first, with `cargo build --profile profiling -p bridge -p e2e --bins`",
        program.display()
    );
    program
}
