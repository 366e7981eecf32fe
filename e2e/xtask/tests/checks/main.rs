//! Checks of the project as a whole, written as tests.

#![allow(clippy::unwrap_used)]

mod api_reference;
mod package;
mod page_tools;
mod protocol;
mod provider_types;
mod types;

use std::process::{Command, Output};

/// Runs a command, and panics with its output if it fails.
fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}
