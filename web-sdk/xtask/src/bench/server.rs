//! The servers whose calls are measured.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

use super::plan::{Cell, Route, Subject};

/// The bridge's settings: a free port, and limits so high that none of them affects the figures.
const SETTINGS: [&str; 8] = [
    "--bind=127.0.0.1:0",
    "--log=warn",
    "--max-sessions=1000",
    "--max-clients=1000",
    "--max-mcp-sessions=1000",
    "--max-calls=1000",
    "--max-result-bytes=67108864",
    "--max-client-result-bytes=134217728",
];

/// The floors' read buffers for small and for large results, in bytes: each is the size that costs
/// least.
const SMALL_READ_BUFFER: &str = "--read-buffer=4096";
const LARGE_READ_BUFFER: &str = "--read-buffer=131072";

/// A bridge or a floor on a free port. Dropping it ends the process.
pub(super) struct Server {
    child: Child,
    pub(super) url: String,
}

impl Server {
    /// Starts the server that `cell` measures.
    pub(super) fn start(programs: &Path, core: usize, cell: &Cell) -> Result<Self> {
        let mut command = pinned_command(core);
        match cell.subject {
            Subject::Bridge => {
                command.arg(programs.join("mcp-web-bridge")).args(SETTINGS);
                if cell.route == Route::V1 {
                    command.arg("--compat=mcp-web");
                }
            }
            Subject::Floor | Subject::FloorMcp => {
                let is_small = cell.result == "1kb";
                command.arg(programs.join("floor"));
                command.arg(if is_small {
                    SMALL_READ_BUFFER
                } else {
                    LARGE_READ_BUFFER
                });
                if cell.subject == Subject::FloorMcp {
                    command.arg("--mcp");
                }
            }
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .context("`taskset` does not start: install util-linux")?;
        let output = child.stdout.take();
        let mut server = Self {
            child,
            url: String::new(),
        };
        let lines = output
            .into_iter()
            .flat_map(|out| BufReader::new(out).lines());
        let mut urls = lines.map_while(Result::ok).filter_map(parse_url);
        server.url = urls
            .next()
            .with_context(|| format!("{cell}: the server does not start"))?;
        Ok(server)
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail if the process has ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Creates a command that runs a program on one core. `taskset` replaces itself with the program,
/// so the process id is the program's.
pub(super) fn pinned_command(core: usize) -> Command {
    let mut command = Command::new("taskset");
    command.arg("--cpu-list").arg(core.to_string());
    command
}

/// Parses the URL in `listening on http://127.0.0.1:PORT`.
fn parse_url(line: String) -> Option<String> {
    let (_, address) = line.split_once("listening on http://")?;
    let address = address.split_whitespace().next()?;
    Some(format!("http://{}", address.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_is_parsed_from_the_servers_output() {
        let line = "listening on http://127.0.0.1:3001".to_owned();
        assert_eq!(parse_url(line).unwrap(), "http://127.0.0.1:3001");
        assert_eq!(parse_url("a warning".to_owned()), None);
    }
}
