//! `mcp-web-agent`: says that it is not there yet, and fails.

use std::process::ExitCode;

fn main() -> ExitCode {
    eprintln!("{}", agent::NOT_THERE_YET);
    ExitCode::FAILURE
}
