//! The servers that are measured, each in a child process.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::Path;
use std::thread::available_parallelism;

use anyhow::{Context, Result, ensure};
use e2e::{Meter, ProcessGroup, program_paths};
use rustix::process::{Resource, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_setaffinity};
use tokio::process::Command;

use crate::proxy::ProxyKind;

/// Files of a process other than those of pages and callers: pipes, and what libraries open.
const RESERVED_FILES: u64 = 1_000;

/// A bridge or a floor on a free port. It ends when this is dropped.
pub(crate) struct Server {
    process: ProcessGroup,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts a bridge with these arguments.
    pub(crate) async fn bridge(arguments: &[&str]) -> Result<Self> {
        Self::bridge_at("127.0.0.1:0", arguments).await
    }

    async fn bridge_at(address: &str, arguments: &[&str]) -> Result<Self> {
        let mut command = Command::new(program_paths::mcp_web());
        command.args(["bridge", "--bind", address]).args(arguments);
        Self::start("bridge", command).await
    }

    /// Ends a bridge as its operator does, and starts another one at its address.
    pub(crate) async fn restart(mut self, arguments: &[&str]) -> Result<Self> {
        self.drain().await;
        Self::bridge_at(&self.address.to_string(), arguments).await
    }

    /// Kills the server like a crash, and waits until it has ended.
    pub(crate) async fn kill(&mut self) {
        self.process.kill().await;
    }

    /// Ends a bridge as its operator does, and waits until it has ended.
    pub(crate) async fn drain(&mut self) {
        self.process.terminate().await;
    }

    /// Starts this program as the server that only passes bytes on.
    pub(crate) async fn floor() -> Result<Self> {
        let mut command = Command::new(own_program()?);
        command.arg("floor");
        Self::start("floor", command).await
    }

    /// Starts this program as a proxy in front of a server.
    pub(crate) async fn proxy(kind: ProxyKind, server: SocketAddr) -> Result<Self> {
        let mut command = Command::new(own_program()?);
        command.args(["proxy", kind.name(), &server.to_string()]);
        Self::start("proxy", command).await
    }

    async fn start(name: &str, command: Command) -> Result<Self> {
        let mut process = ProcessGroup::start(name, command);
        let line = process.wait_for_line("listening on http://").await;
        let address = parse_address(&line).with_context(|| format!("no address in {line:?}"))?;
        Ok(Self { process, address })
    }

    pub(crate) fn meter(&self) -> Meter {
        self.process.meter()
    }
}

/// Returns the path of this program, so that it can start itself in another role.
pub(crate) fn own_program() -> Result<impl AsRef<Path> + AsRef<std::ffi::OsStr>> {
    std::env::current_exe().context("the path of this program is unknown")
}

/// Parses the address in `listening on http://127.0.0.1:PORT`.
fn parse_address(line: &str) -> Option<SocketAddr> {
    let (_, address) = line.split_once("http://")?;
    address.split_whitespace().next()?.parse().ok()
}

/// Pins this process, and the servers that it will start, to the last core.
pub(crate) fn pin_to_last_core() -> Result<()> {
    let last = available_parallelism()?.get() - 1;
    use_cores(last..=last)
}

/// Lets this process, and the servers that it will start, run on all cores.
pub(crate) fn use_all_cores() -> Result<()> {
    // The system leaves out those that it does not have.
    use_cores(0..=CpuSet::MAX_CPU - 1)
}

fn use_cores(numbers: RangeInclusive<usize>) -> Result<()> {
    let mut cores = CpuSet::new();
    numbers.for_each(|number| cores.set(number));
    sched_setaffinity(None, &cores).context("cannot choose the cores of this process")
}

/// Raises the limit of open files, so that this process and its children can have `sockets` sockets.
///
/// # Errors
///
/// Returns an error when the system does not allow it; the error describes what to do.
pub(crate) fn raise_open_file_limit(sockets: usize) -> Result<()> {
    let required = sockets as u64 + RESERVED_FILES;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= required) {
        return Ok(());
    }
    let max = limit.maximum.unwrap_or(u64::MAX);
    ensure!(
        max >= required,
        "{sockets} sockets need {required} open files in one process, but this one may open only \
         {max}: raise the limit (`ulimit -n {required}` as root), or run with --quick"
    );
    limit.current = Some(required);
    setrlimit(Resource::Nofile, limit).context("cannot raise the limit of open files")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_parsed_from_the_output() {
        let address = parse_address("listening on http://127.0.0.1:3001 (no tokens)");
        assert_eq!(address, Some(([127, 0, 0, 1], 3001).into()));
        assert_eq!(parse_address("a warning"), None);
    }

    #[test]
    fn a_limit_of_open_files_that_is_too_low_is_an_error_with_advice() {
        raise_open_file_limit(1).unwrap();
        if let Some(max) = getrlimit(Resource::Nofile).maximum {
            let sockets = usize::try_from(max).unwrap();
            let error = raise_open_file_limit(sockets).unwrap_err().to_string();
            assert!(error.contains("ulimit -n"), "{error}");
        }
    }
}
