//! `mcp-web-agent`: the agent as a program.

use std::ffi::OsString;
use std::process::ExitCode;

/// The allocator of the bridge, for the same reason: see `bridge/src/main.rs`.
#[cfg(all(unix, feature = "jemalloc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    agent::run_hidden_command(&arguments).unwrap_or_else(|| agent::main(arguments))
}
