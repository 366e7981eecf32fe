//! `mcp-web`: the bridge, the agent, the stdio client and the demo as one program, with commands for
//! people.
//!
//! `command_line` finds the command that the arguments name. Most commands are those of libraries, which
//! parse their own arguments. `tools` and `call` are here: `bridge_request` connects to the bridge, and
//! `token_input` reads the token.

mod bridge_request;
mod call;
mod command_line;
mod token_input;
mod tools;

use std::ffi::OsString;
use std::process::ExitCode;

/// The allocator of the bridge, for the same reason: see `bridge/src/main.rs`.
#[cfg(all(unix, feature = "jemalloc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    agent::run_hidden_command(&arguments).unwrap_or_else(|| command_line::run(arguments))
}
