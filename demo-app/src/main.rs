//! `demo-app`: the demo as a program.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    agent::run_hidden_command(&arguments).unwrap_or_else(|| demo_app::main(arguments))
}
